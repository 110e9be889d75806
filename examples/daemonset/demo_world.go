package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

const (
	demoNamespace = "demo"
	// demoNodes are there from the start, and demoLater nodes join.
	demoNodes, demoLater = 20, 6
	// demoLimit is the maxUnavailable of one set, and the maxSurge of the other.
	demoLimit = 3
	// demoTaint is the key of the taints that the script sets.
	demoTaint = "maintenance"
	// demoFleet is the value of runner.Label of all nodes.
	demoFleet = "demo"
	// startTime and pullFailures say how the containers of the nodes behave.
	startTime    = cri.AnnotationDomain + "/" + cri.AnnotationStartTime
	pullFailures = cri.AnnotationDomain + "/" + cri.AnnotationPullFailures
)

// demoSet is a DaemonSet of the demonstration.
type demoSet struct {
	name string
	// surges says that its rollout makes a new pod before the old one goes.
	surges bool
}

var demoSets = []demoSet{{name: "agent"}, {name: "proxy", surges: true}}

// The tags of the images of the demonstration.
const (
	firstImage  = "v1"
	secondImage = "v2"
	badImage    = "v3" // no kubelet can pull it
)

// world plays the users and the scheduler. The nodes are those of
// examples/hollownode.
type world struct {
	client   *memory.Cluster
	kubelets *runner.Runner
}

func newWorld(cluster *memory.Cluster) (*world, error) {
	client := cluster.NewClient()
	kubelets, err := runner.NewRunner(runner.Config{
		Acting: client, Watching: client, Beating: client, Fleet: demoFleet,
	})
	return &world{client: cluster, kubelets: kubelets}, err
}

func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// addNodes makes the nodes of these numbers.
func (w *world) addNodes(ctx context.Context, from, to int) error {
	for i := from; i <= to; i++ {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i), runner.Label: demoFleet},
		}}
		if _, err := w.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// taint gives the nodes of these numbers a taint. No effect removes it.
func (w *world) taint(ctx context.Context, from, to int, effect corev1.TaintEffect) error {
	nodes := w.client.CoreV1().Nodes()
	for i := from; i <= to; i++ {
		node, err := nodes.Get(ctx, nodeName(i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = nil
		if effect != "" {
			node.Spec.Taints = []corev1.Taint{{Key: demoTaint, Effect: effect}}
		}
		if _, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) addSets(ctx context.Context) error {
	for _, s := range demoSets {
		if _, err := w.client.AppsV1().DaemonSets(demoNamespace).Create(ctx, s.object(), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s demoSet) object() *appsv1.DaemonSet {
	labels := map[string]string{"app": s.name}
	update := &appsv1.RollingUpdateDaemonSet{
		MaxUnavailable: new(intstr.FromInt32(demoLimit)), MaxSurge: new(intstr.FromInt32(0)),
	}
	if s.surges {
		update.MaxUnavailable, update.MaxSurge = update.MaxSurge, update.MaxUnavailable
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: demoNamespace, Name: s.name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{startTime: "600ms"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: s.name, Image: s.name + ":" + firstImage},
				}},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: update,
			},
			RevisionHistoryLimit: ptr.To[int32](10),
		},
	}
}

// rollOut gives each set another image.
func (w *world) rollOut(ctx context.Context, image string) error {
	failures := "0"
	if image == badImage {
		failures = "all"
	}
	for _, s := range demoSets {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}},`+
			`"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, pullFailures, failures, s.name, s.name+":"+image)
		if err := w.patch(ctx, s.name, []byte(patch)); err != nil {
			return err
		}
	}
	return nil
}

var errNoRevision = errors.New("the set has no such revision")

// rollBack does what kubectl rollout undo --to-revision does: it applies the
// data of a revision as a patch.
func (w *world) rollBack(ctx context.Context, number int64) error {
	revisions, err := w.client.AppsV1().ControllerRevisions(demoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for _, r := range revisions.Items {
		if r.Revision == number {
			data[ownerOf(&r)] = r.Data.Raw
		}
	}
	for _, s := range demoSets {
		if data[s.name] == nil {
			return fmt.Errorf("roll %s back to revision %d: %w", s.name, number, errNoRevision)
		}
		if err := w.patch(ctx, s.name, data[s.name]); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) patch(ctx context.Context, set string, patch []byte) error {
	_, err := w.client.AppsV1().DaemonSets(demoNamespace).
		Patch(ctx, set, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// run is the scheduler and the nodes until ctx ends.
func (w *world) run(ctx context.Context) error {
	return process.Together(ctx, w.kubelets.Run, func(ctx context.Context) error {
		for ; ctx.Err() == nil; sleep(ctx, demoGlance) {
			if err := w.schedule(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
}

// schedule binds what waits for a node.
func (w *world) schedule(ctx context.Context) error {
	waiting, err := w.client.CoreV1().Pods(demoNamespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil || len(waiting.Items) == 0 {
		return err
	}
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range waiting.Items {
		err := w.bind(ctx, &waiting.Items[i], nodes.Items)
		// Another write came between. The next round reads the pod again.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("bind pod %s: %w", waiting.Items[i].Name, err)
		}
	}
	return nil
}

// bind puts a pod on the first node that its affinity selects.
func (w *world) bind(ctx context.Context, pod *corev1.Pod, nodes []corev1.Node) error {
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	for i := range nodes {
		fits, err := affinity.Match(&nodes[i])
		if err != nil {
			return err
		}
		if fits && tolerates(pod, &nodes[i]) {
			return w.client.CoreV1().Pods(demoNamespace).Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: demoNamespace, Name: pod.Name, UID: pod.UID},
				Target:     corev1.ObjectReference{Kind: "Node", Name: nodes[i].Name},
			}, metav1.CreateOptions{})
		}
	}
	return nil
}

func tolerates(pod *corev1.Pod, node *corev1.Node) bool {
	_, repelled := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	return !repelled
}
