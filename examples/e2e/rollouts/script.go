package rollouts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A step is a part of the script. It ends when its goal is reached.
type step struct {
	title string
	act   sidebyside.Step
	// fault happens in the middle. In the mode killed it is that of the controller.
	fault sidebyside.Step
	// middle reports whether it has come so far, by what the API server has.
	middle func(*appsv1.DaemonSet, []*corev1.Pod) bool
	// rest is what it does after the middle. Nil: nothing, so the goal is not
	// reached in the middle.
	rest sidebyside.Step
	// followed has kubectl wait for the end of the rollout.
	followed bool
	// goal is what is still missing. Nil: what the set and the nodes say.
	goal func(*appsv1.DaemonSet, []*corev1.Pod) error
	// held is how long it is played that has no goal.
	held time.Duration
}

// fewestNodes leaves some that no step changes.
const fewestNodes = 20

// firstNode is the prefix of the names of the nodes that there are at first.
const firstNode = "node"

// names returns n names of nodes.
func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%04d", prefix, i))
	}
	return all
}

// script are the steps, in order. Nodes are added, tainted and removed in
// halves. Of those that are recreated one is removed before the middle:
// upstream does not watch for deleted nodes, and learns of them by the end of a
// pod.
func (p *play) script() []step {
	half := max(1, p.nodes/100)
	first, added := names(firstNode, p.nodes), names("added", 2*half)
	last := first[p.nodes-2:]
	return []step{{
		title: fmt.Sprintf("create on %d nodes", p.nodes),
		act:   p.create, middle: p.isQuarter,
	}, {
		title: "roll out, maxUnavailable 10 %",
		act:   p.change(2, `{"maxUnavailable":"10%","maxSurge":0}`), middle: p.isQuarter, followed: true,
	}, {
		title: "roll out, maxSurge 10 %",
		act:   p.change(3, `{"maxUnavailable":0,"maxSurge":"10%"}`), middle: p.isQuarter, followed: true,
	}, {
		title: "`kubectl rollout undo`",
		act:   p.undo, middle: p.isQuarter, followed: true,
	}, {
		title: fmt.Sprintf("%d nodes added", 2*half),
		act:   p.changeNodes(change{added: added[:half]}), rest: p.changeNodes(change{added: added[half:]}),
		middle: func(_ *appsv1.DaemonSet, pods []*corev1.Pod) bool { return hasPodOn(added, pods) },
	}, {
		title: fmt.Sprintf("%d nodes tainted NoSchedule, %[1]d NoExecute", 2*half),
		act:   p.changeNodes(change{kept: first[:half], cleared: first[half : 2*half]}),
		rest:  p.changeNodes(change{kept: first[2*half : 3*half], cleared: first[3*half : 4*half]}),
		middle: func(_ *appsv1.DaemonSet, pods []*corev1.Pod) bool {
			return len(pods) < p.nodes+2*half ||
				slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		},
	}, {
		title: fmt.Sprintf("%d nodes removed", 2*half),
		act:   p.changeNodes(change{emptied: added[:half]}), middle: p.isFewer,
		rest: p.changeNodes(change{emptied: added[half:]}),
	}, {
		title: "2 nodes recreated under their names, one with its pod",
		act:   p.changeNodes(change{emptied: last[:1]}), middle: p.isFewer,
		rest: p.changeNodes(change{removed: last[1:], added: last}),
	}}
}

// hasPodOn reports whether a pod is on one of the nodes.
func hasPodOn(nodes []string, pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return slices.Contains(nodes, pod.Spec.NodeName)
	})
}

// isQuarter reports whether a quarter of the nodes have a pod with the wanted
// image. Of several hundred creations that are under way at a time, a busy
// machine shows the rest at once.
func (p *play) isQuarter(_ *appsv1.DaemonSet, pods []*corev1.Pod) bool {
	updated := 0
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image == p.goal.image {
			updated++
		}
	}
	return updated >= p.nodes/4
}

// isFewer reports whether the status says that fewer nodes have to have a pod
// than before the step.
func (p *play) isFewer(set *appsv1.DaemonSet, _ []*corev1.Pod) bool {
	return set.Status.DesiredNumberScheduled < p.desired
}

const (
	namespace = fleet.Namespace
	setName   = "agent"
	// object is what kubectl calls the set.
	object = "daemonset/" + setName
	// changeCause is the annotation that kubectl rollout history prints.
	changeCause = "kubernetes.io/change-cause"
	// taintKey is not one that any component here uses.
	taintKey = "example.com/maintenance"
)

// image returns that of a version.
func image(version int) string { return fmt.Sprintf("example.invalid/agent:%d", version) }

// create creates the set.
func (p *play) create(ctx context.Context) error {
	set, err := p.Client.AppsV1().DaemonSets(namespace).
		Create(ctx, p.newSet(setName), metav1.CreateOptions{})
	if err == nil {
		p.goal.image, p.goal.generation = image(1), set.Generation
	}
	return err
}

// newSet returns a set. What its template holds is such that the bytes of its
// revision are not those of the simplest one.
func (p *play) newSet(name string) *appsv1.DaemonSet {
	chosen := map[string]string{"app": name}
	port := corev1.ContainerPort{ContainerPort: 9100}
	if p.mode == trouble && name == setName {
		port.HostPort = 9100 // so no node has room for a second pod
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			"owner": "<platform> & friends", changeCause: "the first one",
		}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: chosen, Annotations: map[string]string{"note": "a < b && c > d"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
					Containers: []corev1.Container{{
						Name: "agent", Image: image(1),
						Env: []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{
							FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"},
						}}},
						Ports: []corev1.ContainerPort{port},
					}},
				},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromString("10%"))},
			},
		},
	}
}

// change gives the set another image and another strategy, with one patch.
func (p *play) change(version int, rollingUpdate string) sidebyside.Step {
	return func(ctx context.Context) error {
		set, err := p.patch(ctx, setName, version, rollingUpdate)
		if err == nil {
			p.goal.image, p.goal.generation = image(version), set.Generation
		}
		return err
	}
}

func (p *play) patch(ctx context.Context, name string, version int, rollingUpdate string) (*appsv1.DaemonSet, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"version %d"}},"spec":{`+
		`"updateStrategy":{"rollingUpdate":%s},`+
		`"template":{"spec":{"containers":[{"name":"agent","image":%q}]}}}}`,
		changeCause, version, rollingUpdate, image(version))
	return p.Client.AppsV1().DaemonSets(namespace).
		Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

// undo has kubectl go back to the template of the first change.
func (p *play) undo(ctx context.Context) error {
	p.goal.image = image(2)
	p.goal.generation++
	_, err := p.runKubectl(ctx, "rollout", "undo", object)
	return err
}

// A change is what happens to nodes.
type change struct {
	// emptied are removed, and then their pods, as kube-controller-manager's
	// pod-garbage-collector does after 40 s. Pods of those removed stay.
	emptied, removed []string
	// added are registered, and the fleet runs them.
	added []string
	// kept get a taint with which pods of the set stay, and cleared one with which
	// they go.
	kept, cleared []string
}

func (p *play) changeNodes(c change) sidebyside.Step {
	gone := slices.Concat(c.emptied, c.removed)
	return sidebyside.InOrder(
		func(context.Context) error {
			maps.DeleteFunc(p.goal.nodes, func(node string, _ corev1.TaintEffect) bool { return slices.Contains(gone, node) })
			return nil
		},
		sidebyside.ToEach(gone, func(ctx context.Context, node string) error {
			return p.Client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})
		}),
		sidebyside.ToEach(c.emptied, func(ctx context.Context, node string) error {
			return p.Client.CoreV1().Pods(namespace).DeleteCollection(ctx,
				metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))},
				metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		}),
		func(ctx context.Context) error {
			return p.await(ctx, "the end of their pods", func(_ *appsv1.DaemonSet, pods []*corev1.Pod) error {
				if hasPodOn(c.emptied, pods) {
					return errNotYet
				}
				return nil
			})
		},
		sidebyside.ToEach(c.added, func(ctx context.Context, node string) error {
			return fleet.Register(ctx, p.Client, fleet.Node(fleet.Name, "added", node))
		}),
		p.taint("", c.added), p.taint(corev1.TaintEffectNoSchedule, c.kept), p.taint(corev1.TaintEffectNoExecute, c.cleared),
	)
}

// taint gives nodes a taint in place of all others, or none. Pods of the set
// tolerate no effect.
func (p *play) taint(effect corev1.TaintEffect, nodes []string) sidebyside.Step {
	return func(ctx context.Context) error {
		var taints []corev1.Taint
		if effect != "" {
			taints = []corev1.Taint{{Key: taintKey, Effect: effect}}
		}
		for _, node := range nodes {
			p.goal.nodes[node] = effect
		}
		return fleet.Taint(ctx, p.Client, nodes, taints...)
	}
}
