package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

// A Taint is a NoExecute taint of a node, with the times that count.
type Taint struct {
	corev1.Taint
	// Seen is when the taint was first observed.
	Seen time.Time
	// Start is the time from which the taint counts; see [StartTime].
	Start time.Time

	origin origin // of Start
}

// A Pod is the part of a pod on a node that [Decide] needs.
type Pod struct {
	Tolerations []corev1.Toleration
	// Seen is when the pod was first observed on its node.
	Seen time.Time
	// Arrived is the time from which its stay on the node counts; see
	// [StartTime].
	Arrived time.Time
}

// Reason is the reason of a [Decision].
type Reason string

const (
	// ReasonNoTaints: the node has no NoExecute taint. The pod stays.
	ReasonNoTaints Reason = "NoTaints"
	// ReasonTolerated: the pod tolerates every taint without a time limit. It
	// stays.
	ReasonTolerated Reason = "Tolerated"
	// ReasonUntolerated: the pod does not tolerate one of the taints. It leaves
	// now.
	ReasonUntolerated Reason = "Untolerated"
	// ReasonTolerationEnds: the pod tolerates a taint only for some time.
	ReasonTolerationEnds Reason = "TolerationEnds"
	// ReasonNodeEvicted: all pods must leave the node; see [Tracker.EvictNode].
	// The pod leaves now.
	ReasonNodeEvicted Reason = "NodeEvicted"
	// ReasonRequested: the caller asked for it; see [Tracker.EvictPod].
	ReasonRequested Reason = "Requested"
	// ReasonExempt: Config.Exempt exempts the pod. It stays.
	ReasonExempt Reason = "Exempt"
	// ReasonGone: the pod is terminating, or the pod or its node does not exist
	// or is replaced. There is nothing to evict.
	ReasonGone Reason = "Gone"
)

// A Decision is the time at which a pod must leave its node, and the reason.
type Decision struct {
	Reason Reason
	// Due is when the pod must leave. It is the zero time when it may stay.
	Due time.Time
	// Taint is the taint that decides, or empty.
	Taint Taint
	// Toleration is the toleration that ends. It is nil unless Reason is
	// ReasonTolerationEnds.
	Toleration *corev1.Toleration
	// Request is the reason that the caller gave for evicting the pod or its
	// node. It is empty for other reasons.
	Request string
}

// Leaves reports whether the pod must leave at some time.
func (d Decision) Leaves() bool { return d.Reason.leaves() }

func (r Reason) leaves() bool {
	return r.taint() || r == ReasonNodeEvicted || r == ReasonRequested
}

// taint reports whether the pod leaves because of a taint.
func (r Reason) taint() bool { return r == ReasonUntolerated || r == ReasonTolerationEnds }

// DueAt reports whether the pod must have left at that time.
func (d Decision) DueAt(now time.Time) bool { return d.Leaves() && !d.Due.After(now) }

// Decide returns when a pod must leave a node with these NoExecute taints.
//
// An untolerated taint evicts the pod as soon as both have been seen. Any other
// taint grants the seconds of its matching toleration, counted from the taint's
// start or the pod's arrival, whichever is later. The earliest of these times
// counts, so another taint never grants a pod more time. A toleration without
// seconds lasts for ever; with zero or negative seconds it ends at once. If
// several tolerations match a taint, the first counts, as in
// kube-controller-manager.
func Decide(on []Taint, pod Pod, matcher taints.Matcher) Decision {
	return decide(on, &pod, matcher).decision(on)
}

// A ruling is a small Decision. It has an index instead of a copy of the taint,
// which a tracker does not need to place the pods of a node.
type ruling struct {
	reason     Reason
	due        time.Time
	by         int // index of the taint
	toleration *corev1.Toleration
	request    *request // nil unless it decides
}

func (r ruling) leaves() bool { return r.reason.leaves() }

func (r ruling) dueAt(now time.Time) bool { return r.leaves() && !r.due.After(now) }

// decision returns the full Decision, given the taints that the ruling is
// about.
func (r ruling) decision(on []Taint) Decision {
	d := Decision{Reason: r.reason, Due: r.due, Toleration: r.toleration}
	if r.request != nil {
		d.Request = r.request.reason
	}
	if r.reason.taint() {
		d.Taint = on[r.by]
	}
	return d
}

func decide(on []Taint, pod *Pod, matcher taints.Matcher) ruling {
	if len(on) == 0 {
		return ruling{reason: ReasonNoTaints}
	}
	earliest := ruling{reason: ReasonTolerated}
	for i := range on {
		taint := &on[i]
		toleration := matcher.First(pod.Tolerations, &taint.Taint)
		reason, due := ReasonUntolerated, later(taint.Seen, pod.Seen)
		if toleration != nil {
			if toleration.TolerationSeconds == nil {
				continue
			}
			start := later(taint.Start, pod.Arrived)
			reason, due = ReasonTolerationEnds, end(start, due, *toleration.TolerationSeconds)
		}
		if earliest.leaves() && !due.Before(earliest.due) {
			continue
		}
		earliest = ruling{reason: reason, due: due, by: i, toleration: toleration}
	}
	return earliest
}

// A request is a caller's wish that pods leave. It is replaced, never changed:
// tasks refer to it.
type request struct {
	due    time.Time
	reason string
}

// decideOn is decide for a pod that may also be asked to leave, alone or with
// all pods of its node.
func decideOn(on []Taint, node, alone *request, pod *Pod, matcher taints.Matcher) ruling {
	r := decide(on, pod, matcher)
	if node != nil {
		r = r.orRequest(ReasonNodeEvicted, later(node.due, pod.Seen), node)
	}
	if alone != nil {
		r = r.orRequest(ReasonRequested, alone.due, alone)
	}
	return r
}

func (r ruling) orRequest(reason Reason, due time.Time, request *request) ruling {
	if r.leaves() && !due.Before(r.due) {
		return r
	}
	return ruling{reason: reason, due: due, request: request}
}

// end returns when a toleration of the given seconds ends. With zero or
// negative seconds it ends when it is seen, because start is rounded up by a
// second. It ends at start if that is earlier, so that a longer toleration
// never ends before it.
func end(start, seen time.Time, seconds int64) time.Time {
	if seconds <= 0 {
		return earlier(start, seen)
	}
	return start.Add(time.Duration(min(seconds, longestToleration)) * time.Second)
}

// longestToleration is a hundred years, so that sums of times cannot overflow.
const longestToleration = 100 * 365 * 24 * 60 * 60

// StartTime returns the time from which a change counts whose time another
// client has stored. A taint has it in TimeAdded, a pod's binding in the
// transition of PodScheduled.
//
// seen is when the change was first observed. current is when the watch that
// showed it was current last: when it is never interrupted, that is seen. The
// zero time means that the change may have happened at any time, because it
// existed at the start.
//
// The stored time counts if it exists and is not after seen. One second is
// added, because it is stored in whole seconds. So a deadline is never early,
// and at most two seconds late after a restart. A stored time more than ten
// seconds before current is not trusted, because its writer's clock must be
// slow. In all other cases seen counts, which after a restart is the time of
// the restart.
//
// One error remains. A stored time of a slow clock makes the deadline early by
// the clock's error. If the watch was current, that is at most ten seconds. If
// it was interrupted, it is at most as long as that, and ten seconds. A change
// that existed at the start has no such bound.
func StartTime(stored *metav1.Time, seen, current time.Time) time.Time {
	s := sighting{now: seen, day: ofDay(seen), current: ofDay(current)}
	return s.origin(stored).start(0)
}

// arrival returns what the time from which a pod's stay on its node counts
// follows from.
func arrival(pod *corev1.Pod, s sighting) origin {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return s.origin(&c.LastTransitionTime)
		}
	}
	return origin{seen: s.now}
}

// noExecute returns the NoExecute taints of a node that is observed now and
// that concern the tracker (nil: all do), with their starts. before are its
// taints at the last observation, for a clock of the same shift.
//
// A known taint keeps its start, unless its TimeAdded shows that it was removed
// and set again between two observations. Taints of one lineage (see
// taints.Equivalent) have one start: the earliest among the present and the
// former ones.
func noExecute(
	node *corev1.Node, concerns func(*corev1.Taint) bool, before []Taint, s sighting,
) []Taint {
	var after []Taint
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute || concerns != nil && !concerns(taint) {
			continue
		}
		next := Taint{Taint: *taint, Seen: s.now, origin: s.origin(taint.TimeAdded)}
		next.Start = next.origin.start(s.shift)
		next.carryOn(before)
		after = append(after, next)
	}
	for i := range after {
		for j := range i {
			if taints.Equivalent(&after[i].Taint, &after[j].Taint) {
				after[i].share(&after[j])
			}
		}
	}
	return after
}

// effective returns the taints that are not suspended.
func effective(all []Taint, suspended func(*corev1.Taint) bool) []Taint {
	if suspended == nil {
		return all
	}
	var rest []Taint
	for i := range all {
		if !suspended(&all[i].Taint) {
			rest = append(rest, all[i])
		}
	}
	return rest
}

// carryOn copies the start of the former taints of the same lineage. It copies
// the time of the first observation only from the same taint, because an
// untolerated taint counts by itself.
func (t *Taint) carryOn(before []Taint) {
	carried := false
	for i := range before {
		b := &before[i]
		if !taints.Equivalent(&b.Taint, &t.Taint) || setAgain(b, t) {
			continue
		}
		if b.Key == t.Key {
			t.Seen = b.Seen
		}
		if !carried || b.Start.Before(t.Start) {
			t.Start, t.origin, carried = b.Start, b.origin, true
		}
	}
}

// share gives two taints of one lineage the earlier start.
func (t *Taint) share(other *Taint) {
	if other.Start.Before(t.Start) {
		t, other = other, t
	}
	other.Start, other.origin = t.Start, t.origin
}

// setAgain reports whether a taint was removed and set again. Its TimeAdded is
// later than the former one or, if that had none, than its first observation.
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

// equalTaints reports whether two observations of a node decide alike.
func equalTaints(a, b []Taint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if !x.MatchTaint(&y.Taint) || x.Value != y.Value ||
			!x.TimeAdded.Equal(y.TimeAdded) || !x.Start.Equal(y.Start) {
			return false
		}
	}
	return true
}
