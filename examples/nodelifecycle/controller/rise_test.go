package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

// partiallyDown returns a world with two zones of five nodes, of which three
// in zone a are silent, and known to be.
func partiallyDown(t *testing.T) *world {
	w := newWorld(t, Config{Zone: zone.Config{
		Rate: zone.DefaultRates().Rate, ObservationWindow: ptr.To(interval + interval/10),
	}})
	w.addNodes(5, "a")
	w.addNodes(5, "b")
	w.start()
	w.advance(2 * grace)
	for _, name := range []string{"a-000", "a-001", "a-002"} {
		w.silent[name] = true
	}
	w.advance(12 * time.Minute)
	require.Equal(t, zone.PartialDisruption, zoneOf(t, w, "a-000").State)
	require.Empty(t, deeds(w, patchesTaints)[3:], "three NoSchedule taints, and the rate is zero")
	return w
}

// Z8: three nodes are back. Once the first of them is heard the zone is Normal,
// and the two others are heard up to a heartbeat interval later. Upstream
// taints one of them NoExecute at once.
func TestZ8NodesThatReturnTogetherAreNotTainted(t *testing.T) {
	w := partiallyDown(t)
	back := w.now
	for i, name := range []string{"a-000", "a-001", "a-002"} {
		delete(w.silent, name)
		w.next[name] = back.Add(time.Duration(i) * interval / 2)
	}
	w.advance(time.Second)
	is := zoneOf(t, w, "a-000")
	require.Equal(t, zone.Normal, is.State)
	require.Equal(t, zone.Counts{Ready: 3, NotReady: 2}, is.Counts)
	require.Zero(t, is.Rate)
	require.Equal(t, back.Add(interval+interval/10), is.HeldUntil)

	w.advance(2 * interval)
	names, _ := w.releases(back)
	require.Empty(t, names)
	require.Equal(t, 0.1, zoneOf(t, w, "a-000").Rate)
	for _, name := range w.names() {
		require.Empty(t, w.taintsOf(name), name)
	}
}

// Z8: the node that does not come back is tainted when the window has passed.
func TestZ8TheNodeThatStaysDeadWaitsForOneWindow(t *testing.T) {
	w := partiallyDown(t)
	back := w.now
	for _, name := range []string{"a-000", "a-001"} {
		delete(w.silent, name)
		w.next[name] = back
	}
	w.advance(time.Minute)
	names, at := w.releases(back)
	require.Equal(t, []string{"a-002"}, names)
	require.Equal(t, []time.Duration{interval + interval/10}, at)
}

// Z8: a node of the zone is well for four seconds, and ill for a minute, again
// and again. The two dead ones are tainted all the same.
func TestZ8DeadNodesOfAZoneThatFlapsAreTainted(t *testing.T) {
	w := partiallyDown(t)
	delete(w.silent, "a-000")
	w.next["a-000"] = w.now
	since := w.now
	for range 8 {
		w.beat("a-000")
		w.advance(4 * time.Second)
		w.report("a-000", corev1.ConditionFalse)
		w.silent["a-000"] = true // it says no more
		w.advance(30 * time.Second)
		delete(w.silent, "a-000")
		w.next["a-000"] = w.now.Add(interval)
	}
	names, at := w.releases(since)
	require.Equal(t, []string{"a-001", "a-002"}, names)
	// It is well for 4 s from 0 s, 34 s, 68 s, 102 s, 136 s and 170 s on: for 11 s
	// up to 71 s. The next token takes 10 s at that rate: 1 s up to 72 s, twice 4
	// s, and 1 s.
	require.Equal(t, []time.Duration{71 * time.Second, 171 * time.Second}, at)
}
