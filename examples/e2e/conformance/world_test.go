package conformance

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/controller"
	upstreamutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// A world is a small cluster with a DaemonSet at the time epoch. Both sides get
// copies.
type world struct {
	set   *appsv1.DaemonSet
	hash  string // of the current revision
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func (w *world) node(name string) *corev1.Node {
	for _, node := range w.nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// with returns the world with other pods.
func (w *world) with(pods []*corev1.Pod) *world {
	other := *w
	other.pods = pods
	return &other
}

const generationLabel = "pod-template-generation"

func (d dice) world() *world {
	w := &world{set: d.set()}
	w.hash = controller.ComputeHash(&w.set.Spec.Template, nil)
	repelling := d.oneIn(10)
	for i := range d.IntN(9) {
		node := d.worldNode(fmt.Sprintf("n%d", i))
		if repelling {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
		}
		w.nodes = append(w.nodes, node)
	}
	if d.oneIn(2) {
		d.settled(w)
		return w
	}
	for _, node := range w.nodes {
		for range d.podsOnNode() {
			w.pods = append(w.pods, d.pod(w, node.Name))
		}
	}
	for d.oneIn(4) {
		w.pods = append(w.pods, d.pod(w, pick(d, "gone1", "gone2")))
	}
	if d.oneIn(5) {
		d.fail(w)
	}
	w.makeFailedAlike()
	return w
}

// fail makes half of the pods fail, as when the nodes are full.
func (d dice) fail(w *world) {
	for _, pod := range w.pods {
		if pod.Spec.NodeName != "" && d.oneIn(2) {
			pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
		}
	}
}

// settled gives each node a pod that is ready, most of them old, so that a
// rollout has something to choose from, and now and then spoils one.
func (d dice) settled(w *world) {
	for _, node := range w.nodes {
		pod := d.pod(w, node.Name)
		if !d.oneIn(8) {
			pod.Labels = map[string]string{"app": "agent",
				appsv1.ControllerRevisionHashLabelKey: pick(d, w.hash, "former", "former", "former")}
			pod.Spec.NodeName, pod.Status.Phase, pod.DeletionTimestamp = node.Name, corev1.PodRunning, nil
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
				Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue,
					corev1.ConditionFalse),
			}}
		}
		w.pods = append(w.pods, pod)
	}
}

// makeFailedAlike gives the failed pods of a node one revision: upstream
// replaces any of them first, in the order of a map.
func (w *world) makeFailedAlike() {
	first := map[string]*corev1.Pod{}
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodFailed {
			continue
		}
		if other := first[targetOf(pod)]; other != nil {
			pod.Labels = maps.Clone(other.Labels)
			continue
		}
		first[targetOf(pod)] = pod
	}
}

// current says whether a pod is of the current revision.
func (w *world) current(pod *corev1.Pod) bool {
	generation, err := upstreamutil.GetTemplateGeneration(w.set)
	return err == nil && upstreamutil.IsPodUpdated(pod, w.hash, generation)
}

func (d dice) podsOnNode() int { return pick(d, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3) }

func (d dice) amount() *intstr.IntOrString {
	if d.oneIn(4) {
		return new(intstr.FromString(pick(d, "0%", "1%", "20%", "34%", "50%", "100%")))
	}
	return new(intstr.FromInt(d.IntN(4)))
}

func (d dice) set() *appsv1.DaemonSet {
	template := agentTemplate()
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	if d.oneIn(2) {
		template.Spec.NodeSelector = map[string]string{"zone": "a"}
	}
	if d.oneIn(4) {
		template.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	set := setOf(template)
	set.Spec.MinReadySeconds = pick(d, int32(0), 0, 10)
	if d.oneIn(2) {
		set.Annotations = nil
	}
	if d.oneIn(8) {
		return set // OnDelete
	}
	surge := new(intstr.FromInt32(0))
	if d.oneIn(2) {
		surge = d.amount()
	}
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: d.amount(), MaxSurge: surge},
	}
	return set
}

func (d dice) worldNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{"zone": pick(d, "a", "a", "a", "b")},
	}}
	if d.oneIn(5) {
		node.Spec.Taints = []corev1.Taint{{Key: "dedicated",
			Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)}}
	}
	if d.oneIn(8) {
		node.Spec.Taints = append(node.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	}
	return node
}

// pod is one of the set, in any state that a pod can be in.
func (d dice) pod(w *world, node string) *corev1.Pod {
	name := fmt.Sprintf("agent-%03d", len(w.pods))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.set.Namespace, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(epoch.Add(-time.Duration(60+d.IntN(5)) * time.Minute)),
			Labels:            map[string]string{"app": "agent"},
		},
	}
	if !d.oneIn(15) {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = pick(d, w.hash, w.hash, "former", "former", "firstone")
	}
	if d.oneIn(4) {
		pod.Labels[generationLabel] = pick(d, "1", "7")
	}
	pod.Spec.Affinity = upstreamutil.ReplaceDaemonSetPodNodeNameNodeAffinity(nil, node)
	pod.Status.Phase = corev1.PodPending
	if !d.oneIn(8) {
		pod.Spec.NodeName = node
		d.status(pod)
	}
	if d.oneIn(8) {
		pod.DeletionTimestamp = new(metav1.NewTime(epoch.Add(pick(d, -time.Minute, 0, time.Minute))))
		pod.DeletionGracePeriodSeconds = new(int64(30))
	}
	return pod
}

// status is that of a pod that was scheduled.
func (d dice) status(pod *corev1.Pod) {
	pod.Status.Phase = pick(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning,
		corev1.PodRunning,
		corev1.PodRunning, corev1.PodPending, corev1.PodFailed, corev1.PodSucceeded)
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if pod.Status.Phase == corev1.PodRunning && !d.oneIn(4) {
		ready.Status = corev1.ConditionTrue
	}
	switch d.IntN(6) {
	case 0:
		return // no condition yet
	case 1: // ready since an unknown time
	case 2:
		ready.LastTransitionTime = metav1.NewTime(epoch.Add(-time.Duration(8+d.IntN(4)) * time.Second))
	default:
		ready.LastTransitionTime = metav1.NewTime(epoch.Add(-time.Hour))
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, ready}
}
