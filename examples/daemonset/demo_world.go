package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

	"github.com/kubelife/lifecycle/examples/nodelifecycle/memory"
	"github.com/kubelife/lifecycle/examples/process"
)

const (
	demoNamespace = "demo"
	// demoNodes are there from the start, and demoLater nodes join.
	demoNodes, demoLater = 20, 6
	// demoLimit is the maxUnavailable of one set, and the maxSurge of the other.
	demoLimit = 3
	// demoTaint is the key of the taints that the script sets.
	demoTaint = "maintenance"
	// demoStart is how long the containers of a pod take to start.
	demoStart = 600 * time.Millisecond
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

// world plays the users, the scheduler and the kubelets.
type world struct {
	client *memory.Cluster
	// bound is when a kubelet first saw a pod.
	bound map[types.UID]time.Time
}

func newWorld(cluster *memory.Cluster) *world {
	return &world{client: cluster, bound: map[types.UID]time.Time{}}
}

func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// addNodes makes the nodes of these numbers.
func (w *world) addNodes(ctx context.Context, from, to int) error {
	for i := from; i <= to; i++ {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i)},
		}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
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
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
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
	for _, s := range demoSets {
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`,
			s.name, s.name+":"+image)
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

// run is the scheduler and the kubelets until ctx ends.
func (w *world) run(ctx context.Context) error {
	var failed error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	process.Every(ctx, demoGlance, func() {
		if err := w.work(ctx); err != nil && ctx.Err() == nil {
			failed = err
			stop()
		}
	})
	return failed
}

// work binds what waits for a node, starts what is bound, and finishes what is
// being deleted.
func (w *world) work(ctx context.Context) error {
	w.client.FinalizePods(func(string) bool { return true })
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := w.client.CoreV1().Pods(demoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	seen := map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		var err error
		switch at, known := w.bound[pod.UID]; {
		case pod.DeletionTimestamp != nil:
		case pod.Spec.NodeName == "":
			err = w.bind(ctx, pod, nodes.Items)
		case !known:
			seen[pod.UID] = time.Now()
		default:
			seen[pod.UID] = at
			if time.Since(at) >= demoStart && len(pod.Status.ContainerStatuses) == 0 {
				err = w.start(ctx, pod)
			}
		}
		// Another write came between. The next round reads the pod again.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	w.bound = seen
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

// start reports that the containers of a pod have started, or that the image
// cannot be pulled.
func (w *world) start(ctx context.Context, pod *corev1.Pod) error {
	bad := strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+badImage)
	wanted := pod.Spec.Containers[0]
	container := corev1.ContainerStatus{Name: wanted.Name, Image: wanted.Image, Ready: !bad}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	pod.Status.Phase = corev1.PodRunning
	container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	if bad {
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		pod.Status.Phase = corev1.PodPending
		container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, ready)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	_, err := w.client.CoreV1().Pods(demoNamespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
