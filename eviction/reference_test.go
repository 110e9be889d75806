package eviction_test

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// A history is the slow, obvious reference of a Tracker: it only writes down what
// was observed, and works everything out from the whole of that each time that it
// is asked. Its rules are those of E1 to E3; it shares no code with the Tracker.
type history struct {
	nodes    map[string][]look[*corev1.Node]
	pods     map[types.UID][]look[*corev1.Pod]
	attempts map[types.UID][]attempt
	held     map[string]bool         // by key
	evicted  map[string][]look[bool] // what was said of whole nodes
	budgets  []*naiveBudget
	epoch    time.Time
	synced   bool
	count    int // of all that was written down
	waits    map[types.UID]int
}

// A look is an object as it was observed. No object means that it was forgotten.
type look[T any] struct {
	object T
	at     time.Time
	synced bool
	count  int
	gone   bool
}

// An attempt is one that has ended.
type attempt struct {
	at      time.Time
	count   int
	outcome eviction.Outcome
	wait    time.Duration
}

func newHistory() *history {
	return &history{
		nodes:    map[string][]look[*corev1.Node]{},
		pods:     map[types.UID][]look[*corev1.Pod]{},
		attempts: map[types.UID][]attempt{},
		waits:    map[types.UID]int{},
		evicted:  map[string][]look[bool]{},
	}
}

// evictedSince returns since when all pods have to leave a node, zero if they need not:
// from the first time that it was said of this node after it was last taken back.
func (h *history) evictedSince(name string) (since time.Time) {
	node := h.nodeStay(name)
	if node == nil {
		return since
	}
	for _, said := range h.evicted[name] {
		switch {
		case said.count < node[0].count:
		case !said.object:
			since = time.Time{}
		case since.IsZero():
			since = said.at
		}
	}
	return since
}

// shares returns the shares of the budgets that a pod needs tokens of.
func (h *history) shares(uid types.UID) (out []*naiveShare) {
	looks := h.podStay(uid)
	pod := looks[len(looks)-1].object
	for _, budget := range h.budgets {
		key := ""
		switch budget.name {
		case "team":
			key = pod.Labels["team"]
		case "zone":
			if node := h.nodeStay(pod.Spec.NodeName); node != nil {
				key = node[len(node)-1].object.Labels["zone"]
			}
		}
		out = append(out, budget.share(key, h.epoch))
	}
	return out
}

// has reports whether there are that many tokens for a step.
func (h *history) has(s step, now time.Time, tokens float64) bool {
	return s.unmark || !slices.ContainsFunc(h.shares(s.uid), func(share *naiveShare) bool {
		return share.limit() == 0 || share.limit() != rate.Inf && share.tokens(now) < tokens
	})
}

// failures returns how many attempts on a pod have failed.
func (h *history) failures(uid types.UID) (n int) {
	for _, attempt := range h.ended(uid) {
		if attempt.outcome == eviction.Failed {
			n++
		}
	}
	return n
}

func writeDown[K comparable, T any](h *history, in map[K][]look[T], key K, object T, now time.Time, gone bool) {
	h.count++
	in[key] = append(in[key], look[T]{object, now, h.synced, h.count, gone})
}

// stay is the looks at one object since it was last seen for the first time.
func stay[T any](looks []look[T], same func(a, b T) bool) []look[T] {
	if len(looks) == 0 || looks[len(looks)-1].gone {
		return nil
	}
	first := len(looks) - 1
	for first > 0 && !looks[first-1].gone && same(looks[first-1].object, looks[first].object) {
		first--
	}
	return looks[first:]
}

func (h *history) nodeStay(name string) []look[*corev1.Node] {
	return stay(h.nodes[name], func(a, b *corev1.Node) bool { return a.UID == b.UID })
}

func (h *history) podStay(uid types.UID) []look[*corev1.Pod] {
	return stay(h.pods[uid], func(a, b *corev1.Pod) bool { return a.Spec.NodeName == b.Spec.NodeName })
}

// known returns the UIDs of the pods that are known.
func (h *history) known() []types.UID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.pods)), func(uid types.UID) bool { return h.podStay(uid) == nil })
}

// sizes returns how many nodes and pods a tracker should know of: a node also as
// long as a pod on it is known.
func (h *history) sizes() (nodes, pods int) {
	names := map[string]bool{}
	for name := range h.nodes {
		if h.nodeStay(name) != nil {
			names[name] = true
		}
	}
	known := h.known()
	for _, uid := range known {
		looks := h.podStay(uid)
		names[looks[0].object.Spec.NodeName] = true
	}
	return len(names), len(known)
}

// E2: when something began, in seconds and their fractions.
func beganAt(stored *metav1.Time, seen time.Time, appeared bool) time.Time {
	if stored == nil || stored.Time.IsZero() {
		return seen
	}
	ago := seen.Sub(stored.Time)
	trusted := ago >= 0
	if appeared {
		trusted = trusted && ago <= 10*time.Second
	}
	if !trusted {
		return seen
	}
	return stored.Time.Add(time.Second)
}

// A spell is a taint of a node with its first sight and start.
type spell struct {
	taint       corev1.Taint
	seen, start time.Time
}

// spells returns the NoExecute taints of a node, which goes through all looks.
func (h *history) spells(name string) []spell {
	family := func(key string) string {
		if key == notReady {
			return unreachable
		}
		return key
	}
	var before []spell
	for i, look := range h.nodeStay(name) {
		var now []spell
		for _, taint := range look.object.Spec.Taints {
			if taint.Effect != corev1.TaintEffectNoExecute {
				continue
			}
			next := spell{taint, look.at, beganAt(taint.TimeAdded, look.at, i > 0 || look.synced)}
			goesOn := false
			for _, old := range before {
				if family(old.taint.Key) != family(taint.Key) || old.taint.Key == taint.Key && isAnother(old, taint) {
					continue
				}
				if old.taint.Key == taint.Key {
					next.seen = old.seen
				}
				if !goesOn || old.start.Before(next.start) {
					next.start = old.start
				}
				goesOn = true
			}
			now = append(now, next)
		}
		for i := range now {
			for _, other := range now {
				if family(other.taint.Key) == family(now[i].taint.Key) && other.start.Before(now[i].start) {
					now[i].start = other.start
				}
			}
		}
		before = now
	}
	return before
}

// isAnother: its TimeAdded shows that it was set after we saw the old one.
func isAnother(old spell, taint corev1.Taint) bool {
	stored := func(t *metav1.Time, missing time.Time) time.Time {
		if t == nil || t.Time.IsZero() {
			return missing
		}
		return t.Time
	}
	was := stored(old.taint.TimeAdded, old.seen)
	return stored(taint.TimeAdded, was).After(was)
}

// deadline is E1.
func (h *history) deadline(uid types.UID) (why eviction.Reason, due time.Time) {
	looks := h.podStay(uid)
	pod, first := looks[len(looks)-1].object, looks[0]
	if h.isGone(uid) {
		return eviction.Gone, due
	}
	if pod.Labels["exempt"] == "yes" {
		return eviction.Exempt, due
	}
	arrived := first.at
	for _, condition := range first.object.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			arrived = beganAt(&condition.LastTransitionTime, first.at, first.synced)
		}
	}
	why = eviction.NoTaints
	for _, s := range h.spells(pod.Spec.NodeName) {
		if h.held[s.taint.Key] {
			continue
		}
		if why == eviction.NoTaints {
			why = eviction.Tolerated
		}
		seen, start := latest(s.seen, first.at), latest(s.start, arrived)
		reason, end := eviction.Untolerated, seen
		if i := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return matches(t, s.taint) }); i >= 0 {
			seconds := pod.Spec.Tolerations[i].TolerationSeconds
			switch {
			case seconds == nil:
				continue
			case *seconds > 0:
				reason, end = eviction.TolerationEnds, start.Add(time.Duration(*seconds)*time.Second)
			case start.Before(seen):
				reason, end = eviction.TolerationEnds, start
			default:
				reason = eviction.TolerationEnds
			}
		}
		if why == eviction.Tolerated || end.Before(due) {
			why, due = reason, end
		}
	}
	since := h.evictedSince(pod.Spec.NodeName)
	if since.IsZero() || len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "DaemonSet" {
		return why, due
	}
	if end := latest(since, first.at); !leaves(why) || end.Before(due) {
		return eviction.NodeEvicted, end
	}
	return why, due
}

func leaves(why eviction.Reason) bool {
	return why == eviction.Untolerated || why == eviction.TolerationEnds || why == eviction.NodeEvicted
}

func matches(toleration corev1.Toleration, taint corev1.Taint) bool {
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	return toleration.Operator == corev1.TolerationOpExists || toleration.Value == taint.Value
}

func (h *history) isGone(uid types.UID) bool {
	for _, look := range h.podStay(uid) {
		if look.object.DeletionTimestamp != nil {
			return true
		}
	}
	for _, attempt := range h.ended(uid) {
		if attempt.outcome == eviction.Evicted || attempt.outcome == eviction.AlreadyGone {
			return true
		}
	}
	return false
}

// ended returns the attempts on a pod that have ended since it was first seen.
func (h *history) ended(uid types.UID) []attempt {
	first := h.podStay(uid)[0].count
	return slices.DeleteFunc(slices.Clone(h.attempts[uid]), func(a attempt) bool { return a.count < first })
}

func (h *history) isMarked(uid types.UID) bool {
	looks := h.podStay(uid)
	last := looks[len(looks)-1]
	for _, attempt := range h.ended(uid) {
		if attempt.outcome == eviction.Unmarked && attempt.count > last.count {
			return false
		}
	}
	for _, condition := range last.object.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget {
			return condition.Status == corev1.ConditionTrue && (condition.Reason == "DeletionByTaintManager" || condition.Reason == "DeletionByNodeLifecycle")
		}
	}
	return false
}

// A step is what has to be done about a pod next, and when.
type step struct {
	uid    types.UID
	at     time.Time
	unmark bool
	why    eviction.Reason
	due    time.Time
	marked bool
	rank   int32
	since  int // which entry in the history has made it wait
}

func (h *history) step(uid types.UID, now time.Time) (step, bool) {
	why, due := h.deadline(uid)
	s := step{uid: uid, at: due, why: why, due: due, marked: h.isMarked(uid), since: h.waits[uid]}
	looks := h.podStay(uid)
	if pod := looks[len(looks)-1].object; pod.Spec.Priority != nil {
		s.rank = *pod.Spec.Priority
	}
	if s.marked && why != eviction.Gone && (!leaves(why) || due.After(now)) {
		s.unmark, s.at = true, time.Time{}
	} else if !leaves(why) {
		return step{}, false
	}
	if ended := h.ended(uid); len(ended) > 0 {
		s.at = latest(s.at, retryOf(ended[len(ended)-1]))
	}
	return s, true
}

// retryOf is when another attempt may follow this one.
func retryOf(a attempt) time.Time {
	switch a.outcome {
	case eviction.Evicted, eviction.AlreadyGone, eviction.Unmarked:
		return time.Time{}
	case eviction.NotDue:
		return a.at.Add(max(a.wait, time.Second))
	}
	if a.wait > 0 {
		return a.at.Add(a.wait)
	}
	return a.at.Add(2 * time.Second)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
