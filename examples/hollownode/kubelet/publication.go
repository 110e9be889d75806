package kubelet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// publication is the status of a pod, and how much of it the API server has. It
// is what the status manager of a kubelet does for one pod.
//
// Each change has a version. One write is on its way at a time, and its result
// counts for the version that it carried. So an old status never overwrites a
// newer one, and changes during a write are written together after it.
//
// A final phase is held back until the containers have ended. A controller that
// replaces the pod would otherwise run both. Source: mergePodStatus in
// pkg/kubelet/status, v1.37.1.
type publication struct {
	worker *podWorker
	// status is nil before the first version. It may be that of an object in a
	// cache, and is only read.
	status *corev1.PodStatus
	// before is shown while a final phase is held back. It is nil until there is
	// one, which most pods never have.
	before *shownPhase
	// held tells that the last write has held it back, and over that a write had
	// it.
	held, over bool
	// version counts changes. Zero is none yet.
	version uint64
	// written is the version that the API server has, sent that on its way.
	written, sent uint64
}

// shownPhase is a phase and why a pod is in it.
type shownPhase struct {
	phase           corev1.PodPhase
	reason, message string
}

// set replaces the status, and reports whether that is a change. A status that
// would revive a container is refused.
func (p *publication) set(pod *corev1.Pod, s corev1.PodStatus) bool {
	old := p.current(pod)
	if !isLegal(pod, old, &s) || p.version > 0 && sameStatus(old, &s) {
		return false
	}
	known := p.version == 0 && sameStatus(old, &s)
	if isTerminal(s.Phase) && !isTerminal(old.Phase) {
		p.before = &shownPhase{phase: old.Phase, reason: old.Reason, message: old.Message}
	}
	p.status = &s
	p.version++
	if known {
		// After a restart the API server has what we would write.
		p.written = p.version
	}
	return true
}

// adopt takes the status of the API as one that was written.
func (p *publication) adopt(pod *corev1.Pod) {
	p.status, p.version, p.written = &pod.Status, 1, 1
}

// current returns the status before the next: the last, else that of the API.
func (p *publication) current(pod *corev1.Pod) *corev1.PodStatus {
	if p.version == 0 {
		return &pod.Status
	}
	return p.status
}

// pending reports whether a write is needed and none is on its way.
func (p *publication) pending() bool { return p.version > p.written && p.sent == 0 }

// begin starts a write of the present status, as it is shown.
func (p *publication) begin(pod *corev1.Pod, running bool) (corev1.PodStatus, uint64) {
	p.sent, p.held = p.version, p.holds(pod, running)
	s := p.shown(pod, running)
	if isTerminal(s.Phase) {
		p.over = true
		if !p.isFinal() { // another client has ended the pod, which stays
			final := s // apart, so that not every write allocates
			p.status = &final
		}
	}
	return s, p.version
}

// isFinal reports whether the phase of the status is final.
func (p *publication) isFinal() bool { return p.version > 0 && isTerminal(p.status.Phase) }

// holds reports whether a final phase is held back of a pod whose containers
// may run. One that the API server has already is not. Nor is one that it had
// when we wrote last: a watch that is late may show an older phase again.
func (p *publication) holds(pod *corev1.Pod, running bool) bool {
	return running && p.isFinal() && !p.over && !isTerminal(pod.Status.Phase)
}

// shown returns the status that the API server is to have. A final phase that
// it has stays, also before the next sync knows of it. That of a mirror does
// not: it says nothing of its static pod.
func (p *publication) shown(pod *corev1.Pod, running bool) corev1.PodStatus {
	s, api := *p.current(pod), &pod.Status
	switch {
	case p.holds(pod, running):
		before := *cmp.Or(p.before, &shownPhase{})
		s.Phase, s.Reason, s.Message = before.phase, before.reason, before.message
	case isTerminal(api.Phase) && s.Phase != api.Phase && !isMirror(pod):
		s.Phase, s.Reason, s.Message = api.Phase, api.Reason, api.Message
	}
	return s
}

// release makes a final phase pending that was held back.
func (p *publication) release() {
	if p.held {
		p.held = false
		p.version++
	}
}

// end takes the result of the write of a version. That of another one changes
// nothing.
func (p *publication) end(version uint64, ok bool) {
	if p.sent != version || version == 0 {
		return
	}
	p.sent = 0
	if ok {
		p.written = max(p.written, version)
	}
}

// arrived takes the status that the API server has, and reports whether it is
// the last one. Then it replaces the last one, so that a pod has one in memory.
func (p *publication) arrived(pod *corev1.Pod, running bool) bool {
	if p.version == 0 {
		return true
	}
	shown := p.shown(pod, running)
	same := sameStatus(&pod.Status, &shown)
	if same && !p.holds(pod, running) {
		p.status = &pod.Status
	}
	return same
}

// shows reports whether the API server shows the last status of a pod whose
// containers have ended.
func (p *publication) shows(pod *corev1.Pod) bool {
	wanted := p.shown(pod, false)
	return sameStatus(&pod.Status, &wanted)
}

// overwritten makes the status pending again, after another client has changed
// it. A write that is on its way may have been before that change, so its
// result does not count for this.
func (p *publication) overwritten() { p.version++ }

// request has what the API server lacks of a pod written.
func (p *publication) request(now time.Time) {
	w := p.worker
	if p.mayWrite() {
		w.node.fleet.queue.Add(dueKey{pod: w.pod.UID, kind: dueWrite}, w, now.Add(w.node.faults.APILatency))
	}
}

// mayWrite reports whether a call about a pod is needed and may be sent.
func (p *publication) mayWrite() bool {
	w := p.worker
	return p.mustWrite() && w.node.hears() && (p.pending() || !w.node.fleet.halted)
}

// mustWrite reports whether the API server lacks something of a pod that it
// shows.
func (p *publication) mustWrite() bool {
	w := p.worker
	return w.api != apiGone && (p.pending() || p.deletable()) && w.shown() != nil
}

// deletable reports whether the API server can delete a pod for good. It is to
// be deleted, its containers have ended, and its last status is written.
func (p *publication) deletable() bool {
	w := p.worker
	return w.state == workerFinished && w.pod.DeletionTimestamp != nil && w.api == apiPresent &&
		p.version == p.written
}

// reconcile restores a status that another client has overwritten.
func (p *publication) reconcile(now time.Time) {
	w := p.worker
	pod := w.shown()
	if pod == nil {
		return
	}
	if wanted := p.shown(pod, w.mayRun()); !sameStatus(&pod.Status, &wanted) {
		p.overwritten()
		p.request(now)
	}
}

// task returns the call that a pod needs, if it needs one.
func (p *publication) task(item dueItem) (Task, bool) {
	w := p.worker
	task := Task{Node: w.node.name, Pod: w.shown(), item: item}
	switch {
	case w.former() || !p.mayWrite():
		return Task{}, false
	case p.pending():
		task.Kind = TaskPatchStatus
		task.Status, task.version = p.begin(task.Pod, w.mayRun())
	default:
		task.Kind = TaskDeletePod
	}
	return task, true
}

// finish takes the result of a call about a pod.
func (p *publication) finish(now time.Time, task Task, result Result) timedqueue.Result {
	w := p.worker
	shown := w.shown()
	switch {
	case result == ResultGone:
		p.end(task.version, true)
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	case task.Kind == TaskPatchStatus:
		p.end(task.version, result == ResultDone && shown != nil && shown.UID == task.Pod.UID)
	case result == ResultDone:
		w.leave(apiDeleted)
	}
	switch {
	case result != ResultDone:
		return w.node.retry(now, task.item)
	case p.mayWrite():
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(w.node.faults.APILatency)}
	default:
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
}

// StatusPatchType is the type of the patches of [StatusPatch].
const StatusPatchType = types.StrategicMergePatchType

// StatusPatch returns the patch that makes the status of a pod this one. It is
// guarded by the pod's UID, and needs no status before. Each field of the
// kubelet is in it, so that an answer that was lost or a cache that is late
// leaves nothing behind. Conditions of other clients stay as they are, as does
// each field that no kubelet here sets.
func StatusPatch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	patch := podPatch{Status: statusFields{
		Phase: orNull(status.Phase), Reason: orNull(status.Reason), Message: orNull(status.Message),
		HostIP: orNull(status.HostIP), PodIP: orNull(status.PodIP), StartTime: status.StartTime,
		ObservedGeneration: orNull(status.ObservedGeneration),
		HostIPs:            make([]ipField, 1, 1+len(status.HostIPs)), PodIPs: make([]ipField, 1, 1+len(status.PodIPs)),
		InitContainerStatuses: orNone(status.InitContainerStatuses),
		ContainerStatuses:     orNone(status.ContainerStatuses),
	}}
	patch.Metadata.UID = pod.UID
	fields := &patch.Status
	// Lists of IPs are merged by IP, and would keep former ones.
	fields.HostIPs[0].Directive, fields.PodIPs[0].Directive = "replace", "replace"
	for _, ip := range status.HostIPs {
		fields.HostIPs = append(fields.HostIPs, ipField{IP: ip.IP})
	}
	for _, ip := range status.PodIPs {
		fields.PodIPs = append(fields.PodIPs, ipField{IP: ip.IP})
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; isOwnCondition(c.Type) {
			fields.Conditions = append(fields.Conditions, conditionField{
				Type: c.Type, Status: c.Status, LastProbeTime: c.LastProbeTime, LastTransitionTime: c.LastTransitionTime,
				Reason: orNull(c.Reason), Message: orNull(c.Message), ObservedGeneration: orNull(c.ObservedGeneration),
			})
		}
	}
	data, err := json.Marshal(&patch)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return data, nil
}

// podPatch is a patch of a status. A field that is null is removed. The fields
// are typed, because a map of them takes several times as long to encode.
type podPatch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status statusFields `json:"status"`
}

type statusFields struct {
	Phase              *corev1.PodPhase `json:"phase"`
	Reason             *string          `json:"reason"`
	Message            *string          `json:"message"`
	HostIP             *string          `json:"hostIP"`
	PodIP              *string          `json:"podIP"`
	StartTime          *metav1.Time     `json:"startTime"`
	ObservedGeneration *int64           `json:"observedGeneration"`

	HostIPs               []ipField                `json:"hostIPs"`
	PodIPs                []ipField                `json:"podIPs"`
	InitContainerStatuses []corev1.ContainerStatus `json:"initContainerStatuses"`
	ContainerStatuses     []corev1.ContainerStatus `json:"containerStatuses"`
	Conditions            []conditionField         `json:"conditions,omitempty"`
}

type ipField struct {
	Directive string `json:"$patch,omitempty"`
	IP        string `json:"ip,omitempty"`
}

type conditionField struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	LastProbeTime      metav1.Time             `json:"lastProbeTime"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
	Reason             *string                 `json:"reason"`
	Message            *string                 `json:"message"`
	ObservedGeneration *int64                  `json:"observedGeneration"`
}

// orNull returns nil for the zero value, which encodes as null.
func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// orNone returns nil for an empty list, which encodes as null.
func orNone[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
