package taints_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// identity is what distinguishes taints.
type identity struct {
	key    string
	effect corev1.TaintEffect
}

type entry struct {
	place int // grows with each arrival
	value string
	since int64 // seconds, 0 for none
}

// reference is a slow and obvious set of taints: a map, and for each taint when
// it arrived.
type reference struct {
	entries  map[identity]entry
	arrivals int
}

func (r *reference) set(id identity, value string, since int64) {
	place := r.arrivals
	if old, ok := r.entries[id]; ok {
		place = old.place
	} else {
		r.arrivals++
	}
	r.entries[id] = entry{place, value, since}
}

// add sets a taint, which gets a time of its own only if the set knows none.
func (r *reference) add(id identity, value string, since int64) {
	if old := r.entries[id]; old.since != 0 {
		if old.value == value {
			return
		}
		since = old.since
	} else if since == 0 && r.has(id) && old.value == value {
		return
	}
	other := map[identity]identity{
		{notReady, noExecute}:    {unreachable, noExecute},
		{unreachable, noExecute}: {notReady, noExecute},
	}[id]
	if older := r.entries[other].since; older != 0 && (since == 0 || older < since) {
		since = older
	}
	r.set(id, value, since)
}

func (r *reference) has(id identity) bool {
	_, ok := r.entries[id]
	return ok
}

func (r *reference) deleteIf(gone func(identity) bool) {
	for id := range r.entries {
		if gone(id) {
			delete(r.entries, id)
		}
	}
}

// reconcile reports whether a desired taint is missing or has another value, or
// an owned one has to go. Only then does it set the desired taints, one after
// the other.
func (r *reference) reconcile(
	desired []identity, value map[identity]string, owned func(identity) bool, now int64,
) bool {
	due := false
	for _, id := range desired {
		old, there := r.entries[id]
		due = due || !there || old.value != value[id]
	}
	for id := range r.entries {
		due = due || owned(id) && !slices.Contains(desired, id)
	}
	if !due {
		return false
	}
	since := map[identity]int64{}
	for _, id := range desired {
		since[id] = r.since(id, now)
	}
	r.deleteIf(func(id identity) bool { return owned(id) && !slices.Contains(desired, id) })
	for _, id := range desired {
		r.set(id, value[id], since[id])
	}
	return true
}

// since is the time that a desired taint should have.
func (r *reference) since(id identity, now int64) int64 {
	mine, there := r.entries[id]
	other, swapped := r.entries[map[identity]identity{
		{notReady, noExecute}:    {unreachable, noExecute},
		{unreachable, noExecute}: {notReady, noExecute},
	}[id]]
	known := []int64{}
	if there && mine.since != 0 {
		known = append(known, mine.since)
	}
	if swapped && other.since != 0 {
		known = append(known, other.since)
	}
	if !there {
		known = append(known, now)
	}
	if len(known) == 0 {
		return 0
	}
	return slices.Min(known)
}

func (r *reference) list() []corev1.Taint {
	ids := []identity{}
	for id := range r.entries {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b identity) int {
		return cmp.Compare(r.entries[a].place, r.entries[b].place)
	})
	out := []corev1.Taint{}
	for _, id := range ids {
		t := corev1.Taint{Key: id.key, Value: r.entries[id].value, Effect: id.effect}
		if since := r.entries[id].since; since != 0 {
			t.TimeAdded = stamp(since)
		}
		out = append(out, t)
	}
	return out
}

var (
	someKeys    = []string{notReady, unreachable, corev1.TaintNodeDiskPressure, "a", "b"}
	someEffects = []corev1.TaintEffect{noSchedule, noExecute, prefer}
)

func someIdentity(random *rand.Rand) identity {
	return identity{someKeys[random.IntN(len(someKeys))], someEffects[random.IntN(len(someEffects))]}
}

func someValue(random *rand.Rand) string { return []string{"", "1", "2"}[random.IntN(3)] }

// someTime is mostly in the past of a clock that is at 1000 and more, sometimes
// missing and sometimes ahead.
func someTime(random *rand.Rand) int64 { return int64(random.IntN(5)) * 500 }

func TestT1RandomOperationsAgreeWithAMap(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	seen := map[string]int{}
	for range 250 {
		r := &reference{entries: map[identity]entry{}}
		current := []corev1.Taint(nil)
		for step := range 40 {
			before := copied(current)
			next, name := operate(t, random, r, current, 1000+int64(step))
			seen[name]++
			if itself(next, current) && len(next) > 0 {
				seen["itself"]++
			}
			require.Equal(t, show(r.list()), show(next), "%s on %v", name, show(before))
			require.Equal(t, before, copied(current), "%s changed its argument", name)
			compareWithReference(t, random, r, next)
			current = next
		}
	}
	for _, name := range []string{"add", "remove", "filter", "reconcile", "itself"} {
		require.Greater(t, seen[name], 300, name)
	}
}

// operate applies one operation to the reference and to the list, and names it.
func operate(
	t *testing.T, random *rand.Rand, r *reference, current []corev1.Taint, now int64,
) ([]corev1.Taint, string) {
	t.Helper()
	id := someIdentity(random)
	switch random.IntN(4) {
	case 0:
		value, since := someValue(random), someTime(random)
		r.add(id, value, since)
		added := corev1.Taint{Key: id.key, Value: value, Effect: id.effect}
		if since != 0 {
			added.TimeAdded = stamp(since)
		}
		return taints.Add(current, added), "add"
	case 1:
		r.deleteIf(func(other identity) bool { return other == id })
		return taints.Remove(current, id.key, id.effect), "remove"
	case 2:
		r.deleteIf(func(other identity) bool { return other.key == id.key && other.effect != id.effect })
		return taints.Filter(current, func(t *corev1.Taint) bool {
			return t.Key != id.key ||
				t.Effect == id.effect
		}), "filter"
	}
	desired, values, asked := someDesired(random)
	scope := someEffects[random.IntN(2)]
	inScope := func(other identity) bool { return other.effect == scope && other.key != "a" }
	before := show(current)
	due := r.reconcile(desired, values, inScope, now)
	next, changed := taints.Reconcile(current, asked,
		func(t *corev1.Taint) bool { return inScope(identity{t.Key, t.Effect}) }, time.Unix(now, 5))
	require.Equal(t, due, changed, "%v", before)
	require.Equal(t, due, !itself(current, next) && len(current)+len(next) > 0, "%v", before)
	return next, "reconcile"
}

func someDesired(random *rand.Rand) ([]identity, map[identity]string, []corev1.Taint) {
	values := map[identity]string{}
	desired, asked := []identity{}, []corev1.Taint{}
	for range random.IntN(4) {
		id := someIdentity(random)
		if _, twice := values[id]; twice {
			continue
		}
		values[id] = someValue(random)
		desired = append(desired, id)
		asked = append(asked, corev1.Taint{Key: id.key, Value: values[id], Effect: id.effect,
			TimeAdded: stamp(3)})
	}
	return desired, values, asked
}

// compareWithReference asks Find, Diff and Equal.
func compareWithReference(t *testing.T, random *rand.Rand, r *reference, current []corev1.Taint) {
	t.Helper()
	id := someIdentity(random)
	found, ok := taints.Find(current, id.key, id.effect)
	want, exists := r.entries[id]
	require.Equal(t, exists, ok, "find %v in %v", id, show(current))
	require.Equal(t, want.value, found.Value)

	desired, _, asked := someDesired(random)
	add, remove := taints.Diff(asked, current)
	missing, surplus := map[identity]bool{}, map[identity]bool{}
	for _, id := range desired {
		if _, there := r.entries[id]; !there {
			missing[id] = true
		}
	}
	for id := range r.entries {
		if !slices.Contains(desired, id) {
			surplus[id] = true
		}
	}
	require.Equal(t, missing, identities(add), "%v to %v", show(current), show(asked))
	require.Equal(t, surplus, identities(remove), "%v to %v", show(current), show(asked))
	require.True(t, taints.Equal(current, r.list()))
}

func identities(list []corev1.Taint) map[identity]bool {
	out := map[identity]bool{}
	for i := range list {
		out[identity{list[i].Key, list[i].Effect}] = true
	}
	return out
}
