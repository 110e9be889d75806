package eviction_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// demand.md #108268: a controller that restarts must not restart the clock. The
// API server stores when a taint was added in whole seconds, and we see it
// somewhat later. For every fraction of a second, delay and time of the
// restart, the pod leaves never before 60 seconds, and at most two later.
func TestE2RestartKeepsDeadlines(t *testing.T) {
	for added := 50.0; added < 51; added += 0.125 {
		for _, delay := range []float64{0, 0.003, 0.7, 0.999, 5} {
			node := newNode("n1", fmt.Sprintf("NR@%v", math.Floor(added)))
			pod := newPod("p", tolerates("NR:60"))

			first := running(t, pod)
			first.ObserveNode(at(added+delay), node)
			due := dueOf(first)
			requireWithin(t, due, added+60, added+62)

			for _, restarted := range []float64{added + delay, added + 6, 80, 109.999, 111, 112.5, 1000} {
				second := startUp(t, restarted)
				second.ObservePod(at(restarted), pod)
				second.ObserveNode(at(restarted), node)
				second.MarkSynced()
				again := dueOf(second)
				requireWithin(t, again, added+60, added+62)
				require.InDelta(t, due, again, 1, "added %v, seen %v later, restarted %v", added, delay, restarted)
				second.start(max(again, restarted), "p")
			}
		}
	}
}

func dueOf(c cluster) float64 {
	c.Helper()
	decision, known := c.Decision("p")
	require.True(c, known)
	require.True(c, decision.Leaves())
	return decision.Due.Sub(at(0)).Seconds()
}

func requireWithin(t *testing.T, got, low, high float64) {
	t.Helper()
	require.GreaterOrEqual(t, got, low)
	require.LessOrEqual(t, got, high)
}

// #108268, the pod's half: what it has been given by its binding survives too.
func TestE2RestartKeepsDeadlinesOfPodsThatCameLate(t *testing.T) {
	for came := 50.0; came < 51; came += 0.125 {
		pod := newPod("p", bound(math.Floor(came)), tolerates("NR:60"))
		first := running(t)
		first.node(1, "n1", "NR@0")
		first.pod(came+0.2, pod)
		requireWithin(t, dueOf(first), came+60, came+62)
		second := startUp(t, 100)
		second.node(100, "n1", "NR@0")
		second.pod(100, pod)
		requireWithin(t, dueOf(second), came+60, came+62)
	}
}

func TestE2MissingTimeAddedCountsFromFirstSightAndAgainAfterARestart(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10.25, "n1", "a")
	c.leavesAt("p", 70.25)
	c.node(20, "n1", "a")
	c.leavesAt("p", 70.25)
	again := startUp(t, 60)
	again.node(60, "n1", "a")
	again.pod(60, newPod("p", tolerates("a:60")))
	again.MarkSynced()
	again.leavesAt("p", 120)
}

func TestE2TimeAddedInTheFutureCountsFromFirstSight(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@5000")
	c.leavesAt("p", 70)
	again := startUp(t, 30)
	again.node(30, "n1", "a@5000")
	again.pod(30, newPod("p", tolerates("a:60")))
	again.MarkSynced()
	again.leavesAt("p", 90)
}

func TestE2TaintThatAppearsWithATimeLongPastCountsFromTenSecondsBeforeFirstSight(t *testing.T) {
	for _, spec := range []string{"a@40", "a@-5000",
		"a@-1800000000"} { // a minute, an hour and a half, 1970
		c := running(t, newPod("p", tolerates("a:60")))
		c.node(100, "n1", spec)
		c.leavesAt("p", 150)
		c.node(130, "n1", spec, "b:NoSchedule")
		c.leavesAt("p", 150)
	}
}

// Found at a restart, the same times are all that we have.
func TestE2TaintThatIsFoundCountsFromItsTime(t *testing.T) {
	c := startUp(t, 100)
	c.node(100, "n1", "a@60")
	c.pod(100, newPod("p", tolerates("a:60")))
	c.MarkSynced()
	c.leavesAt("p", 121)
}

func TestE2TaintThatAppearsBeforeAllIsObservedHasAppeared(t *testing.T) {
	c := startUp(t, 100)
	c.node(100, "n1")
	c.pod(100, newPod("p", tolerates("a:60")))
	c.node(101, "n1", "a@40")
	c.MarkSynced()
	c.leavesAt("p", 151)
}

// A node that joins after our start has been seen coming, and so have its
// taints. It may have been written from a copy of an older one, by a clock that
// is behind.
func TestE2TaintsOfANodeThatJoinsHaveAppeared(t *testing.T) {
	c := running(t, newPod("p", on("n3"), tolerates("a:60")))
	c.node(100, "n3", "a@40")
	c.leavesAt("p", 150)
}

func TestE2TimeAddedOfTheZeroTimeIsMissing(t *testing.T) {
	zero := func(name string) *corev1.Node {
		node := newNode(name, "a")
		node.Spec.Taints[0].TimeAdded = &metav1.Time{}
		return node
	}
	c := running(t, newPod("p", tolerates("a:60")))
	c.ObserveNode(at(10.25), zero("n1"))
	c.leavesAt("p", 70.25)
	c.node(20, "n1", "a") // decoded from another format
	c.leavesAt("p", 70.25)
	c.ObserveNode(at(30), zero("n1"))
	c.leavesAt("p", 70.25)
	c.node(40, "n1", "a@10") // another client fills it in
	c.leavesAt("p", 70.25)
}

func TestE2TaintThatWasSetAgainUnseenStartsAgain(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(11.25, "n1", "a@10")
	c.leavesAt("p", 71)
	c.node(41.25, "n1", "a@40")
	c.leavesAt("p", 101)
	c.node(45, "n1", "a@41", "b:NoSchedule")
	c.leavesAt("p", 102)
	c.node(100, "n1", "a@50") // we hear of it late, and do not know how late
	c.leavesAt("p", 150)
}

// The taint that was there had no time. The one that is there now has one after
// that, so it is another one. Its 60 seconds have only begun.
func TestE2TaintThatWasSetAgainUnseenWithATimeNowStartsAgain(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10.25, "n1", "a")
	c.leavesAt("p", 70.25)
	c.node(51.25, "n1", "a@50")
	c.leavesAt("p", 111)
}

// An earlier TimeAdded that is written later takes no time from a pod.
func TestE2EarlierTimeAddedIsNotBelieved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(11.25, "n1", "a@10")
	for _, spec := range []string{"a@8", "a@2", "a@-5000"} {
		c.node(12, "n1", spec)
		c.leavesAt("p", 71)
	}
}

func TestE2TaintThatLosesItsTimeKeepsItsStart(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(11.25, "n1", "a@10")
	c.node(30, "n1", "a")
	c.leavesAt("p", 71)
	c.node(40, "n1", "a@10")
	c.leavesAt("p", 71)
}

func TestE2ValueOfATaintIsNotItsIdentity(t *testing.T) {
	c := running(t, newPod("p", tolerates("a=x:60", "a=y:30")))
	c.node(11.25, "n1", "a=x@10")
	c.leavesAt("p", 71)
	c.node(20, "n1", "a=y@10")
	c.leavesAt("p", 41)
	c.node(30, "n1", "a=x@10")
	c.leavesAt("p", 71)
}

// A clock that is set back must not make us spin, nor hand anything out before
// its time. The latest time that was passed in counts.
func TestTimeThatGoesBackwardsIsClamped(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("q"))
	c.node(10, "n1", "a@10")
	returns(t, func() { c.Start(at(80)) }) // q is in flight, p is next
	returns(t, func() { c.Start(at(20)) })
	returns(t, func() { c.Start(at(20)) })

	c.pod(90, newPod("r", on("n2"), tolerates("b:60")))
	c.pod(90, newPod("s", on("n2")))
	c.node(100, "n2", "b@100")
	c.node(50, "n2", "b@100", "c@100")
	c.leavesAt("r", 100)
	c.leavesAt("s", 100)
	next, ok := c.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(100), next)
	returns(t, func() { c.start(0, "r", "s") })
}

// returns fails the test when f does not.
func returns(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not return")
	}
}
