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

// A history is the slow, obvious reference of a Tracker. It only records what
// was observed, and derives each answer from all of it. Its rules are those of
// E1 to E3. It shares no code with the Tracker.
type history struct {
	nodes    map[string][]observation[*corev1.Node]
	pods     map[types.UID][]observation[*corev1.Pod]
	attempts map[types.UID][]attempt
	held     map[string]bool // by the name of a hold
	heldOn   map[string]heldNode
	holds    bool                                   // there was a hold
	evicted  map[string][]observation[bool]         // what was said of whole nodes
	awaited  map[string]time.Time                   // when it was said of one that is not known
	asked    map[types.UID][]observation[time.Time] // what was said of single pods; zero: taken back
	reported map[types.UID]ruling                   // by a dry run, and the same ever since
	ignored  map[string]bool                        // keys of taints that do not concern the tracker
	zones    map[string]string                      // of nodes, also of one that is gone and has pods
	budgets  []*slowBudget
	epoch    time.Time
	synced   bool
	count    int // of all that was written down
	waits    map[types.UID]int
	doubted  map[types.UID]int // when an accepted eviction was
}

// A ruling is a decision in short.
type ruling struct {
	why eviction.Reason
	due time.Time
}

// An observation is an object as it was observed. No object means that it was
// forgotten.
type observation[T any] struct {
	object T
	at     time.Time
	synced bool
	count  int
	gone   bool
}

// An attempt is one that has ended.
type attempt struct {
	at      time.Time
	began   int // the count when it was handed out
	count   int
	outcome eviction.Outcome
	wait    time.Duration
	pod     *corev1.Pod // as the action has written it, or nil
}

// retried is the outcome of what is no attempt: Retry was called.
const retried eviction.Outcome = "Retried"

func newHistory() *history {
	return &history{
		held:     map[string]bool{},
		heldOn:   map[string]heldNode{},
		nodes:    map[string][]observation[*corev1.Node]{},
		pods:     map[types.UID][]observation[*corev1.Pod]{},
		attempts: map[types.UID][]attempt{},
		waits:    map[types.UID]int{},
		doubted:  map[types.UID]int{},
		evicted:  map[string][]observation[bool]{},
		awaited:  map[string]time.Time{},
		asked:    map[types.UID][]observation[time.Time]{},
		reported: map[types.UID]ruling{},
		zones:    map[string]string{},
	}
}

// askedAt returns when the caller wants a pod to leave, zero if it does not.
func (h *history) askedAt(uid types.UID) (due time.Time) {
	first := h.podStay(uid)[0].count
	for _, said := range h.asked[uid] {
		if said.count > first {
			due = said.object
		}
	}
	return due
}

// evictedSince returns since when all pods have to leave a node, zero if they
// need not. It is the first request for this node since the last cancellation.
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

// shares returns the shares of the budgets that a step needs tokens of.
func (h *history) shares(s step) (out []*slowShare) {
	observations := h.podStay(s.uid)
	pod := observations[len(observations)-1].object
	for _, budget := range h.budgets {
		key := ""
		switch budget.name {
		case "team":
			key = pod.Labels["team"]
		case "zone":
			key = h.zones[pod.Spec.NodeName]
		}
		out = append(out, budget.share(key, h.epoch))
	}
	return out
}

// has reports whether there are that many tokens for a step.
func (h *history) has(s step, now time.Time, tokens float64) bool {
	return !slices.ContainsFunc(h.shares(s), func(share *slowShare) bool {
		return share.limit() == 0 || share.limit() != rate.Inf && share.tokens(now) < tokens
	})
}

// failures returns how many attempts on a pod have failed.
func (h *history) failures(uid types.UID) (n int) {
	for _, a := range h.ended(uid) {
		if a.outcome == eviction.OutcomeFailed {
			n++
		}
	}
	return n
}

func writeDown[K comparable, T any](h *history, in map[K][]observation[T], key K, object T,
	now time.Time, gone bool) {
	h.count++
	in[key] = append(in[key], observation[T]{object, now, h.synced, h.count, gone})
}

// stay is the observations of one object since it was last seen for the first
// time.
func stay[T any](observations []observation[T], same func(a, b T) bool) []observation[T] {
	if len(observations) == 0 || observations[len(observations)-1].gone {
		return nil
	}
	first := len(observations) - 1
	for first > 0 && !observations[first-1].gone && same(observations[first-1].object,
		observations[first].object) {
		first--
	}
	return observations[first:]
}

func (h *history) nodeStay(name string) []observation[*corev1.Node] {
	return stay(h.nodes[name], func(a, b *corev1.Node) bool { return a.UID == b.UID })
}

func (h *history) podStay(uid types.UID) []observation[*corev1.Pod] {
	return stay(h.pods[uid], func(a, b *corev1.Pod) bool { return a.Spec.NodeName == b.Spec.NodeName })
}

// known returns the UIDs of the pods that are known.
func (h *history) known() []types.UID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.pods)),
		func(uid types.UID) bool { return h.podStay(uid) == nil })
}

// sizes returns how many nodes and pods a tracker should know of: a node also
// as long as a pod on it is known.
func (h *history) sizes() (nodes, pods int) {
	names := map[string]bool{}
	for name := range h.nodes {
		if h.nodeStay(name) != nil {
			names[name] = true
		}
	}
	known := h.known()
	for _, uid := range known {
		observations := h.podStay(uid)
		names[observations[0].object.Spec.NodeName] = true
	}
	return len(names), len(known)
}

// dropZones forgets the zones of nodes that are not known any more.
func (h *history) dropZones() {
	maps.DeleteFunc(h.zones, func(name, _ string) bool {
		return h.nodeStay(name) == nil && !slices.ContainsFunc(h.known(), func(uid types.UID) bool {
			return h.podStay(uid)[0].object.Spec.NodeName == name
		})
	})
}

// E2: when something began, in seconds and their fractions.
func beganAt(stored *metav1.Time, seen time.Time, appeared bool) time.Time {
	if stored == nil || stored.Time.IsZero() {
		return seen
	}
	began := stored.Time.Add(time.Second)
	if tenAgo := seen.Add(-10 * time.Second); appeared && began.Before(tenAgo) {
		began = tenAgo
	}
	if began.After(seen) {
		return seen
	}
	return began
}

// A spell is a taint of a node with its last sight and start.
type spell struct {
	taint       corev1.Taint
	seen, start time.Time
}

// spells returns the NoExecute taints of a node, from all its observations.
func (h *history) spells(name string) []spell {
	family := func(key string) string {
		if key == notReady {
			return unreachable
		}
		return key
	}
	var before []spell
	for i, observed := range h.nodeStay(name) {
		var now []spell
		for _, taint := range observed.object.Spec.Taints {
			if taint.Effect != corev1.TaintEffectNoExecute || h.ignored[taint.Key] {
				continue
			}
			next := spell{taint, observed.at, beganAt(taint.TimeAdded, observed.at, i > 0 ||
				observed.synced)}
			goesOn := false
			for _, old := range before {
				if family(old.taint.Key) != family(taint.Key) || old.taint.Key == taint.Key &&
					isAnother(old, taint) {
					continue
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

// isAnother: its TimeAdded shows that it was set after the old one.
func isAnother(old spell, taint corev1.Taint) bool {
	stored := func(t *metav1.Time, missing time.Time) time.Time {
		if t == nil || t.Time.IsZero() {
			return missing
		}
		return t.Time
	}
	was := stored(old.taint.TimeAdded, old.start)
	return stored(taint.TimeAdded, was).After(was)
}

// deadline is E1, whatever is held.
func (h *history) deadline(uid types.UID) (why eviction.Reason, due time.Time) {
	return h.deadlineWithout(uid, false, func(string) bool { return false })
}

// unheld is the deadline that is not held, E14.
func (h *history) unheld(uid types.UID) (why eviction.Reason, due time.Time) {
	node := h.podStay(uid)[0].object.Spec.NodeName
	if h.isHeld(node, "all") {
		return "", due
	}
	return h.deadlineWithout(uid, h.isHeld(node, "requests"), func(key string) bool {
		return h.isHeld(node, "a") && key == "a" ||
			h.isHeld(node, "ours") && (key == notReady || key == unreachable)
	})
}

// deadlineWithout is the deadline without requests, and without the taints of
// some keys.
func (h *history) deadlineWithout(
	uid types.UID, withoutRequests bool, without func(key string) bool,
) (why eviction.Reason, due time.Time) {
	observations := h.podStay(uid)
	pod, first := observations[len(observations)-1].object, observations[0]
	if h.isGone(uid) {
		return eviction.ReasonGone, due
	}
	if pod.Labels["exempt"] == "yes" {
		return eviction.ReasonExempt, due
	}
	arrived := first.at
	for _, condition := range first.object.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			arrived = beganAt(&condition.LastTransitionTime, first.at, first.synced)
		}
	}
	why = eviction.ReasonNoTaints
	for _, s := range h.spells(pod.Spec.NodeName) {
		if without(s.taint.Key) {
			continue
		}
		if why == eviction.ReasonNoTaints {
			why = eviction.ReasonTolerated
		}
		reason, end := eviction.ReasonUntolerated, latest(s.start, arrived)
		if i := slices.IndexFunc(pod.Spec.Tolerations,
			func(t corev1.Toleration) bool { return matches(t, s.taint) }); i >= 0 {
			seconds := pod.Spec.Tolerations[i].TolerationSeconds
			if seconds == nil {
				continue
			}
			reason = eviction.ReasonTolerationEnds
			if *seconds > 0 {
				end = end.Add(time.Duration(*seconds) * time.Second)
			}
		}
		if why == eviction.ReasonTolerated || end.Before(due) {
			why, due = reason, end
		}
	}
	if withoutRequests {
		return why, due
	}
	since := h.evictedSince(pod.Spec.NodeName)
	if !since.IsZero() && !(len(pod.OwnerReferences) > 0 &&
		pod.OwnerReferences[0].Kind == "DaemonSet") {
		if end := latest(since, arrived); !leaves(why) || end.Before(due) {
			why, due = eviction.ReasonNodeEvicted, end
		}
	}
	if asked := h.askedAt(uid); !asked.IsZero() && (!leaves(why) || asked.Before(due)) {
		why, due = eviction.ReasonRequested, asked
	}
	return why, due
}

func leaves(why eviction.Reason) bool {
	return slices.Contains([]eviction.Reason{
		eviction.ReasonUntolerated, eviction.ReasonTolerationEnds, eviction.ReasonNodeEvicted,
		eviction.ReasonRequested,
	}, why)
}

func matches(toleration corev1.Toleration, taint corev1.Taint) bool {
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	return toleration.Operator == corev1.TolerationOpExists || toleration.Value == taint.Value
}

// isGone reports whether a pod is terminating, or its eviction was accepted and
// it has yet to be observed.
func (h *history) isGone(uid types.UID) bool {
	observations := h.podStay(uid)
	if observations[len(observations)-1].object.DeletionTimestamp != nil {
		return true
	}
	_, accepted := h.acceptedAt(uid)
	return accepted
}

// acceptedAt returns when the eviction of a pod was accepted, if the pod was not
// observed to be terminating then or since, and was not doubted.
func (h *history) acceptedAt(uid types.UID) (at time.Time, ok bool) {
	count := 0
	for _, a := range h.ended(uid) {
		if isAccepted(a) {
			at, count = a.at, a.count
		}
	}
	if count <= h.doubted[uid] {
		return at, false
	}
	stay := h.podStay(uid)
	for i, observed := range stay {
		isNewest := observed.count < count && (i+1 == len(stay) || stay[i+1].count > count)
		if observed.object.DeletionTimestamp != nil && (isNewest || observed.count > count) {
			return at, false
		}
	}
	return at, true
}

func isAccepted(a attempt) bool {
	return a.outcome == eviction.OutcomeEvicted || a.outcome == eviction.OutcomeGone
}

// doubt doubts all evictions that were accepted a longest wait ago.
func (h *history) doubt(now time.Time) (doubted int) {
	for _, uid := range h.known() {
		if at, ok := h.acceptedAt(uid); ok && !at.Add(longestWait).After(now) {
			h.count++
			h.doubted[uid] = h.count
			doubted++
		}
	}
	return doubted
}

// ended returns the attempts on a pod that have ended since it was first seen.
func (h *history) ended(uid types.UID) []attempt {
	first := h.podStay(uid)[0].count
	return slices.DeleteFunc(slices.Clone(h.attempts[uid]),
		func(a attempt) bool { return a.count < first })
}

// isMarked reports whether a pod carries the condition, as observed last or as
// written since.
func (h *history) isMarked(uid types.UID) bool {
	observations := h.podStay(uid)
	last := observations[len(observations)-1]
	is := isDisrupted(last.object)
	for _, a := range h.ended(uid) {
		switch {
		case a.began < last.count: // what was observed is newer
		case a.pod != nil && a.pod.UID == last.object.UID:
			is = isDisrupted(a.pod)
		}
	}
	return is
}

func isDisrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// A step is a pod that is to be evicted, and when.
type step struct {
	uid    types.UID
	at     time.Time
	why    eviction.Reason
	due    time.Time
	marked bool
	rank   int32
	since  int // which entry in the history has given it its deadline
}

// step returns when a pod is to be evicted, by what is not held.
func (h *history) step(uid types.UID) (s step, ok bool) {
	why, due := h.unheld(uid)
	if _, reported := h.reported[uid]; !leaves(why) || reported {
		return s, false
	}
	s = step{uid: uid, why: why, due: due, marked: h.isMarked(uid), since: h.waits[uid]}
	observations := h.podStay(uid)
	if pod := observations[len(observations)-1].object; pod.Spec.Priority != nil {
		s.rank = *pod.Spec.Priority
	}
	s.at = latest(due, h.notBefore(uid))
	return s, true
}

// stepAt returns what is to be done about a pod at a time.
func (h *history) stepAt(uid types.UID, now time.Time) (step, bool) {
	s, ok := h.step(uid)
	return s, ok && !s.at.After(now)
}

// The waits of the random tests: each is as long, and no answer makes one
// longer.
const (
	retryWait   = 2 * time.Second
	longestWait = 2 * time.Second
)

// notBefore returns when a pod may be evicted at the earliest after what was
// attempted before.
func (h *history) notBefore(uid types.UID) (at time.Time) {
	for _, a := range h.ended(uid) {
		wait := min(a.wait, longestWait)
		if wait <= 0 {
			wait = retryWait
		}
		switch {
		case a.outcome == retried, isAccepted(a):
			at = time.Time{}
		case a.outcome == eviction.OutcomeNotDue:
			at = a.at.Add(min(max(a.wait, time.Second), longestWait))
		case a.outcome == eviction.OutcomeFailed, a.outcome == eviction.OutcomeBlocked:
			at = a.at.Add(wait)
		}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
