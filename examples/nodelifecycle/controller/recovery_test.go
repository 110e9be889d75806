package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// H8: with a recovery period a node that is heard again keeps its taints until
// it was heard for so long. Without one the first heartbeat is enough. Its zone
// counts what it reports.
func TestH8TaintsStayForTheRecoveryPeriod(t *testing.T) {
	for _, period := range []time.Duration{0, 25 * time.Second} {
		t.Run(period.String(), func(t *testing.T) {
			w := newWorld(t, Config{Health: nodehealth.Config{RecoveryPeriod: period}})
			w.addNodes(5, "a")
			w.addNodes(5, "b")
			w.start()
			w.advance(2 * grace)
			ready := func() int { return zoneOf(t, w, "a-000").Counts.Ready }
			w.silent["a-000"] = true
			w.advance(grace + 2*interval)
			ill := []string{unreachableNoExecute, unreachableNoSchedule}
			require.Equal(t, ill, w.taintsOf("a-000"))

			delete(w.silent, "a-000")
			w.next["a-000"] = w.now
			w.advance(time.Second)
			if period > 0 {
				require.Equal(t, ill, w.taintsOf("a-000"), "heard once")
				require.Equal(t, 5, ready())
				w.silent["a-000"] = true // falls silent again before the period ends
				w.advance(grace + interval)
				require.Equal(t, ill, w.taintsOf("a-000"), "silent again")
				delete(w.silent, "a-000")
				w.next["a-000"] = w.now
				w.advance(period - time.Nanosecond)
				require.Equal(t, ill, w.taintsOf("a-000"), "a moment before")
				w.advance(time.Nanosecond)
			}
			require.Empty(t, w.taintsOf("a-000"))
			require.Equal(t, 5, ready())
		})
	}
}

// A node that was not tainted yet, when it was heard again, is not tainted in
// its recovery period.
func TestH8ARecoveringNodeIsNotTainted(t *testing.T) {
	w := newWorld(t, Config{
		Health: nodehealth.Config{RecoveryPeriod: time.Minute},
		Zone:   zone.Config{Rate: func(zone.State, zone.Counts) float64 { return 0 }},
	})
	w.addNodes(5, "a")
	w.start()
	w.advance(2 * grace)
	w.silent["a-000"] = true
	w.advance(grace + 2*interval)
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-000"))
	require.Equal(t, 1, w.c.Queued(zone.ByTopology(w.nodes["a-000"])))
	delete(w.silent, "a-000")
	w.next["a-000"] = w.now
	w.advance(time.Second)
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-000"))
	require.Zero(t, w.c.Queued(zone.ByTopology(w.nodes["a-000"])))
	w.advance(time.Minute)
	require.Empty(t, w.taintsOf("a-000"))
}

func zoneOf(t *testing.T, w *world, node string) zone.Status {
	t.Helper()
	name := zone.ByTopology(w.nodes[node])
	for _, status := range w.c.Zones() {
		if status.Zone == name {
			return status
		}
	}
	t.Fatalf("no zone %s", name)
	return zone.Status{}
}
