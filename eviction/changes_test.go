package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
)

// demand.md #102993: upstream refuses to lengthen a toleration.
func TestE3LengthenedTolerationIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.leavesAt("p", 70)
	c.pod(70, newPod("p", tolerates("a:300")))
	c.leavesAt("p", 310)
	c.startOne(310, "p")
}

func TestE3TolerationThatBecomesEndlessIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.pod(70, newPod("p", tolerates("a")))
	c.stays("p", eviction.ReasonTolerated)
	c.idle(1e6)
}

// demand.md, rescheduling ignored: once upstream has a timer it never fires
// earlier.
func TestE3ShortenedTolerationIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:300")))
	c.node(10, "n1", "a@10")
	c.leavesAt("p", 310)
	c.pod(20, newPod("p", tolerates("a:60")))
	c.leavesAt("p", 70)
	c.startOne(70, "p")
}

func TestE3TolerationShortenedIntoThePastEndsAtOnce(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:300")))
	c.node(10, "n1", "a@10")
	c.pod(200, newPod("p", tolerates("a:60")))
	c.leavesAt("p", 70)
	c.start(200, "p")
}

func TestE3RemovedTolerationIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a")))
	c.node(10, "n1", "a@10")
	c.stays("p", eviction.ReasonTolerated)
	c.pod(200, newPod("p"))
	c.start(200, "p")
}

// demand.md, rescheduling ignored: a second taint with a shorter toleration.
func TestE3SecondTaintWithAShorterTolerationIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:300", "b:30")))
	c.node(10, "n1", "a@10")
	c.leavesAt("p", 310)
	c.node(100, "n1", "a@10", "b@100")
	c.leavesAt("p", 130)
	c.startOne(130, "p")
}

func TestE3SecondTaintWithALongerTolerationChangesNothing(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60", "b:30")))
	c.node(10, "n1", "a@10")
	c.node(60, "n1", "b@60", "a@10")
	c.leavesAt("p", 70)
}

func TestE3UntoleratedSecondTaintIsObserved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:300")))
	c.node(10, "n1", "a@10")
	c.node(100, "n1", "a@10", "b@100")
	c.start(100, "p")
}

func TestE3OneOfSeveralTaintsRemoved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:300", "b:30")))
	c.node(10, "n1", "a@10", "b@10")
	c.leavesAt("p", 40)
	c.node(40, "n1", "a@10")
	c.leavesAt("p", 310)
	c.startOne(310, "p")
}

func TestE3AllTaintsRemoved(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:30")), newPod("q"))
	c.node(10, "n1", "a@10")
	c.node(10.5, "n1", "x:NoSchedule")
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(1e6)
	c.node(2e6, "n1", "a@2000000")
	c.leavesAt("p", 2e6+30)
	c.start(2e6, "q")
}

// demand.md #108268's second cause is a taint that is taken away and set again.
// Seen to go and come, it counts again: the node was well in between.
func TestE3TaintThatWentAndCameCountsAgain(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.node(40, "n1")
	c.node(50, "n1", "a@50")
	c.leavesAt("p", 110)
	c.node(60, "n1")
	c.node(70, "n1", "a@10") // by a writer that remembers
	c.leavesAt("p", 120)
}

// T4 and E3: not-ready and unreachable count as one taint.
func TestE3LineageKeepsItsStartWhenItsTimeIsCarried(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:300", "UN:300")))
	c.node(10, "n1", "NR@10")
	c.leavesAt("p", 310)
	for i, spec := range []string{"UN@10", "NR@10", "UN@10"} {
		c.node(100+float64(i), "n1", spec)
		c.leavesAt("p", 310)
	}
	again := startUp(t, 250)
	again.node(250, "n1", "UN@10")
	again.pod(250, newPod("p", tolerates("NR:300", "UN:300")))
	again.leavesAt("p", 311)
}

// Upstream gives the other taint a new TimeAdded, so that pods of a node that
// flaps never leave.
func TestE3LineageKeepsItsStartWhenItsTimeIsNew(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:300", "UN:300")))
	c.node(10, "n1", "NR@10")
	for i, spec := range []string{"UN@100", "NR@150", "UN@200", "NR", "UN@300"} {
		c.node(100+50*float64(i), "n1", spec)
		c.leavesAt("p", 310)
	}
	c.startOne(310, "p")
}

// Upstream adds the one before it removes the other.
func TestE3LineageKeepsItsStartWhenBothAreThereForAMoment(t *testing.T) {
	for _, both := range [][]string{{"NR@10", "UN@100"}, {"UN@100", "NR@10"}} {
		c := running(t, newPod("p", tolerates("NR:300", "UN:200")))
		c.node(10, "n1", "NR@10")
		c.leavesAt("p", 310)
		c.node(100, "n1", both...)
		c.leavesAt("p", 210)
		c.node(101, "n1", "UN@100")
		c.leavesAt("p", 210)

		again := startUp(t, 150) // just then
		again.node(150, "n1", both...)
		again.pod(150, newPod("p", tolerates("NR:300", "UN:200")))
		again.leavesAt("p", 211)
		again.node(151, "n1", "UN@100")
		again.leavesAt("p", 211)
	}
}

func TestE3LineageIsOnlyThatOfNotReadyAndUnreachable(t *testing.T) {
	c := running(t, newPod("p", tolerates("*:60")))
	c.node(10, "n1", "NR@10")
	c.node(40, "n1", "a@40", "NR:NoSchedule")
	c.leavesAt("p", 100)
	c.node(60, "n1", "UN@60")
	c.leavesAt("p", 120)
}

// The lineage lends its start also to what a pod does not tolerate at all. The
// pod leaves when that is seen.
func TestE3SwapForAnUntoleratedTaintEvictsAtOnce(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR")), newPod("q", tolerates("NR", "UN:0")))
	c.node(10, "n1", "NR@10")
	c.stays("p", eviction.ReasonTolerated)
	c.node(100, "n1", "UN@100")
	c.leavesAt("p", 10)
	c.start(100, "p", "q")
}

func TestE3DeletedNodeEvictsNoPod(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("q"))
	c.node(10, "n1", "a@10")
	c.ForgetNode(at(11), "n1")
	c.ForgetNode(at(11), "n1")
	c.ForgetNode(at(11), "unknown")
	c.stays("p", eviction.ReasonNoTaints)
	c.stays("q", eviction.ReasonNoTaints)
	c.idle(1e6)
	nodes, pods := c.Len()
	require.Equal(t, []int{2, 2}, []int{nodes, pods}) // n1 is known as long as its pods are
	c.ForgetPod(at(11), "p")
	c.ForgetPod(at(11), "q")
	c.ForgetNode(at(12), "n2")
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
}

func TestE3RecreatedNodeStartsAgain(t *testing.T) {
	for _, forgotten := range []bool{true, false} {
		c := running(t, newPod("p", tolerates("a:60")))
		c.node(10, "n1", "a")
		c.leavesAt("p", 70)
		if forgotten {
			c.ForgetNode(at(40), "n1")
			c.stays("p", eviction.ReasonNoTaints)
		}
		again := newNode("n1", "a")
		again.UID = "another"
		c.ObserveNode(at(50), again)
		c.leavesAt("p", 110)
		c.ObserveNode(at(55), again)
		c.leavesAt("p", 110)
		c.startOne(110, "p")
	}
}

func TestE3NodeRecreatedWithoutItsTaintsEvictsNoPod(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a")
	again := newNode("n1")
	again.UID = "another"
	c.ObserveNode(at(50), again)
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(1e6)
}

// demand.md PR #113607: a timer that is set can be cancelled.
func TestE3DeletedPodIsForgotten(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("q", tolerates("a:61")))
	c.node(10, "n1", "a@10")
	c.ForgetPod(at(10), "p")
	c.ForgetPod(at(10), "p")
	_, known := c.Decision("p")
	require.False(t, known)
	c.start(70)
	c.startOne(71, "q")
}

func TestNothingIsHandedOutBeforeAllIsObserved(t *testing.T) {
	c := startUp(t, 0)
	c.pod(0, newPod("p"))
	c.pod(0, newPod("m", marked)) // its node, which is still to come, is tainted
	c.start(1)
	_, ok := c.Next(at(1))
	require.False(t, ok)
	c.node(2, "n1", "a@-100")
	c.start(3)
	c.MarkSynced()
	c.start(4, "p", "m")
	require.True(t, c.work("m").HasDisruptionTarget)
}
