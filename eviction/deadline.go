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
	// TolerationEnds: the pod tolerates a taint only for some time.
	TolerationEnds Reason = "TolerationEnds"
	// NodeEvicted: all pods have to leave the node; see [Tracker.EvictNode]. It leaves
	// now.
	NodeEvicted Reason = "NodeEvicted"
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
	// Taint is the one that decides. It is empty when none does.
	Taint Taint
	// Toleration is the one that ends, and nil unless Reason is TolerationEnds.
	Toleration *corev1.Toleration
}

// Leaves reports whether the pod must leave at some time.
func (v Verdict) Leaves() bool { return v.Reason.leaves() }

func (r Reason) leaves() bool { return r.taint() || r == NodeEvicted }

// taint reports whether it is a taint that makes the pod leave.
func (r Reason) taint() bool { return r == Untolerated || r == TolerationEnds }

// DueAt reports whether the pod must have left at that time.
func (v Verdict) DueAt(now time.Time) bool { return v.Leaves() && !v.Due.After(now) }

// Decide returns when a pod must leave a node with these NoExecute taints.
//
// For a taint that the pod does not tolerate it leaves as soon as both have been
// seen. Any other taint gives it the seconds of the toleration that matches it,
// counted from the taint's start or the pod's arrival, whichever is later. The
// earliest of these times counts: another taint never gives a pod more time. A
// toleration without seconds lasts for ever; one of zero or fewer seconds has
// ended at its start. Of several tolerations that match a taint the first counts,
// as upstream.
func Decide(on []Taint, pod Pod, matcher taints.Matcher) Verdict {
	return decide(on, &pod, matcher).verdict(on)
}

// A ruling is a Verdict in few words. A verdict has a copy of its taint, which is
// most of it, and a tracker that places the pods of a node has no use for that.
type ruling struct {
	reason     Reason
	due        time.Time
	by         int // index of the taint
	toleration *corev1.Toleration
}

func (r ruling) leaves() bool { return r.reason.leaves() }

func (r ruling) dueAt(now time.Time) bool { return r.leaves() && !r.due.After(now) }

// verdict writes the ruling out, given the taints that it was made from.
func (r ruling) verdict(on []Taint) Verdict {
	v := Verdict{Reason: r.reason, Due: r.due, Toleration: r.toleration}
	if r.reason.taint() {
		v.Taint = on[r.by]
	}
	return v
}

func decide(on []Taint, pod *Pod, matcher taints.Matcher) ruling {
	if len(on) == 0 {
		return ruling{reason: NoTaints}
	}
	earliest := ruling{reason: Tolerated}
	for i := range on {
		taint := &on[i]
		toleration := matcher.First(pod.Tolerations, &taint.Taint)
		reason, due := Untolerated, later(taint.Seen, pod.Seen)
		if toleration != nil {
			if toleration.TolerationSeconds == nil {
				continue
			}
			reason, due = TolerationEnds, end(later(taint.Start, pod.Arrived), due, *toleration.TolerationSeconds)
		}
		if earliest.leaves() && !due.Before(earliest.due) {
			continue
		}
		earliest = ruling{reason, due, i, toleration}
	}
	return earliest
}

// decideOn is decide for a node that may be evicted as a whole, since a time that is
// not zero then.
func decideOn(on []Taint, evicted time.Time, pod *Pod, matcher taints.Matcher) ruling {
	r := decide(on, pod, matcher)
	if evicted.IsZero() {
		return r
	}
	if due := later(evicted, pod.Seen); !r.leaves() || due.Before(r.due) {
		return ruling{reason: NodeEvicted, due: due}
	}
	return r
}

// end returns when a toleration of so many seconds ends. One that grants no time
// at all ends when it is seen, not up to a second later for the rounding of start.
// It ends at start if that is before, so that no longer toleration ends earlier.
func end(start, seen time.Time, seconds int64) time.Time {
	if seconds <= 0 {
		return earlier(start, seen)
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
// starts, given those that it had when it was seen before. Appeared says that
// taints which it did not have then came while we looked; see [Began].
//
// A taint that was there keeps its start, unless its TimeAdded says that it was
// taken away and set again while we did not look. Taints of one lineage (see
// taints.SameLineage) have one start: the earliest of those that are there and
// those that were.
func noExecute(node *corev1.Node, before []Taint, appeared bool, now time.Time) []Taint {
	var after []Taint
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		next := Taint{Taint: *taint, Seen: now, Start: Began(taint.TimeAdded, now, appeared)}
		next.carryOn(before)
		after = append(after, next)
	}
	for i := range after {
		for j := range i {
			if taints.SameLineage(&after[i].Taint, &after[j].Taint) {
				start := earlier(after[i].Start, after[j].Start)
				after[i].Start, after[j].Start = start, start
			}
		}
	}
	return after
}

// carryOn takes over what was known of a taint, and of others of its lineage,
// when the node was seen before. When those others were seen does not count: what
// a pod does not tolerate is this taint.
func (t *Taint) carryOn(before []Taint) {
	carried := false
	for i := range before {
		b := &before[i]
		if !taints.SameLineage(&b.Taint, &t.Taint) || setAgain(b, t) {
			continue
		}
		if b.Key == t.Key {
			t.Seen = b.Seen
		}
		if !carried || b.Start.Before(t.Start) {
			t.Start, carried = b.Start, true
		}
	}
}

// setAgain reports whether a taint is another one than the one with its key that
// was there before: its TimeAdded is later than that one's or, if that one had
// none, than our first sight of it.
func setAgain(before, now *Taint) bool {
	if before.Key != now.Key || now.TimeAdded.IsZero() {
		return false
	}
	if before.TimeAdded.IsZero() {
		return now.TimeAdded.After(before.Seen)
	}
	return before.TimeAdded.Before(now.TimeAdded)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
