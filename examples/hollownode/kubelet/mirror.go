package kubelet

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// mirror is what a node knows of a mirror pod in the API.
type mirror struct {
	pod *corev1.Pod
	// deleted tells that the API server no longer has it, and the watch has not
	// shown that yet.
	deleted bool
}

// of returns the mirror pod if it shows this static pod of this node, else nil.
// That of a former node of the name is owned by another object.
func (m *mirror) of(static *corev1.Pod, node *corev1.Node) *corev1.Pod {
	if m == nil || m.deleted || node == nil {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(m.pod)
	if owner == nil || owner.UID != node.UID ||
		m.pod.Annotations[corev1.MirrorPodAnnotationKey] != static.Annotations[annotationHash] {
		return nil
	}
	return m.pod
}

// mirrorAction is what the API server lacks of a mirror pod.
type mirrorAction uint8

const (
	mirrorKept mirrorAction = iota
	mirrorMissing
	mirrorUnwanted
)

// String returns the name of the action.
func (a mirrorAction) String() string { return [...]string{"kept", "missing", "unwanted"}[a] }

// decideMirror returns what to do about a mirror pod. Static is the pod that it
// must show, nil is none. While a former static pod of the name is ending,
// nothing is done. Source: tryReconcileMirrorPods and HandlePodCleanups,
// v1.37.1.
func decideMirror(m *mirror, static *corev1.Pod, ending bool, node *corev1.Node) mirrorAction {
	present := m != nil && !m.deleted
	switch {
	case ending:
		return mirrorKept
	case static == nil && present:
		return mirrorUnwanted
	case static == nil:
		return mirrorKept
	case present && (m.pod.DeletionTimestamp != nil || m.of(static, node) == nil):
		return mirrorUnwanted
	case !present && node.DeletionTimestamp == nil:
		return mirrorMissing
	default:
		return mirrorKept
	}
}

// seeded returns a static pod with the status from which its kubelet goes on.
// That is the one of its mirror, if it has one. A final phase counts only if
// containers have ended and none runs. Another client may have written it, and
// a pod that was rejected is admitted again.
func seeded(static, mirror *corev1.Pod) *corev1.Pod {
	pod := *static
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if mirror == nil {
		return &pod
	}
	pod.Status = mirror.Status
	ended, running := 0, 0
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Terminated != nil {
				ended++
			}
			if list[i].State.Running != nil {
				running++
			}
		}
	}
	endless := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways && pod.Spec.ActiveDeadlineSeconds == nil
	if isTerminal(pod.Status.Phase) && (ended == 0 || running > 0 || endless) {
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodPending, "", ""
	}
	return &pod
}

// mirrorKey returns what is due of a mirror pod. Its name stands for its UID,
// because there may be none of that name yet.
func mirrorKey(n *nodeRecord, name types.NamespacedName) dueKey {
	return dueKey{node: n.name, pod: types.UID(name.String()), kind: dueMirror}
}

// mirrorName returns the name in a key.
func mirrorName(key dueKey) types.NamespacedName {
	namespace, name, _ := strings.Cut(string(key.pod), "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// observeMirror takes a mirror pod or its change. It starts and ends nothing on
// the node.
func (f *Fleet) observeMirror(now time.Time, pod *corev1.Pod) {
	n, name := f.node(now, pod.Spec.NodeName), nameOf(pod)
	m, known := n.mirrors[name]
	replaced := !known || m.pod.UID != pod.UID
	if replaced {
		if known {
			delete(f.mirrors, m.pod.UID)
		}
		m = &mirror{}
		if n.mirrors == nil {
			n.mirrors = map[types.NamespacedName]*mirror{}
		}
		n.mirrors[name] = m
	}
	m.pod = pod
	f.mirrors[pod.UID] = pod
	r := f.staticRecord(n, name)
	if replaced && r != nil && r.shown() == pod {
		// It has waited for this one. A mirror that came out otherwise, for example
		// by a webhook, is replaced after that wait, or it would be at full speed.
		f.queue.Remove(mirrorKey(n, name))
	}
	f.requestMirror(now, n, name)
	if r != nil && !r.former() {
		f.compareMirror(now, r, replaced)
	}
}

// compareMirror has the status of a static pod written when its mirror shows
// another one. To a new mirror that is at once.
func (f *Fleet) compareMirror(now time.Time, r *podRecord, replaced bool) {
	shown := r.shown()
	switch {
	case shown == nil || r.publication.arrived(shown, r.mayRun()):
	case replaced:
		r.publication.overwritten()
	default:
		f.schedule(r, dueReconcile, r.node.nextCompare(now))
	}
	f.requestWrite(now, r)
}

// forgetMirror takes the end of a pod in the API, and reports whether it was a
// mirror.
func (f *Fleet) forgetMirror(now time.Time, uid types.UID) bool {
	pod, known := f.mirrors[uid]
	if !known {
		return false
	}
	n, name := f.nodes[pod.Spec.NodeName], nameOf(pod)
	delete(f.mirrors, uid)
	if m := n.mirrors[name]; !m.deleted {
		// Nothing waits for this news. Else the next mirror is on its way already.
		f.queue.Remove(mirrorKey(n, name))
	}
	delete(n.mirrors, name)
	f.requestMirror(now, n, name)
	if n.node == nil && n.visited == noRound {
		f.dropNode(n)
	}
	return true
}

// staticRecord returns the record of the static pod that a node is to run under
// a name, or nil.
func (f *Fleet) staticRecord(n *nodeRecord, name types.NamespacedName) *podRecord {
	pod, wanted := n.static[name]
	if !wanted {
		return nil
	}
	return f.pods[pod.UID]
}

// mirrorAction returns what the API server lacks of the mirror pod of a name
// and may be told now.
func (f *Fleet) mirrorAction(n *nodeRecord, name types.NamespacedName) mirrorAction {
	if n.node == nil || n.configured != f.manifestVersion || !f.synced || !n.heeds() {
		return mirrorKept
	}
	action := decideMirror(n.mirrors[name], n.static[name], n.ending(name, ""), n.node)
	if action == mirrorUnwanted && f.halted {
		return mirrorKept
	}
	return action
}

// requestMirror has a mirror pod created or deleted if it must be. A call that
// waits already goes on to wait.
func (f *Fleet) requestMirror(now time.Time, n *nodeRecord, name types.NamespacedName) {
	if f.mirrorAction(n, name) == mirrorKept {
		return
	}
	f.queue.Add(mirrorKey(n, name), nil, now.Add(n.faults.APILatency))
}

// mirrorTask returns the call that a mirror pod needs, if it needs one.
func (f *Fleet) mirrorTask(item dueItem) (Task, bool) {
	n, known := f.nodes[item.Key.node]
	if !known {
		return Task{}, false
	}
	name := mirrorName(item.Key)
	task := Task{Node: n.name, item: item}
	switch f.mirrorAction(n, name) {
	case mirrorMissing:
		task.Kind, task.Pod = TaskCreateMirror, newMirror(n.static[name], n.node)
	case mirrorUnwanted:
		task.Kind, task.Pod = TaskDeleteMirror, n.mirrors[name].pod
	default:
		return Task{}, false
	}
	return task, true
}

// finishMirror takes the result of a task of a mirror pod. What was created is
// asked for again if the watch does not show it.
func (f *Fleet) finishMirror(now time.Time, task Task, result Result) {
	n := f.nodes[task.Node]
	outcome := f.retry(now, n, task.item)
	switch {
	case task.Kind == TaskDeleteMirror && (result == ResultDone || result == ResultGone):
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeDone}
		f.loseMirror(task.Pod)
		if n != nil && f.mirrorAction(n, mirrorName(task.item.Key)) != mirrorKept {
			outcome = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(n.faults.APILatency)}
		}
	case task.Kind == TaskCreateMirror && result == ResultDone:
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(reconcilePeriod)}
	}
	f.queue.Finish(now, task.item, outcome)
}

// loseMirror records that the API server no longer has a mirror pod.
func (f *Fleet) loseMirror(pod *corev1.Pod) {
	n, known := f.nodes[pod.Spec.NodeName]
	if !known {
		return
	}
	if m := n.mirrors[nameOf(pod)]; m != nil && m.pod.UID == pod.UID {
		m.deleted = true
	}
}
