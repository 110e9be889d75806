package nodehealth_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
)

// Upstream keys health by name, and a node recreated within one pass inherits
// the health of the one before.
func TestH5ARecreatedNodeIsANewOne(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(reportingNode("a", "1", nodeClock))
	o.seesLease(renewedLease("a", nodeClock))
	o.pass(49 * time.Second)
	o.sees(bareNode("a", "2"))
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	silent := o.silentExactly(t, o.now.Add(startupGrace), "a")
	require.Equal(t, types.UID("2"), silent.UID)
	require.Equal(
		t, startupGrace, silent.GracePeriod, "that the old one had reported is nothing to the new one",
	)
	require.Equal(t, 1, o.Len())
}

func TestH5TheLeaseOfAnOldNodeIsNoBeatOfTheNewOne(t *testing.T) {
	for name, deleted := range map[string]bool{"deletion seen": true, "deletion missed": false} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t, nodehealth.Config{})
			o.sees(reportingNode("a", "1", nodeClock))
			o.seesLease(renewedLease("a", nodeClock))
			o.pass(time.Minute)
			if deleted {
				o.ForgetNode(o.now, "a")
				_, known := o.LastHeartbeat("a")
				require.False(t, known)
			}
			o.sees(bareNode("a", "2"))
			born := o.now
			o.pass(20 * time.Second)
			o.seesLease(renewedLease("a", nodeClock)) // a resync
			require.Equal(t, born, o.lastBeat(t, "a"))
			o.seesLease(renewedLease("a", nodeClock.Add(-time.Hour))) // renewed
			require.Equal(t, o.now, o.lastBeat(t, "a"))
		})
	}
}

// A node may come back declared already, by another observer.
func TestH5ARecreatedNodeThatIsUnknownIsNotHandedOut(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(reportingNode("a", "1", nodeClock))
	o.sees(unknownNode("a", "2", nodehealth.ReasonNeverReported, nodeClock))
	_, ok := o.Next(o.now)
	require.False(t, ok)
	o.pass(time.Hour)
	o.quiet(t)
}

func TestH5AForgottenNodeIsNotHandedOut(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.seesLease(renewedLease("a", nodeClock))
	o.sees(reportingNode("a", "1", nodeClock))
	o.ForgetNode(o.now, "a")
	_, known := o.LastHeartbeat("a")
	require.False(t, known)
	o.pass(time.Second)
	o.seesLease(renewedLease("a", nodeClock.Add(time.Second))) // its kubelet is not told yet
	_, known = o.LastHeartbeat("a")
	require.False(t, known, "a lease alone is no node")
	_, ok := o.Next(o.now)
	require.False(t, ok)
	o.pass(time.Hour)
	o.quiet(t)

	o.sees(reportingNode("a", "1", nodeClock)) // seen again, it has its whole grace
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

// The other order of an informer's events: lease first, node later.
func TestH5ALeaseMayComeBeforeItsNode(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.seesLease(renewedLease("a", nodeClock))
	require.Equal(t, 1, o.Len())
	o.pass(time.Second)
	o.sees(reportingNode("a", "1", nodeClock))
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	o.ForgetLease(o.now, "a")
	require.Equal(t, 1, o.Len())
	o.ForgetNode(o.now, "a")
	require.Zero(t, o.Len())
}

func TestH5ForgettingWhatIsNotKnownIsNothing(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.ForgetNode(o.now, "a")
	o.ForgetLease(o.now, "a")
	require.Zero(t, o.Len())
	o.sees(reportingNode("a", "1", nodeClock))
	o.ForgetLease(o.now, "a")
	o.ForgetNode(o.now, "b")
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

// A node without a UID comes from no API server, but is one all the same, and
// not a lease that has no node.
func TestH5ANodeWithoutUIDIsWatchedToo(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.seesLease(renewedLease("a", nodeClock))
	o.sees(reportingNode("a", "", nodeClock))
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	o.pass(10 * time.Second)
	o.seesLease(renewedLease("a", nodeClock.Add(1)))
	silent := o.silentExactly(t, o.now.Add(monitorGrace), "a")
	o.ForgetNode(o.now, "a")
	o.ForgetLease(o.now, "a")
	o.finish(silent, resultFailed)
	_, ok := o.Next(o.now)
	require.False(t, ok)
	require.Zero(t, o.Len())
}

// Upstream's map of node health was never pruned (PRs #102630 and #113670).
func TestH5MemoryIsBoundedUnderChurn(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	o := newObserver(t, nodehealth.Config{})
	var acting []nodehealth.NodeTask
	var alive []string
	for i := range 20_000 { // an autoscaled pool: each name is used once
		o.pass(time.Second)
		name := fmt.Sprint("n", i)
		if i%3 > 0 {
			o.seesLease(renewedLease(name, nodeClock))
		}
		switch i % 4 {
		case 0:
			o.sees(bareNode(name, name))
		case 1:
			o.sees(unknownNode(name, name, nodehealth.ReasonStopped, nodeClock))
		default:
			o.sees(reportingNode(name, name, nodeClock))
		}
		alive = append(alive, name)
		if silent, ok := o.Start(o.now); ok {
			acting = append(acting, silent)
		}
		if len(acting) > 5 {
			o.finish(acting[0], []nodehealth.Result{resultDone, resultAlive, resultFailed}[random.IntN(3)])
			acting = acting[1:]
		}
		if i < 100 {
			continue
		}
		gone := random.IntN(len(alive))
		o.ForgetNode(o.now, alive[gone])
		o.ForgetLease(o.now, alive[gone])
		alive = slices.Delete(alive, gone, gone+1)
		if o.Len() != len(alive) {
			t.Fatalf("%d names are known of %d nodes", o.Len(), len(alive))
		}
	}
	for _, name := range alive {
		o.ForgetLease(o.now, name)
		o.ForgetNode(o.now, name)
	}
	require.Zero(t, o.Len())
	for _, silent := range acting {
		o.finish(silent, resultFailed)
	}
	_, ok := o.Next(o.now)
	require.False(t, ok, "something is still in the heap")
}
