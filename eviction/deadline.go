package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

// A Taint is a NoExecute taint of a node, with when it began.
type Taint struct {
	corev1.Taint
	// Seen is when we first saw it.
	Seen time.Time
	// Start is when it counts from; see [Began].
	Start time.Time
}

// A Pod is what counts of a pod that is on a node.
type Pod struct {
	Tolerations []corev1.Toleration
	// Seen is when we first saw it on its node.
	Seen time.Time
	// Arrived is when its stay on the node counts from; see [Began].
	Arrived time.Time
}

// Reason says why a [Verdict] is as it is.
type Reason string

const (
	// NoTaints: the node has no NoExecute taint. The pod stays.
	NoTaints Reason = "NoTaints"
	// Tolerated: the pod tolerates every taint for ever. It stays.
	Tolerated Reason = "Tolerated"
	// Untolerated: there is a taint that the pod does not tolerate. It leaves now.
	Untolerated Reason = "Untolerated"
	// TolerationEnds: the pod tolerates every taint, but one only for some time.
	// TolerationEnds: the pod tolerates every taint, but one only for some time.
	TolerationEnds Reason = "TolerationEnds"
	// Exempt: the pod was exempted by Config.Exempt. It stays.
	Exempt Reason = "Exempt"
	// Gone: the pod or its node is gone, terminating or another one. There is
	// nothing to evict.
	Gone Reason = "Gone"
)

// A Verdict is when a pod must leave its node, and why.
type Verdict struct {
	Reason Reason
	// Due is when the pod must leave. It is the zero time when it may stay.
	Due time.Time
	// Taint is the one that decides. It is empty when the pod may stay.
	Taint Taint
	// Toleration is the one that ends, and nil unless Reason is TolerationEnds.
	Toleration *corev1.Toleration
}

// Leaves reports whether the pod must leave at some time.
func (v Verdict) Leaves() bool { return !v.Due.IsZero() }

// DueAt reports whether the pod must have left at that time.
func (v Verdict) DueAt(now time.Time) bool { return v.Leaves() && !v.Due.After(now) }

// Decide returns when a pod must leave a node with these NoExecute taints.
//
// One taint that the pod does not tolerate is enough: it leaves as soon as both
// have been seen. Otherwise each taint gives it the seconds of the toleration
// that matches it, counted from the taint's start or the pod's arrival, whichever
// is later, and the earliest end counts. A toleration without seconds lasts for
// ever; one of zero or fewer seconds has ended at its start. Of several
// tolerations that match a taint the first counts, as upstream.
func Decide(on []Taint, pod Pod, matcher taints.Matcher) Verdict {
	if len(on) == 0 {
		return Verdict{Reason: NoTaints}
	}
	verdict := Verdict{Reason: Tolerated}
	for i := range on {
		taint := &on[i]
		toleration := matcher.First(pod.Tolerations, &taint.Taint)
		if toleration == nil {
			return Verdict{Reason: Untolerated, Due: later(taint.Seen, pod.Seen), Taint: *taint}
		}
		if toleration.TolerationSeconds == nil {
			continue
		}
		due := end(later(taint.Start, pod.Arrived), later(taint.Seen, pod.Seen), *toleration.TolerationSeconds)
		if verdict.Leaves() && !due.Before(verdict.Due) {
			continue
		}
		verdict = Verdict{Reason: TolerationEnds, Due: due, Taint: *taint, Toleration: toleration}
	}
	return verdict
}

// end returns when a toleration of so many seconds ends. One that grants no time
// at all ends when it is seen, not a second later for the rounding of start.
func end(start, seen time.Time, seconds int64) time.Time {
	if seconds <= 0 {
		return seen
	}
	return start.Add(time.Duration(min(seconds, longestToleration)) * time.Second)
}

// longestToleration keeps sums of times from overflowing: a hundred years.
const longestToleration = 100 * 365 * 24 * 60 * 60

// Began returns when something began that somebody else wrote the time of: a
// taint with its TimeAdded, a pod's binding with the transition of PodScheduled.
//
// Seen is when we first saw it. Appeared says that we saw it come, and did not
// find it there at our start. The stored time counts if it is there and not
// after seen, plus one second, since it is stored in whole ones: so what is
// counted from it is never early, and at most two seconds late after a restart.
// When we saw the thing come, a stored time of more than ten seconds before that
// is not believed: it would be the clock of its writer that is behind. In all
// other cases seen counts, which for something found at a restart is the restart.
//
// What remains is this: found at our start, a stored time of a clock that is
// behind by some seconds makes us early by as many.
func Began(stored *metav1.Time, seen time.Time, appeared bool) time.Time {
	if stored.IsZero() || stored.After(seen) {
		return seen
	}
	if appeared && stored.Time.Before(seen.Add(-trustedDelay)) {
		return seen
	}
	return seen.Add(stored.Sub(seen) + time.Second) // keeps the monotonic reading of seen
}

// trustedDelay is how long a change may take to reach us before its stored time
// is taken for that of a wrong clock.
const trustedDelay = 10 * time.Second

// arrival returns when a pod's stay on its node counts from.
func arrival(pod *corev1.Pod, seen time.Time, appeared bool) time.Time {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return Began(&c.LastTransitionTime, seen, appeared)
		}
	}
	return seen
}

// noExecute returns the NoExecute taints of a node that is seen now, with their
// starts, given those that it had when it was seen before. Known says that there
// was a before.
//
// A taint that was there keeps its start, unless its TimeAdded is later now:
// then it was taken away and set again while we did not look. A taint whose
// lineage was there (see taints.SameLineage) goes on from its start.
func noExecute(node *corev1.Node, before []Taint, known bool, now time.Time) []Taint {
	var after []Taint
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		next := Taint{Taint: *taint, Seen: now, Start: Began(taint.TimeAdded, now, known)}
		if since, ok := lineage(before, taint); ok {
			next.Seen, next.Start = since.Seen, since.Start
		}
		after = append(after, next)
	}
	return after
}

// lineage returns the earliest of the taints that count as one with the given.
func lineage(before []Taint, taint *corev1.Taint) (Taint, bool) {
	var earliest Taint
	found := false
	for i := range before {
		b := &before[i]
		if !taints.SameLineage(&b.Taint, taint) || setAgain(b, taint) {
			continue
		}
		if !found || b.Start.Before(earliest.Start) {
			earliest, found = *b, true
		}
	}
	return earliest, found
}

func setAgain(before *Taint, now *corev1.Taint) bool {
	return before.Key == now.Key && before.TimeAdded != nil && before.TimeAdded.Before(now.TimeAdded)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
