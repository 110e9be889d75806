package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// pausedBelow pauses while less than that part of all nodes is ready.
func pausedBelow(share float64) func(zone.Cluster) zone.Phase {
	return func(c zone.Cluster) zone.Phase {
		if phase := zone.DefaultPhase(c); phase != zone.PhaseActive || c.Counts.ReadyFraction() >= share {
			return phase
		}
		return zone.PhasePaused
	}
}

// pausing is a world of 20 nodes that pauses when less than half are ready. One
// node is tainted, and its pod leaves 20 s later.
func pausing(t *testing.T) *world {
	w := newWorld(t, Config{Zone: zone.Config{Phase: pausedBelow(0.5)}})
	for _, name := range []string{"a", "b"} {
		for _, node := range w.addNodes(10, name) {
			w.addPod("web-"+node, node, tolerate(30))
		}
	}
	w.start()
	w.advance(grace + interval)
	w.ill("a-000")
	w.advance(interval + 10*time.Second)
	require.Contains(t, w.taintsOf("a-000"), notReadyNoExecute)
	w.done = nil
	return w
}

func (w *world) back(names ...string) {
	for _, name := range names {
		w.silent[name] = false
		w.next[name] = w.now.Add(interval)
		w.beat(name)
	}
	w.act()
}

// Z1: in a pause no node is tainted, no taint is removed and no pod leaves.
// What was begun waits until nodes may be acted against again.
func TestZ1APauseHoldsAllAndTakesNothingBack(t *testing.T) {
	w := pausing(t)
	began := w.now
	w.ill("a-001", "a-002", "a-003", "a-004", "a-005", "a-006", "a-007", "a-008", "a-009", "b-000")
	w.advance(10 * time.Minute)
	require.Equal(t, zone.PhasePaused, w.c.Phase())
	require.Equal(t, zone.PhasePaused, w.c.zones.phase.obeyed)
	require.Empty(t, times[eviction.Task](w, began))
	names, _ := w.releases(began)
	require.Empty(t, names)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute, "it stays")

	back := w.now
	w.back("b-000")
	w.advance(grace - time.Second)
	require.Equal(t, zone.PhaseRecovering, w.c.Phase())
	require.Empty(t, times[eviction.Task](w, back), "others may return as well")
	w.advance(time.Minute)
	require.Equal(t, zone.PhaseActive, w.c.zones.phase.obeyed)
	require.Equal(t, []time.Duration{grace}, rounded(times[eviction.Task](w, back))[:1])
	names, at := w.releases(back)
	require.NotEmpty(t, names)
	require.Equal(t, grace, at[0].Round(time.Second))
}

// Z1: a pause that becomes an outage of all zones is one. Its taints do not
// return when it is a pause again.
func TestZ1APauseCanBecomeAnOutage(t *testing.T) {
	w := pausing(t)
	w.ill(w.names()[1:15]...)
	w.advance(10 * time.Second)
	require.Equal(t, zone.PhasePaused, w.c.zones.phase.obeyed)
	w.ill(w.names()[15:]...)
	w.advance(10 * time.Second)
	require.Equal(t, zone.PhaseSuspended, w.c.zones.phase.obeyed)
	require.NotContains(t, w.taintsOf("a-000"), unreachableNoExecute)
	w.back("b-009")
	w.advance(10 * time.Minute)
	require.Equal(t, zone.PhasePaused, w.c.Phase())
	require.Equal(t, zone.PhaseSuspended, w.c.zones.phase.obeyed)
	require.NotContains(t, w.taintsOf("a-000"), unreachableNoExecute)
	require.Empty(t, deeds[eviction.Task](w))
}

// Z1: in a pause whole nodes are not emptied either.
func TestZ1APauseHoldsTheEvictionsOfWholeNodes(t *testing.T) {
	w := byNode(t, "a", "b")
	w.config.Zone.Phase = pausedBelow(0.5)
	w.start()
	w.advance(grace + interval)
	w.ill("a-000")
	w.advance(timeout + interval)
	require.Len(t, w.evicted(w.now), 1)
	w.ill(w.names()[1:11]...)
	w.done = nil
	w.addPod("late", "a-000", tolerate(600))
	w.advance(10 * timeout)
	require.Equal(t, zone.PhasePaused, w.c.Phase())
	require.Empty(t, w.evicted(w.now))
	back := w.now
	w.back("b-000")
	w.advance(grace + 21*time.Second)
	require.Len(t, w.evicted(back), 1+3, "late, and one each 10 s")
}
