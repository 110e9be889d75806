package rollouts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A step is a part of the script. Each ends when its goal is reached.
type step struct {
	// Name is what messages call it, Title its row of the table.
	Name, Title string
	act         func(context.Context, *play) error
}

// script returns the steps, in order, for a set on so many nodes.
func script(nodes int) []step {
	return []step{
		{"create", fmt.Sprintf("create on %d nodes", nodes), create},
		{"roll out", "roll out, maxUnavailable 10 %", rollOut},
		{"surge", "roll out, maxSurge 10 %", surge},
		{"undo", "`kubectl rollout undo`", undo},
		{"nodes added", fmt.Sprintf("%d nodes added", changed(nodes)), nodesAdded},
		{"nodes tainted", fmt.Sprintf("%d nodes tainted NoSchedule, %[1]d NoExecute", changed(nodes)), nodesTainted},
		{"nodes removed", fmt.Sprintf("%d nodes removed", changed(nodes)), nodesRemoved},
		{"nodes recreated", "2 nodes recreated under their names, one with its pod", nodesRecreated},
	}
}

// changed is how many nodes are added, tainted and removed: an even number.
func changed(nodes int) int { return 2 * max(1, nodes/100) }

// fewestNodes leaves some that no step changes.
const fewestNodes = 20

// amount is what may be unavailable, or surplus, while a template is rolled
// out.
const amount = "10%"

// image returns that of a version.
func image(version int) string { return fmt.Sprintf("example.invalid/agent:%d", version) }

// changeCause is the annotation that kubectl rollout history prints.
const changeCause = "kubernetes.io/change-cause"

// create creates the set. What its template holds is such that the bytes of its
// revision are not those of the simplest one.
func create(ctx context.Context, p *play) error {
	chosen := map[string]string{"app": setName}
	set, err := p.Client.AppsV1().DaemonSets(namespace).Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: setName, Annotations: map[string]string{
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
						Ports: []corev1.ContainerPort{{ContainerPort: 9100}},
					}},
				},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromString(amount))},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	p.goal.image, p.goal.generation = image(1), set.Generation
	return p.untilQuarter(ctx)
}

func rollOut(ctx context.Context, p *play) error {
	return p.change(ctx, 2, fmt.Sprintf(`{"maxUnavailable":%q,"maxSurge":0}`, amount))
}

func surge(ctx context.Context, p *play) error {
	return p.change(ctx, 3, fmt.Sprintf(`{"maxUnavailable":0,"maxSurge":%q}`, amount))
}

// change gives the set another image and another strategy, with one patch.
func (p *play) change(ctx context.Context, version int, rollingUpdate string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"version %d"}},"spec":{"updateStrategy":{"rollingUpdate":%s},`+
		`"template":{"spec":{"containers":[{"name":"agent","image":%q}]}}}}`, changeCause, version, rollingUpdate,
		image(version))
	set, err := p.Client.AppsV1().DaemonSets(namespace).
		Patch(ctx, setName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	p.goal.image, p.goal.generation = image(version), set.Generation
	return p.followed(ctx, p.untilQuarter)
}

// undo has kubectl go back to the template of rollOut.
func undo(ctx context.Context, p *play) error {
	p.goal.image = image(2)
	p.goal.generation++
	if _, err := p.kubectl(ctx, "rollout", "undo", object); err != nil {
		return err
	}
	return p.followed(ctx, p.untilQuarter)
}

// nodesAdded adds nodes, the second half of them when the first pod is there.
func nodesAdded(ctx context.Context, p *play) error {
	return p.inHalves(ctx, names("added", changed(p.nodes)), func(ctx context.Context, half []string) error {
		return p.addNodes(ctx, half...)
	}, func(_ *appsv1.DaemonSet, pods []*corev1.Pod) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Spec.NodeName, "added") })
	})
}

// nodesTainted taints nodes, half of them when it shows at the first.
func nodesTainted(ctx context.Context, p *play) error {
	all := names("node", 2*changed(p.nodes))
	return p.inHalves(ctx, all, func(ctx context.Context, half []string) error {
		kept, cleared := half[:len(half)/2], half[len(half)/2:]
		if err := p.taint(ctx, corev1.TaintEffectNoSchedule, kept...); err != nil {
			return err
		}
		return p.taint(ctx, corev1.TaintEffectNoExecute, cleared...)
	}, func(_ *appsv1.DaemonSet, pods []*corev1.Pod) bool {
		return len(pods) < p.nodes+changed(p.nodes) ||
			slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	})
}

// nodesRemoved removes the nodes that were added. Their pods go as they would
// by kube-controller-manager's garbage collector of pods.
func nodesRemoved(ctx context.Context, p *play) error {
	return p.inHalves(ctx, names("added", changed(p.nodes)), func(ctx context.Context, half []string) error {
		if err := p.removeNodes(ctx, half...); err != nil {
			return err
		}
		return p.collectPods(ctx, half...)
	}, fewerDesired(p))
}

// nodesRecreated removes two nodes and adds them again under their names. The
// pod of the first goes, that of the second stays where it is. The first is
// removed before the middle: upstream does not watch for deleted nodes, and
// learns of them by the end of a pod.
func nodesRecreated(ctx context.Context, p *play) error {
	last := names("node", p.nodes)[p.nodes-2:]
	emptied, kept, shows := last[0], last[1], fewerDesired(p)
	if err := p.removeNodes(ctx, emptied); err != nil {
		return err
	}
	if err := p.collectPods(ctx, emptied); err != nil {
		return err
	}
	if err := p.midway(ctx, shows); err != nil {
		return err
	}
	if err := p.removeNodes(ctx, kept); err != nil {
		return err
	}
	return p.addNodes(ctx, last...)
}

// fewerDesired reports whether the status says that fewer nodes have to have a
// pod than at the time of the call.
func fewerDesired(p *play) reached {
	before := p.desired()
	return func(set *appsv1.DaemonSet, _ []*corev1.Pod) bool { return set.Status.DesiredNumberScheduled < before }
}
