package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// podState is a planner's record of a pod.
type podState struct {
	pod  *corev1.Pod
	node *nodeState // nil: nothing says for which node it is
	next *podState  // of the same node

	leave   StepReason // why it is to be deleted, or is; empty: it stays
	refused failures   // deletions
	// answeredAt is when the API server answered with the object, zero if the
	// watch has shown it. Older versions from the watch are ignored for
	// longestDelay then.
	answeredAt time.Time
	readAt     time.Time // when it is read if the watch still shows nothing
	epoch      int32     // calls.epoch of its deletion

	seen     sighting
	deletion deletionPhase
	// reading says that a read is under way. A deletion that is handed out ends it,
	// because what is read may be of before.
	reading bool
	// restarting says that the caller has updated it in place, and that its
	// condition Ready has not changed since. It is not ready until then.
	restarting bool
}

// sighting is how a pod is known:
//
//	an answer to our creation ──► created ──read──► read
//	created, read ──shown by the watch──► observed
type sighting uint8

const (
	// sightingObserved: the watch has shown it.
	sightingObserved sighting = iota
	// sightingCreated: we created it, and neither watch nor a read has shown it.
	// It counts against the burst of creations.
	sightingCreated
	// sightingRead: we created and read it, and the watch has not shown it. A list
	// may lack it.
	sightingRead
)

func (s sighting) String() string { return [...]string{"observed", "created", "read"}[s] }

// deletionPhase is the life of the deletions of a pod:
//
//	none ──task handed out──► underWay
//	underWay ──refused, or shown being deleted──► none
//	underWay, again ──updated in place instead──► none
//	underWay, again ──agreed──► accepted
//	underWay, again ──no answer──► unanswered ──sent again──► again
//	again ──refused──► unanswered
//
//	again, accepted, unanswered ──being deleted──► none
//	accepted, unanswered ──read, and stays──► none
//
// A deletion has the UID of its pod as a precondition, so that to send it again
// is harmless. A refusal says nothing of the call before.
type deletionPhase uint8

const (
	// deletionNone: none was sent, or what was sent is resolved.
	deletionNone deletionPhase = iota
	// deletionUnderWay: it is handed out.
	deletionUnderWay
	// deletionAccepted: the API server has agreed, and nothing was shown yet.
	deletionAccepted
	// deletionUnanswered: it is unknown whether it was done. It is sent again if it
	// would still be made.
	deletionUnanswered
	// deletionAgain: it is handed out once more, after one without an answer.
	deletionAgain
)

func (d deletionPhase) String() string {
	return [...]string{"none", "deleting", "accepted", "unanswered", "deletingAgain"}[d]
}

// unresolved reports whether a deletion of ours is not resolved yet.
func (d deletionPhase) unresolved() bool { return d >= deletionUnderWay }

// isUnderWay reports whether a deletion is handed out.
func (d deletionPhase) isUnderWay() bool { return d == deletionUnderWay || d == deletionAgain }

// leaving reports whether a pod is being deleted, by us or by anyone else.
func (s *podState) leaving() bool {
	return s.pod.DeletionTimestamp != nil || s.deletion.unresolved()
}

// agreed reports whether the API server has accepted a pod's deletion.
func (s *podState) agreed() bool {
	return s.pod.DeletionTimestamp != nil || s.deletion == deletionAccepted
}

// toDelete reports whether a pod has a reason to leave for which its deletion may
// be sent, for the first time or again, outside of a rollout.
func (s *podState) toDelete() bool {
	return s.leave != "" && !s.leave.ofRollout() && (!s.leaving() || s.unanswered())
}

// due reports whether a pod toDelete waits for no refusal.
func (s *podState) due(now time.Time) bool {
	return s.toDelete() && !now.Before(s.refused.retry())
}

// unanswered reports whether a deletion was sent, and neither an answer nor the
// watch tells whether it was done.
func (s *podState) unanswered() bool {
	return s.deletion == deletionUnanswered && s.pod.DeletionTimestamp == nil
}

// awaited reports whether neither the watch nor a read has shown a write of the
// pod yet.
func (s *podState) awaited() bool {
	return s.seen == sightingCreated || s.deletion > deletionUnderWay
}

// mayRead reports whether a read could tell what the watch has not shown. It
// could not while a call is under way whose answer would say more.
func (s *podState) mayRead() bool {
	return s.awaited() && !s.deletion.isUnderWay() && !s.reading
}

func (s *podState) terminal() bool {
	return s.pod.Status.Phase == corev1.PodFailed || s.pod.Status.Phase == corev1.PodSucceeded
}

// ended reports whether only the object of a pod is left, and is being deleted.
func (s *podState) ended() bool { return s.pod.DeletionTimestamp != nil && s.terminal() }

// stranded reports whether a pod waits to be scheduled on a node where none
// should run. It may wait forever.
func (s *podState) stranded() bool {
	return s.pod.Spec.NodeName == "" && !s.node.decision.shouldRun
}

// readySince returns since when the pod is ready, and whether it is.
func (s *podState) readySince() (time.Time, bool) {
	ready := readyOf(s.pod)
	if ready == nil || s.restarting {
		return time.Time{}, false
	}
	return ready.LastTransitionTime.Time, ready.Status == corev1.ConditionTrue
}

// readyAlike reports whether the condition Ready of two states of a pod is the
// same, and has been since the same time.
func readyAlike(a, b *corev1.Pod) bool {
	one, other := readyOf(a), readyOf(b)
	if one == nil || other == nil {
		return one == other
	}
	return one.Status == other.Status && one.LastTransitionTime.Equal(&other.LastTransitionTime)
}

// readyOf returns the condition Ready of a pod, or nil.
func readyOf(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// before is the order in which kube-controller-manager counts the pods of a
// node: scheduled ones, then older ones.
func (s *podState) before(other *podState) bool {
	if scheduled := s.pod.Spec.NodeName != ""; scheduled != (other.pod.Spec.NodeName != "") {
		return scheduled
	}
	if !s.pod.CreationTimestamp.Equal(&other.pod.CreationTimestamp) {
		return s.pod.CreationTimestamp.Before(&other.pod.CreationTimestamp)
	}
	return s.pod.Name < other.pod.Name
}

// newerThan reports whether the API server has answered a newer version of a
// pod than the watch shows. If versions do not compare, the later observation
// counts as newer. Among observations of the watch the order counts, and no watch
// is behind for longer than longestDelay. So a restored backup is believed,
// whatever versions it has.
func (s *podState) newerThan(now time.Time, pod *corev1.Pod) bool {
	if s.answeredAt.IsZero() || now.Sub(s.answeredAt) >= longestDelay {
		return false
	}
	return olderVersion(pod, s.pod)
}

// olderThan reports whether a read shows more than is known of a pod. What the
// watch has shown in this version does not come from an answer.
func (s *podState) olderThan(read *corev1.Pod) bool {
	switch {
	case !s.answeredAt.IsZero():
		return true // the read was sent after that answer, and the watch has shown nothing since
	case read.ResourceVersion != "" && read.ResourceVersion == s.pod.ResourceVersion:
		return false
	}
	return !olderVersion(read, s.pod)
}

// olderVersion reports whether a pod has an older version than another one of
// its name, if versions can be compared.
func olderVersion(pod, other *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, other.ResourceVersion)
	return err == nil && order < 0
}
