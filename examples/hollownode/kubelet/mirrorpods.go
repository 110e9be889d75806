package kubelet

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// mirrorPods are the mirror pods of a node, which show its static pods in the
// API. They start and end nothing on the node.
type mirrorPods struct {
	node *kubelet
	// byName are those in the API. It is nil without any.
	byName map[types.NamespacedName]*mirror
}

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
func mirrorKey(k *kubelet, name types.NamespacedName) dueKey {
	return dueKey{node: k.name, pod: types.UID(name.String()), kind: dueMirror}
}

// mirrorName returns the name in a key.
func mirrorName(key dueKey) types.NamespacedName {
	namespace, name, _ := strings.Cut(string(key.pod), "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// compare has the status of a static pod written when its mirror shows
// another one. To a new mirror that is at once.
func (m *mirrorPods) compare(now time.Time, w *podWorker, replaced bool) {
	shown := w.shown()
	switch {
	case shown == nil || w.publication.arrived(shown, w.mayRun()):
	case replaced:
		w.publication.overwritten()
	default:
		w.schedule(dueReconcile, m.node.nextCompare(now))
	}
	w.publication.request(now)
}

// action returns what the API server lacks of the mirror pod of a name
// and may be told now.
func (m *mirrorPods) action(name types.NamespacedName) mirrorAction {
	k, config := m.node, &m.node.configuration
	if k.object == nil || !config.isCurrent() || !k.fleet.synced || !k.heeds() {
		return mirrorKept
	}
	action := decideMirror(m.byName[name], config.static[name], config.ending(name, ""), k.object)
	if action == mirrorUnwanted && k.fleet.halted {
		return mirrorKept
	}
	return action
}

// request has a mirror pod created or deleted if it must be. A call that
// waits already goes on to wait.
func (m *mirrorPods) request(now time.Time, name types.NamespacedName) {
	if m.action(name) == mirrorKept {
		return
	}
	m.node.fleet.queue.Add(mirrorKey(m.node, name), nil, now.Add(m.node.faults.APILatency))
}

// observe takes a mirror pod or its change.
func (m *mirrorPods) observe(now time.Time, pod *corev1.Pod) {
	name, fleet := nameOf(pod), m.node.fleet
	shown, known := m.byName[name]
	replaced := !known || shown.pod.UID != pod.UID
	if replaced {
		if known {
			delete(fleet.mirrors, shown.pod.UID)
		}
		shown = &mirror{}
		if m.byName == nil {
			m.byName = map[types.NamespacedName]*mirror{}
		}
		m.byName[name] = shown
	}
	shown.pod = pod
	fleet.mirrors[pod.UID] = pod
	w := m.node.configuration.worker(name)
	if replaced && w != nil && w.shown() == pod {
		// It has waited for this one. A mirror that came out otherwise, for example
		// by a webhook, is replaced after that wait, or it would be at full speed.
		fleet.queue.Remove(mirrorKey(m.node, name))
	}
	m.request(now, name)
	if w != nil && !w.former() {
		m.compare(now, w, replaced)
	}
}

// forget takes the end of a mirror pod in the API.
func (m *mirrorPods) forget(now time.Time, pod *corev1.Pod) {
	name := nameOf(pod)
	delete(m.node.fleet.mirrors, pod.UID)
	if !m.byName[name].deleted {
		// Nothing waits for this news. Else the next mirror is on its way already.
		m.node.fleet.queue.Remove(mirrorKey(m.node, name))
	}
	delete(m.byName, name)
	m.request(now, name)
	m.node.housekeeping.dropNode()
}

// task returns the call that a mirror pod needs, if it needs one.
func (m *mirrorPods) task(item dueItem) (Task, bool) {
	name := mirrorName(item.Key)
	task := Task{Node: m.node.name, item: item}
	switch m.action(name) {
	case mirrorMissing:
		task.Kind, task.Pod = TaskCreateMirror, newMirror(m.node.configuration.static[name], m.node.object)
	case mirrorUnwanted:
		task.Kind, task.Pod = TaskDeleteMirror, m.byName[name].pod
	default:
		return Task{}, false
	}
	return task, true
}

// finish takes the result of a task. What was created is asked for again if the
// watch does not show it.
func (m *mirrorPods) finish(now time.Time, task Task, result Result) timedqueue.Result {
	switch {
	case task.Kind == TaskDeleteMirror && (result == ResultDone || result == ResultGone):
		m.lose(task.Pod)
		if m.action(mirrorName(task.item.Key)) != mirrorKept {
			return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(m.node.faults.APILatency)}
		}
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	case task.Kind == TaskCreateMirror && result == ResultDone:
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(reconcilePeriod)}
	default:
		return m.node.retry(now, task.item)
	}
}

// lose records that the API server no longer has a mirror pod.
func (m *mirrorPods) lose(pod *corev1.Pod) {
	if shown := m.byName[nameOf(pod)]; shown != nil && shown.pod.UID == pod.UID {
		shown.deleted = true
	}
}
