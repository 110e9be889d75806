package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubelife/lifecycle/daemon"
)

// podState is a planner's record of a pod.
type podState struct {
	pod  *corev1.Pod
	node *nodeState // nil: nothing says for which node it is
	next *podState  // of the same node

	leave   StepReason // why it is to be deleted, or is; empty: it stays
	refused failures   // deletions
	written time.Time  // of the latest write that the watch must show
	epoch   int32      // calls.epoch of its deletion

	phase podPhase
	// former is the phase that it returns to when its deletion was not done. It is
	// phase itself unless a deletion is under way.
	former podPhase
	// reading is the phase in which the refresh that is under way began; podGone:
	// none is.
	reading podPhase
	// answeredAt is when the API server answered with the object, zero if the
	// watch has shown it. Older versions from the watch are ignored for
	// longestDelay then.
	answeredAt time.Time
	// counted says that the pod has terminated and its replacement is counted with
	// that of another pod of the node. It is deleted without a further wait.
	counted bool
}

// enter changes the phase of a pod and the phase that it returns to, and
// updates the counts. No other function does. The two are the same unless phase
// is a deletion.
func (p *Planner) enter(s *podState, phase, former podPhase) {
	p.countPhase(s, -1)
	s.phase, s.former = phase, former
	p.countPhase(s, 1)
}

func (p *Planner) countPhase(s *podState, by int) {
	if s.former == podCreated {
		p.unseen.created += by
	}
	if s.phase.isDeletion() {
		p.unresolved += by
	}
	if s.phase.isUnderWay() {
		p.deletions.underWay += by
	}
}

// leaving reports whether a pod is being deleted, by us or by anyone else.
func (s *podState) leaving() bool {
	return s.pod.DeletionTimestamp != nil || s.phase.isDeletion()
}

// agreed reports whether the API server has accepted a pod's deletion.
func (s *podState) agreed() bool {
	return s.pod.DeletionTimestamp != nil || s.phase == podDeletionAccepted
}

// toDelete reports whether a pod has a reason to leave for which its deletion may
// be sent, for the first time or again.
func (s *podState) toDelete() bool {
	return s.leave != "" && (!s.leaving() || s.unanswered())
}

// unanswered reports whether a deletion was sent, and neither an answer nor the
// watch tells whether it was done.
func (s *podState) unanswered() bool {
	return s.phase == podDeletionUnanswered && s.pod.DeletionTimestamp == nil
}

func (s *podState) terminal() bool {
	return s.pod.Status.Phase == corev1.PodFailed || s.pod.Status.Phase == corev1.PodSucceeded
}

// ended reports whether only the object of a pod is left, and is being deleted.
func (s *podState) ended() bool { return s.pod.DeletionTimestamp != nil && s.terminal() }

// readySince returns since when the pod is ready, and whether it is.
func (s *podState) readySince() (time.Time, bool) {
	for i := range s.pod.Status.Conditions {
		c := &s.pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// add records a pod that was not known.
func (p *Planner) add(pod *corev1.Pod, phase podPhase) *podState {
	s := &podState{pod: pod}
	if p.pods == nil {
		p.pods = make(map[string]*podState, len(p.states)) // mostly one for each
	}
	p.pods[pod.Name] = s
	p.enter(s, phase, phase)
	p.attachPod(s)
	if s.node != nil {
		s.node.shown(pod.Labels[revisionLabel])
	}
	return s
}

// update records a pod that has changed. A deletion that is undone comes from a
// backup of the API server's store, and is the truth.
func (p *Planner) update(s *podState, pod *corev1.Pod) {
	s.pod = pod
	if s.node == nil || s.node.name != daemon.TargetNode(pod) {
		p.detachPod(s)
		p.attachPod(s)
		return
	}
	p.markStale(s.node)
}

// remove forgets a pod and what is under way for it.
func (p *Planner) remove(s *podState) {
	p.enter(s, podGone, podGone)
	delete(p.pods, s.pod.Name)
	p.detachPod(s)
}

// vanish forgets a pod that the API server does not have.
func (p *Planner) vanish(s *podState) {
	p.tombstones.add(s.pod.UID, departureAnswered, p.now)
	p.remove(s)
}

// see records that the watch has shown a pod: what we wrote, or something
// later.
func (p *Planner) see(s *podState) { p.enter(s, s.phaseSeen(), podObserved) }

func (s *podState) phaseSeen() podPhase {
	switch {
	case !s.phase.isDeletion():
		return podObserved
	case !s.phase.isUnderWay() && s.pod.DeletionTimestamp != nil:
		return podObserved
	}
	return s.phase
}

// attachPod adds a pod to the node that it is for.
func (p *Planner) attachPod(s *podState) {
	name := daemon.TargetNode(s.pod)
	if name == "" {
		return
	}
	s.node = p.state(name)
	s.next, s.node.pods = s.node.pods, s
	p.markStale(s.node)
}

// detachPod removes a pod from its node.
func (p *Planner) detachPod(s *podState) {
	if s.node == nil {
		return
	}
	at := &s.node.pods
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
	p.markStale(s.node)
	s.node, s.next = nil, nil
}

// newerThan reports whether the API server has answered a newer version of a
// pod than the watch shows. If versions do not compare, the later observation
// counts as newer, unless it undoes a deletion. Among observations of the watch
// the order counts, and no watch is behind for longer than longestDelay. So a
// restored backup is believed, whatever versions it has.
func (s *podState) newerThan(now time.Time, pod *corev1.Pod) bool {
	if s.answeredAt.IsZero() || now.Sub(s.answeredAt) >= longestDelay {
		return false
	}
	return olderVersion(pod, s.pod) || s.undoneBy(pod) && !olderVersion(s.pod, pod)
}

// shows reports whether the watch has shown this version of a pod. Then it is not
// behind.
func (s *podState) shows(pod *corev1.Pod) bool {
	return s.answeredAt.IsZero() && pod.ResourceVersion != "" && pod.ResourceVersion == s.pod.ResourceVersion
}

// undoneBy reports whether a version of a pod says that it is not being deleted,
// and the known version that it is.
func (s *podState) undoneBy(pod *corev1.Pod) bool {
	return s.pod.DeletionTimestamp != nil && pod.DeletionTimestamp == nil
}

// olderVersion reports whether a pod has an older version than another one of
// its name, if versions can be compared.
func olderVersion(pod, other *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, other.ResourceVersion)
	return err == nil && order < 0
}

// podPhase is the life of a pod's record:
//
//	gone ──shown by the watch──► observed
//	gone ──answer to our creation──► created ──read──► read
//	                                 created, read ──shown──► observed
//
//	observed, created, read ──task handed out──► deleting
//	deleting ──refused, or shown being deleted──► the former phase
//	deleting, deletingAgain ──agreed──► accepted
//	deleting, deletingAgain ──no answer──► unanswered ──sent again──► deletingAgain
//	deletingAgain ──refused──► unanswered
//
//	deletingAgain, accepted, unanswered ──being deleted──► the former phase
//	accepted, unanswered ──read, and stays──► the former phase
//
// A deletion has the UID of its pod as a precondition, so that to send it again
// is harmless. A refusal says nothing of the call before.
//
// A pod whose deletion is under way may be shown or read meanwhile. Then the
// former phase becomes observed or read. Each phase ends in gone.
type podPhase uint8

const (
	// podGone: there is no such record.
	podGone podPhase = iota
	// podObserved: the watch has shown it.
	podObserved
	// podCreated: we created it, and neither watch nor a read has shown it. It
	// counts against the burst of creations.
	podCreated
	// podRead: we created and read it, and the watch has not shown it.
	podRead
	// podDeleting: its deletion is handed out.
	podDeleting
	// podDeletionAccepted: the API server has agreed, and nothing was shown yet.
	podDeletionAccepted
	// podDeletionUnanswered: it is unknown whether the deletion was done. It is
	// sent again if it would still be made.
	podDeletionUnanswered
	// podDeletingAgain: it is handed out once more, after one without an answer.
	podDeletingAgain
)

func (p podPhase) String() string {
	return [...]string{
		"gone", "observed", "created", "read", "deleting", "accepted", "unanswered", "deletingAgain",
	}[p]
}

// isDeletion reports whether a deletion of ours is not resolved yet.
func (p podPhase) isDeletion() bool { return p >= podDeleting }

// isUnderWay reports whether a deletion is handed out.
func (p podPhase) isUnderWay() bool { return p == podDeleting || p == podDeletingAgain }
