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
	// Start is the time from which the taint counts; see [StartTime].
	Start time.Time
}

// A Pod is the part of a pod on a node that [Decide] needs.
type Pod struct {
	Tolerations []corev1.Toleration
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
func (d Decision) Leaves() bool {
	return d.byTaint() || d.Reason == ReasonNodeEvicted || d.Reason == ReasonRequested
}

// byTaint reports whether the pod leaves because of a taint.
func (d Decision) byTaint() bool {
	return d.Reason == ReasonUntolerated || d.Reason == ReasonTolerationEnds
}

// DueAt reports whether the pod must have left at that time.
func (d Decision) DueAt(now time.Time) bool { return d.Leaves() && !d.Due.After(now) }

// Decide returns when a pod must leave a node with these NoExecute taints.
//
// A taint counts from its start or the pod's arrival, whichever is later. An
// untolerated taint evicts the pod then. Any other taint grants the seconds of
// its matching toleration from then on. The earliest of these times counts, so
// another taint never grants a pod more time. A toleration without seconds
// lasts for ever; with zero or negative seconds it grants nothing. If several
// tolerations match a taint, the first counts, as in kube-controller-manager.
func Decide(on []Taint, pod Pod, matcher taints.Matcher) Decision {
	var r ruling
	r.decide(on, requests{}, &pod, matcher)
	return r.decision()
}

// A ruling is a Decision without a copy of its taint, which a tracker does not
// need to place the pods of a node.
type ruling struct {
	reason     Reason
	due        time.Time
	taint      *Taint // this and request are nil unless they make it leave
	toleration *corev1.Toleration
	request    *request
}

func (r *ruling) leaves() bool { return r.taint != nil || r.request != nil }

func (r *ruling) dueAt(now time.Time) bool { return r.leaves() && !r.due.After(now) }

func (r *ruling) decision() Decision {
	d := Decision{Reason: r.reason, Due: r.due, Toleration: r.toleration}
	if r.request != nil {
		d.Request = r.request.reason
	}
	if r.taint != nil {
		d.Taint = *r.taint
	}
	return d
}

// decide makes it the ruling about a pod on a node with these taints, which may
// also be asked to leave. It is a method because a copy of the result for each
// function that hands it on takes longer than the decision.
func (r *ruling) decide(on []Taint, by requests, pod *Pod, matcher taints.Matcher) {
	r.reason = ReasonNoTaints
	if len(on) > 0 {
		r.reason = ReasonTolerated
	}
	for i := range on {
		taint := &on[i]
		toleration := matcher.First(pod.Tolerations, &taint.Taint)
		reason, due := ReasonUntolerated, later(taint.Start, pod.Arrived)
		if toleration != nil {
			if toleration.TolerationSeconds == nil {
				continue
			}
			reason, due = ReasonTolerationEnds, due.Add(granted(*toleration.TolerationSeconds))
		}
		if r.comesAfter(due) {
			*r = ruling{reason: reason, due: due, taint: taint, toleration: toleration}
		}
	}
	if by.node != nil {
		if due := later(by.node.due, pod.Arrived); r.comesAfter(due) {
			*r = ruling{reason: ReasonNodeEvicted, due: due, request: by.node}
		}
	}
	if by.pod != nil && r.comesAfter(by.pod.due) {
		*r = ruling{reason: ReasonRequested, due: by.pod.due, request: by.pod}
	}
}

// comesAfter reports whether what is due at a time counts instead.
func (r *ruling) comesAfter(due time.Time) bool { return !r.leaves() || due.Before(r.due) }

// A request is a caller's wish that pods leave. It is replaced, never changed:
// tasks refer to it.
type request struct {
	due    time.Time
	reason string
	while  func(*corev1.Node) bool // of a node; nil for always
}

// holdsFor reports whether a request about a node, nil for none, still holds for
// the node as it was just read.
func (r *request) holdsFor(node *corev1.Node) bool {
	return r != nil && (r.while == nil || r.while(node))
}

// requests are the wishes that concern a pod; nil for none.
type requests struct {
	node *request // that all pods of its node leave
	pod  *request // that it leaves
}

// granted returns for how long a pod may stay by a toleration of the given
// seconds.
func granted(seconds int64) time.Duration {
	return time.Duration(min(max(seconds, 0), longestToleration)) * time.Second
}

// longestToleration is a hundred years, so that sums of times cannot overflow.
const longestToleration = 100 * 365 * 24 * 60 * 60

// StartTime returns the time from which a change counts that is first seen now,
// and whose time another client has stored. A taint has it in TimeAdded, a
// pod's binding in the transition of PodScheduled. Appeared says that the caller
// has seen the change happen: what changed was observed before without it.
//
// The stored time counts, and one second is added, because it is stored in
// whole seconds. So a deadline is never early, and at most two seconds late
// after a restart. The change counts from seen if it has no stored time, or one
// that is later. If it has appeared, it counts from ten seconds before seen at
// the earliest, because the clock of its writer must be slow then, or the watch
// was interrupted.
//
// The result has the monotonic reading of seen. So it is compared with the time
// of day once, and setting the clock later does not move it.
func StartTime(stored *metav1.Time, seen time.Time, appeared bool) time.Time {
	if stored.IsZero() {
		return seen
	}
	since := min(stored.Sub(seen), -time.Second) + time.Second // never later than seen
	if appeared {
		since = max(since, -trustedDelay)
	}
	return seen.Add(since)
}

// trustedDelay is the time that a change may take to be observed. An older
// stored time of what has appeared is attributed to a slow clock.
const trustedDelay = 10 * time.Second

// boundAt returns when a pod was bound to its node, nil if it does not say.
func boundAt(pod *corev1.Pod) *metav1.Time {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// noExecute returns the NoExecute taints of a node that is observed now and
// that concern the tracker, with their starts. before are its taints at the last
// observation. Appeared says that there was one.
//
// A known taint keeps its start, unless its TimeAdded shows that it was removed
// and set again between two observations. Taints of one lineage have one start:
// the earliest among the present and the former ones.
func (c *Config) noExecute(
	node *corev1.Node, before []Taint, now time.Time, appeared bool,
) []Taint {
	var after []Taint
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute || c.Concerns != nil && !c.Concerns(taint) {
			continue
		}
		next := Taint{Taint: *taint, Start: StartTime(taint.TimeAdded, now, appeared)}
		next.carryOn(before, c.Lineage)
		after = append(after, next)
	}
	for i := range after {
		for j := range i {
			if c.Lineage(&after[i].Taint, &after[j].Taint) {
				start := earlier(after[i].Start, after[j].Start)
				after[i].Start, after[j].Start = start, start
			}
		}
	}
	return after
}

// carryOn copies the earliest start of the former taints of the same lineage.
func (t *Taint) carryOn(before []Taint, lineage taints.Lineage) {
	carried := false
	for i := range before {
		b := &before[i]
		if !lineage(&b.Taint, &t.Taint) || setAgain(b, t) {
			continue
		}
		if !carried || b.Start.Before(t.Start) {
			t.Start, carried = b.Start, true
		}
	}
}

// setAgain reports whether a taint was removed and set again. Its TimeAdded is
// later than the former one or, if that had none, than its start.
func setAgain(before, now *Taint) bool {
	if before.Key != now.Key || now.TimeAdded.IsZero() {
		return false
	}
	if before.TimeAdded.IsZero() {
		return now.TimeAdded.After(before.Start)
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
