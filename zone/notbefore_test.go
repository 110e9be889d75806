package zone_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

func TestZ5TheFirstExpiryWaitsAnInterval(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 3)...)
	c.notReady("a", "a0")
	require.Equal(t, c.now.Add(interval), c.NotBefore("a0"))
	require.Zero(t, c.NotBefore("a1"), "ready")
}

func TestZ5LaterExpiriesInTheWindowWaitForItsEnd(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 12)...)
	c.ready("b", names("b", 3)...)
	known := c.now.Add(interval)
	for i, node := range names("a", 11) {
		c.notReady("a", node)
		require.Equal(t, known, c.NotBefore(node), "expired %d s after the first", i)
		c.pass(time.Second)
	}
	require.Equal(t, known, c.now)
	c.notReady("a", "a11")
	require.Equal(t, known.Add(interval), c.NotBefore("a11"), "after the window there is a new one")
	require.Equal(t, known, c.NotBefore("a0"), "which does not concern the earlier ones")
	c.pass(time.Second)
	c.notReady("b", "b0")
	require.Equal(t, c.now.Add(interval), c.NotBefore("b0"), "a window is its zone's")
}

// When the first of a zone's nodes may be acted against, the zone has been
// evaluated as dead.
func TestZ5ADeadZoneIsEvaluatedBeforeItsFirstNodeIsActedOn(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	c := newActiveCluster(t, zone.Config{})
	nodes := names("n", 100)
	c.ready("a", nodes...)
	c.evaluate()
	expiries := make(map[time.Duration][]string) // spread over one interval, like heartbeats
	for _, node := range nodes {
		offset := time.Duration(random.Int64N(int64(interval))).Truncate(100 * time.Millisecond)
		expiries[offset] = append(expiries[offset], node)
	}
	start := c.now
	for c.now.Before(start.Add(interval)) {
		c.notReady("a", expiries[c.now.Sub(start)]...)
		c.evaluate()
		for _, node := range nodes {
			notBefore := c.NotBefore(node)
			require.False(t, !notBefore.IsZero() && !c.now.Before(notBefore),
				"%s may be acted on %v after the first expiry", node, c.now.Sub(start))
		}
		c.pass(100 * time.Millisecond)
	}
	require.Equal(t, zone.PhaseSuspended, c.Phase())
}

func TestZ5ANodeThatRecoversWaitsAgainNextTime(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	first := c.NotBefore("a0")
	c.pass(time.Second)
	c.ready("a", "a0")
	require.Zero(t, c.NotBefore("a0"))

	c.pass(time.Second)
	c.notReady("a", "a0")
	require.Equal(t, first, c.NotBefore("a0"), "within the window of its first fall")

	c.ready("a", "a0")
	c.pass(time.Minute)
	c.notReady("a", "a0")
	require.Equal(t, c.now.Add(interval), c.NotBefore("a0"))
}

// Moving is no second fall: otherwise a node that is relabelled again and again
// would never be acted on.
func TestZ5ANodeThatMovesKeepsItsTime(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	first := c.NotBefore("a0")
	for _, name := range []string{"b", "", "a", "c"} {
		c.pass(3 * time.Second)
		c.notReady(name, "a0")
		require.Equal(t, first, c.NotBefore("a0"))
	}
	c.Observe(c.now, "a0", zone.Node{Zone: "c", Excluded: true})
	require.Equal(t, first, c.NotBefore("a0"), "nor is being excluded")

	c.ready("c", "c1")
	c.notReady("d", "c1")
	require.Equal(t, c.now.Add(interval), c.NotBefore("c1"),
		"falling while it moves is a fall in the new zone")
}

func TestZ5NoOtherNodeStaysInTheWayOfOne(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	first := c.NotBefore("a0")
	for range 100 { // a neighbour that flaps, and one that comes and goes
		c.pass(time.Second)
		c.ready("a", "a1")
		c.notReady("a", "a1", "a2")
		c.forget("a2")
	}
	require.Equal(t, first, c.NotBefore("a0"))
}

func TestZ5AForgottenNodeIsANewOne(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	c.forget("a0")
	require.Zero(t, c.NotBefore("a0"))
	c.pass(3 * time.Second)
	c.notReady("a", "a0")
	require.Equal(t, c.now.Add(interval), c.NotBefore("a0"), "the zone had vanished with it")
}

func TestZ5TheIntervalIsTheCallers(t *testing.T) {
	c := newActiveCluster(t, zone.Config{ObservationWindow: ptr.To(3 * time.Second)})
	c.notReady("a", "a0")
	require.Equal(t, c.now.Add(3*time.Second), c.NotBefore("a0"))

	c = newActiveCluster(t, zone.Config{ObservationWindow: ptr.To(time.Duration(0))})
	for range 3 {
		c.pass(time.Second)
		c.ready("a", "a0")
		c.notReady("a", "a0")
		require.Equal(t, c.now, c.NotBefore("a0"), "no wait")
	}
}

// No node waits longer than one interval from its own fall, whatever happens
// around it. None is free before one interval after the first in its window.
func TestZ5NoNodeWaitsLongerThanOneInterval(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		c := newActiveCluster(t, zone.Config{})
		nodes := names("n", 12)
		fell := map[string]time.Time{}
		for range 300 {
			c.pass(time.Duration(random.IntN(4000)) * time.Millisecond)
			node := nodes[random.IntN(len(nodes))]
			zoneName := []string{"a", "b", "c"}[random.IntN(3)]
			switch random.IntN(5) {
			case 0:
				c.forget(node)
				delete(fell, node)
			case 1, 2:
				c.ready(zoneName, node)
				delete(fell, node)
			default:
				c.notReady(zoneName, node)
				if _, down := fell[node]; !down {
					fell[node] = c.now
				}
			}
			for _, node := range nodes {
				since, down := fell[node]
				notBefore := c.NotBefore(node)
				if !down && !notBefore.IsZero() || down &&
					(!notBefore.After(since) || notBefore.After(since.Add(interval))) {
					t.Fatalf("seed %d: fell (%v) at %v, waits until %v", seed, down, since, notBefore)
				}
			}
		}
	}
}
