package invariant

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// The waits between two replacements of failed pods on a node, those of
// kube-controller-manager v1.37. They double, and start over after twice the
// longest.
const (
	firstWait   = time.Second
	longestWait = 15 * time.Minute
)

// failing is a node whose pods fail. A wait begins again with another process,
// template or machine.
type failing struct {
	life    *Life
	set     types.UID
	machine types.UID
	// revisions is how often the template or the collision count has changed, as
	// far as that was known.
	revisions int
}

// replacements are those of a failing node.
type replacements struct {
	times int
	last  *Decision
}

// pace checks the waits between the deletions of failed pods.
func (j *judge) pace() {
	var deletions []*Change
	for _, change := range j.history.Changes {
		before, after := change.pods()
		if change.By != nil && before != nil && !leaving(before) && (after == nil || leaving(after)) {
			deletions = append(deletions, change)
		}
	}
	slices.SortStableFunc(deletions, func(a, b *Change) int { return int(a.By.Decision.Order) - int(b.By.Decision.Order) })
	known := map[failing]*replacements{}
	for _, change := range deletions {
		j.replacement(known, change)
	}
}

// replacement checks one deletion of a failed pod.
func (j *judge) replacement(known map[failing]*replacements, change *Change) {
	pod, _ := change.pods()
	d := change.By.Decision
	node := j.nodesKnown(d)[nodeOf(pod)]
	sets := j.setsKnown(d, controllerOf(pod))
	t := j.byName[identity{Pods, pod.Name}]
	if node == nil || len(sets) == 0 || !placeOf(sets[0], node).stay || !all(t.known(d), terminal) {
		return
	}
	set := sets[len(sets)-1] // the newest
	key := failing{d.Life, set.UID, node.UID, j.templates(set) + collisions(set)}
	r := known[key]
	if r == nil {
		r = &replacements{}
		known[key] = r
	}
	if r.last != nil {
		if all(t.known(r.last), terminal) {
			return // it is replaced together with the one before
		}
		wait := min(firstWait<<min(r.times-1, 20), longestWait)
		since := d.At.Sub(r.last.At)
		if since > 2*longestWait {
			r.times = 0
		} else if since < wait {
			j.violate(Backoff, change.At, "pod %s on node %s is replaced %v after replacement %d, want %v", pod.Name,
				node.Name, since, r.times, wait)
		}
	}
	r.times, r.last = r.times+1, d
}

// all reports whether there are states of a pod and all are so.
func all(known states, is func(*corev1.Pod) bool) bool {
	pods := typed[*corev1.Pod](known)
	return len(pods) == len(known) && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !is(pod) })
}

// templates returns how often the template of a set had changed by then.
func (j *judge) templates(set *appsv1.DaemonSet) int {
	count := 0
	for _, change := range j.setsByUID[set.UID].changes {
		before, _ := change.Before.(*appsv1.DaemonSet)
		after, _ := change.After.(*appsv1.DaemonSet)
		if before != nil && after != nil && after.UID == set.UID && after.Generation <= set.Generation &&
			!equality.Semantic.DeepEqual(before.Spec.Template, after.Spec.Template) {
			count++
		}
	}
	return count
}

func collisions(set *appsv1.DaemonSet) int {
	if set.Status.CollisionCount == nil {
		return 0
	}
	return int(*set.Status.CollisionCount)
}

// budget checks that no stretch of time has more requests than were earned in
// it and saved up before it. Tasks that have not used all that they had taken
// give the rest back, which is a burst more at most.
func (j *judge) budget() {
	if j.history.PerSecond == 0 {
		return
	}
	for _, life := range j.history.Lives {
		var calls []*Call
		for _, call := range j.history.Calls {
			if call.Decision.Life == life {
				calls = append(calls, call)
			}
		}
		slices.SortStableFunc(calls, func(a, b *Call) int { return int(a.Decision.Order) - int(b.Decision.Order) })
		j.lifeBudget(calls)
	}
}

func (j *judge) lifeBudget(calls []*Call) {
	// A bucket that is refilled and never overdrawn is the same as the rule for
	// all stretches of time.
	most := float64(2 * j.history.Burst)
	tokens, last := most, time.Time{}
	for i, call := range calls {
		if i > 0 {
			tokens = min(most, tokens+call.Decision.At.Sub(last).Seconds()*j.history.PerSecond)
		}
		last = call.Decision.At
		if tokens--; tokens < 0 {
			j.violate(WithinRequests, last, "more than %v requests a second are sent", j.history.PerSecond)
			return
		}
	}
}
