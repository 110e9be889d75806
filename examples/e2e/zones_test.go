package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestOneZoneDown: the zone's nodes are tainted at its rate, its pods leave,
// the other zone is not touched.
func TestOneZoneDown(t *testing.T) {
	long(t)
	c := newCluster(t, map[string]int{"a": 20, "b": 20},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](2))})
	c.startController("--node-eviction-rate=1")
	settle(t)
	failed := c.fleet.Nodes("a")
	c.fleet.Cut(failed...)
	c.within(2*patience, "all nodes of the zone are tainted",
		func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	var pods []string
	for _, node := range failed {
		pods = append(pods, fleet.PodName("web", node))
	}
	c.eventually("all its pods are evicted", wantEvicted(pods...))
	c.wantRate(failed, 1)
	c.fleet.Restore(failed...)
	c.eventually("the zone is back", func(w *witness) error { return w.each(failed, (*nodeSeen).wantHealthy) })
}

// wantRate wants no more NoExecute taints in any stretch of time than the rate
// allows, with a burst of one. Requests that were sent apart may be received a
// little closer.
func (c *cluster) wantRate(nodes []string, rate float64) {
	c.t.Helper()
	var set []time.Time
	_ = c.witness.ask(func(w *witness) error {
		for _, name := range nodes {
			set = append(set, w.nodes[name].tainted...)
		}
		return nil
	})
	slices.SortFunc(set, time.Time.Compare)
	for i := range set {
		for j := i + 1; j < len(set); j++ {
			elapsed := set[j].Sub(set[i]) + 250*time.Millisecond
			require.LessOrEqual(c.t, float64(j-i), 1+rate*elapsed.Seconds(), "nodes tainted within %v", elapsed)
		}
	}
	c.t.Logf("%d nodes tainted in %.1fs at %v nodes a second", len(set), set[len(set)-1].Sub(set[0]).Seconds(), rate)
}

// TestEveryZoneDown: what we have tainted is untainted, no pod is evicted, and
// after it is over nothing happens for a grace period.
func TestEveryZoneDown(t *testing.T) {
	long(t)
	c := newCluster(t, map[string]int{"a": 10, "b": 10},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](30))})
	c.startController()
	settle(t)
	first := c.fleet.Nodes("a")[:2]
	c.fleet.Cut(first...)
	c.eventually("two are tainted", func(w *witness) error { return w.each(first, (*nodeSeen).wantIll) })
	all := c.fleet.AllNodes()
	c.fleet.Cut(all...)
	c.eventually("every node is Unknown and none tainted NoExecute", func(w *witness) error {
		return w.each(all, func(n *nodeSeen) error {
			if hasNoExecute(n.taints) {
				return fmt.Errorf("has taints %v", n.taints)
			}
			return n.wantReady(corev1.ConditionUnknown)
		})
	})
	time.Sleep(35 * time.Second)
	require.NoError(t, c.witness.ask(wantEvicted()), "the tolerations of the two have long ended")
	back := time.Now()
	alive := without(all, first)
	c.fleet.Restore(alive...)
	c.eventually("the living are back", func(w *witness) error { return w.each(alive, (*nodeSeen).wantHealthy) })
	c.eventually("the two are tainted again", func(w *witness) error { return w.each(first, (*nodeSeen).wantIll) })
	_ = c.witness.ask(func(w *witness) error {
		for _, name := range first {
			n := w.nodes[name]
			require.GreaterOrEqual(t, n.tainted[len(n.tainted)-1].Sub(back), grace, "a full grace period after")
		}
		return nil
	})
	c.eventually("and lose their pods", wantEvicted(fleet.PodName("web", first[0]), fleet.PodName("web", first[1])))
}

// TestPartialDisruptionOfASmallZone: most nodes of a small zone are ill, so
// none is tainted.
func TestPartialDisruptionOfASmallZone(t *testing.T) {
	long(t)
	c := newCluster(t, map[string]int{"a": 10, "b": 10},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](0))})
	c.startController()
	settle(t)
	failed := c.fleet.Nodes("a")[:6]
	c.fleet.Cut(failed...)
	c.eventually("they are Unknown", func(w *witness) error {
		return w.each(failed, func(n *nodeSeen) error { return n.wantReady(corev1.ConditionUnknown) })
	})
	time.Sleep(grace)
	require.NoError(t, c.witness.ask(func(w *witness) error {
		return w.each(failed, func(n *nodeSeen) error {
			if len(n.tainted) > 0 {
				return fmt.Errorf("was tainted NoExecute")
			}
			return nil
		})
	}))
	require.NoError(t, c.witness.ask(wantEvicted()))
	c.fleet.Restore(failed[:2]...)
	c.eventually("four of ten are a normal zone, whose ill nodes are tainted", func(w *witness) error {
		return w.each(failed[2:], (*nodeSeen).wantIll)
	})
}

// TestFiveHundredNodes is an outage of a hundred of five hundred nodes.
func TestFiveHundredNodes(t *testing.T) {
	long(t)
	pods := kinds()
	c := newCluster(t, map[string]int{"a": 200, "b": 150, "c": 150}, pods...)
	running := c.startController("--node-eviction-rate=10")
	settle(t)
	failed := slices.Concat(c.fleet.Nodes("a")[:40], c.fleet.Nodes("b")[:30], c.fleet.Nodes("c")[:30])
	cut := time.Now()
	c.fleet.Cut(failed...)
	c.within(2*patience, "all 100 are Unknown and tainted",
		func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	c.within(2*patience, "exactly their pods that do not tolerate that for ever are evicted",
		wantEvicted(leaving(failed)...))
	c.report(cut, failed)
	c.fleet.Restore(failed...)
	c.eventually("the nodes are back and their taints gone",
		func(w *witness) error { return w.each(failed, (*nodeSeen).wantHealthy) })
	c.wantCalls(failed)
	c.stop(running)
}
