package observer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/zone"
)

// H10: whatever happens, a View says after each Start what a look at all nodes
// and zones says, and Changes name what is different.
func TestH10ViewIsWhatTheTrackerKnows(t *testing.T) {
	for seed := range uint64(sized(4, 50)) {
		random := rand.New(rand.NewPCG(seed, 31))
		w := newWorld(t, TrackerConfig{Confirm: seed%2 == 0})
		w.answer = func(Task) Result {
			if random.IntN(4) == 0 {
				return Result{}
			}
			return Result{Versions: maps.Clone(w.versions)}
		}
		shown := snapshot(w.View())
		for range 1500 {
			w.now = w.now.Add(time.Duration(random.IntN(4000)) * time.Millisecond)
			step(w, random, fmt.Sprintf("%c-%d", 'a'+random.IntN(4), random.IntN(6)))
			w.told = nil
			w.work()

			now := snapshot(w.View())
			require.Equal(t, expected(w.Tracker), now, "seed %d", seed)
			requireTold(t, shown, now, w.told)
			shown = now
		}
	}
}

// step does something with a node. Nodes whose name ends with 0 to 2 are heard
// more often.
func step(w *world, random *rand.Rand, name string) {
	switch roll := random.IntN(20); {
	case roll < 8:
		w.beat(name)
	case roll < 11:
		w.beat("a-0", "b-0", "c-1")
	case roll < 12:
		w.renew(name)
	case roll < 13:
		w.ForgetNode(w.now, name)
	case roll < 14:
		w.ForgetLease(w.now, name)
	case roll < 15:
		w.now = w.now.Add(30 * time.Second)
	case roll < 16:
		w.Answered(w.now, w.now.Add(-time.Second))
	default:
		statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse,
			corev1.ConditionUnknown}
		object := nodeOf(name, statuses[random.IntN(len(statuses))])
		object.UID = types.UID(fmt.Sprint(random.IntN(10) / 9))
		if random.IntN(5) == 0 {
			object.Labels = map[string]string{zone.LabelExcludeDisruption: ""}
		}
		w.ObserveNode(w.now, object)
	}
}

// shown is all that a View shows.
type shown struct {
	silent []string
	zones  map[string]zone.Status // by name
	zoneOf map[string]zone.Status // by node
	phase  zone.Phase
}

func snapshot(v *View) shown {
	s := shown{
		silent: slices.Sorted(v.SilentNodes()), zones: map[string]zone.Status{},
		zoneOf: map[string]zone.Status{}, phase: v.Phase(),
	}
	v.zones.Range(func(name, _ any) bool {
		s.zones[name.(string)], _ = v.Zone(name.(string))
		return true
	})
	v.zoneOf.Range(func(node, _ any) bool {
		s.zoneOf[node.(string)], _ = v.ZoneOf(node.(string))
		return true
	})
	return s
}

// expected is what a View has to show, from all nodes and zones.
func expected(t *Tracker) shown {
	s := shown{
		zones: map[string]zone.Status{}, zoneOf: map[string]zone.Status{}, phase: t.zones.Phase(),
	}
	for _, status := range t.zones.Zones() {
		s.zones[status.Zone] = status
	}
	for name, n := range t.nodes {
		s.zoneOf[name] = s.zones[n.zone]
		if n.state == silent {
			s.silent = append(s.silent, name)
		}
	}
	slices.Sort(s.silent)
	return s
}

// requireTold requires that what differs between two moments was told.
func requireTold(t *testing.T, before, after shown, told []Change) {
	t.Helper()
	var named Change
	for _, change := range told {
		named.Nodes = append(named.Nodes, change.Nodes...)
		named.Zones = append(named.Zones, change.Zones...)
		named.Phase = named.Phase || change.Phase
	}
	for _, name := range append(slices.Clone(before.silent), after.silent...) {
		if slices.Contains(before.silent, name) != slices.Contains(after.silent, name) {
			require.Contains(t, named.Nodes, name)
		}
	}
	for _, zones := range []map[string]zone.Status{before.zones, after.zones} {
		for name := range zones {
			if before.zones[name].State != after.zones[name].State {
				require.Contains(t, named.Zones, name)
			}
		}
	}
	if before.phase != after.phase {
		require.True(t, named.Phase)
	}
}

// H10, H3: a read of the View and a heartbeat of a node that lives allocate
// nothing, and the heartbeat need not be followed by a poll.
func TestH10ReadsAndHeartbeatsAllocateNothing(t *testing.T) {
	names := namesOf(1000)
	w := newWorld(t, TrackerConfig{}, names...)
	w.pass(60*time.Second, names...)
	w.pass(30*time.Second, names[1:]...)
	require.Equal(t, names[:1], w.silent())
	view := w.View()
	at := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		name := names[at%len(names)]
		at++
		status, known := view.ZoneOf(name)
		if same, ok := view.Zone(status.Zone); !known || !ok || same.State != status.State {
			t.Fatal(name)
		}
		if view.Silent(name) != (name == names[0]) || view.Phase() != zone.PhaseActive || !view.Synced() {
			t.Fatal(name)
		}
		for silent := range view.SilentNodes() {
			if silent != names[0] {
				t.Fatal(silent)
			}
		}
	}))

	lease := leaseOf(names[1], w.now, "1")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		w.now = w.now.Add(time.Millisecond)
		lease.Spec.RenewTime.Time = w.now
		if w.ObserveLease(w.now, lease) {
			t.Fatal("it asks to be polled")
		}
		if _, ok := w.Start(w.now); ok {
			t.Fatal("there is a task")
		}
		w.Next(w.now)
	}))
}

func namesOf(nodes int) []string {
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("%c-%06d", 'a'+i%10, i)
	}
	return names
}

// H10: nodes that fall silent at once cost what they cost in a small
// cluster. A copy of anything as large as the cluster would cost hundreds of
// megabytes.
func TestH10MassSilenceCopiesNothing(t *testing.T) {
	names := namesOf(10_000)
	w := newWorld(t, TrackerConfig{}, names...)
	lost := 1_500
	for range 3 {
		w.now = w.now.Add(10 * time.Second)
		w.beat(names[lost:]...)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.work()
	runtime.ReadMemStats(&after)
	require.Len(t, w.silent(), lost)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(lost*2_000), "bytes")
}
