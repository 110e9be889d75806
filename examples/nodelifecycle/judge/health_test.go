package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

func TestNotDeclaredAlive(t *testing.T) {
	declared := func(silentFor time.Duration) *court {
		c := newCourt(t, 4)
		c.checks = false
		c.silence("a-0")
		c.runUntil(c.world.Machine("a-0").LastBeat + silentFor)
		c.declare("a-0")
		return c
	}
	declared(grace).clean()
	declared(grace - 100*time.Millisecond).guilty(judge.NotDeclaredAlive)
}

// A heartbeat after the live read may be missed, one before it may not.
func TestNotDeclaredAliveExceptByABeatAfterTheRead(t *testing.T) {
	late := func(beatsFirst bool) *court {
		c := newCourt(t, 4)
		c.checks = false
		c.silence("a-0")
		c.expire("a-0")
		m := c.world.Machine("a-0")
		beat := func() {
			beats := m.Beats
			c.restore["a-0"]()
			for m.Beats == beats {
				c.pass(time.Millisecond)
			}
		}
		if beatsFirst {
			beat()
		}
		read := network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-0"}
		answered := false
		c.client.Call(&read, func(*network.Call) {
			// Sent at once, as the controller does.
			answered = true
			c.client.Call(c.unknown("a-0", c.world.Now()), func(*network.Call) {})
			if !beatsFirst {
				c.world.After(0, func() { c.restore["a-0"]() })
			}
		})
		for !answered {
			c.pass(time.Millisecond)
		}
		c.pass(time.Second)
		return c
	}
	late(false).clean()
	late(true).guilty(judge.NotDeclaredAlive)
}

func TestTimesAreThoseOfTheDecision(t *testing.T) {
	declare := func(ago time.Duration) *court {
		c := newCourt(t, 4)
		c.silence("a-0")
		c.expire("a-0")
		c.call(&network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-0"})
		c.call(c.unknown("a-0", c.world.Now().Add(-ago)))
		return c
	}
	declare(0).clean()
	declare(500 * time.Millisecond).clean()
	declare(10 * time.Second).guilty(judge.TimesTold)
	declare(-10 * time.Second).guilty(judge.TimesTold)

	taint := func(ago time.Duration) *court {
		c := newCourt(t, 4)
		c.fall("a-0")
		c.run(wave)
		late := c.noExecute(corev1.TaintNodeUnreachable)
		late.TimeAdded.Time = late.TimeAdded.Add(-ago)
		c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable), late)
		return c
	}
	taint(0).clean()
	taint(10 * time.Second).guilty(judge.TimesTold)
}

// bornSilent returns a court in which node a-0 was registered so long ago and has
// never beaten.
func bornSilent(t *testing.T, ago time.Duration) *court {
	t.Helper()
	c := newCourt(t, 4)
	c.checks = false
	register := c.world.Machine("a-0").Unregister()
	c.silence("a-0")
	c.run(time.Minute)
	register()
	c.run(ago)
	return c
}

func TestNotDeclaredAliveBeforeTheStartupGraceEnds(t *testing.T) {
	born := func(waits time.Duration) *court {
		c := bornSilent(t, waits)
		c.declare("a-0")
		return c
	}
	born(startupGrace).clean()
	born(startupGrace - time.Second).guilty(judge.NotDeclaredAlive)
}

func TestNotDeclaredAliveNorTaintedBefore(t *testing.T) {
	born := func(waits time.Duration) *court {
		c := bornSilent(t, waits)
		c.execute("a-0")
		return c
	}
	born(startupGrace).clean()
	born(wave + time.Second).guilty(judge.NotDeclaredAlive)
}

func TestDeclaredInTime(t *testing.T) {
	c := newCourt(t, 4)
	c.silence("a-0")
	c.runUntil(c.world.Machine("a-0").LastBeat + grace + 4*time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.DeclaredInTime)
}

// A node that never reports has the startup grace.
func TestDeclaredInTimeOfANewNode(t *testing.T) {
	c := newCourt(t, 4)
	register := c.world.Machine("a-0").Unregister()
	c.silence("a-0")
	c.run(time.Minute)
	register()
	c.run(startupGrace + 4*time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.DeclaredInTime)
}

func TestRecovered(t *testing.T) {
	c := newCourt(t, 4)
	c.fall("a-0")
	c.restore["a-0"]()
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.Recovered)
}

// With a recovery period it may keep its taints for so long.
func TestRecoveredAfterTheRecoveryPeriod(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.Recovery = 30 * time.Second })
	c.fall("a-0")
	c.restore["a-0"]()
	c.run(34 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.Recovered)
}

// Since the start there is no heartbeat of a tainted node whose status says
// ready.
func TestUntaintedByABeat(t *testing.T) {
	relic := func(beats bool) *court {
		c := newCourt(t, 4)
		c.checks = false
		c.silence("a-0")
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{noSchedule(corev1.TaintNodeUnreachable)}
		})
		c.run(time.Second)
		c.startClient()
		if beats {
			c.restore["a-0"]()
			c.run(2 * time.Second)
		}
		return c
	}
	c := relic(false)
	c.judge.Check()
	c.run(20 * time.Second)
	c.judge.Check()
	c.clean("it may keep its taint")
	c.setTaints("a-0")
	c.guilty(judge.UntaintedByABeat)

	c = relic(true)
	c.setTaints("a-0")
	c.clean()

	c = relic(false)
	c.setTaints("a-0", noSchedule(corev1.TaintNodeNotReady))
	c.clean("to swap is not to untaint")
}

// In an outage NoExecute goes whether a node was heard of or not.
func TestUntaintedWithoutABeatInAnOutage(t *testing.T) {
	c := newCourt(t, 1)
	c.ill("a-0")
	c.fall("b-0")
	c.startClient()
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
	c.clean()
	c.setTaints("a-0")
	c.guilty(judge.UntaintedByABeat, "NoSchedule stays")
}

func TestTaintsFollow(t *testing.T) {
	c := newCourt(t, 4)
	restore := c.world.Machine("a-0").Press()
	c.run(4 * time.Second)
	c.setTaints("a-0", noSchedule(corev1.TaintNodeMemoryPressure))
	c.run(time.Minute)
	c.clean()
	restore()
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.TaintsFollow)

	c = newCourt(t, 4)
	c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Unschedulable = true })
	c.run(8 * time.Second)
	c.guilty(judge.TaintsFollow)
}

// A node that is ill in one way is not tainted for the other as well. A new
// node has the taint of one that is ill before anybody says that it is (seed
// 520775). From then on it has to be the right one.
func TestTaintsFollowOfANewNodeThatNeverReports(t *testing.T) {
	c := newCourt(t, 4)
	register := c.world.Machine("a-0").Unregister()
	c.silence("a-0")
	c.run(time.Minute)
	register()
	c.run(startupGrace)
	c.declare("a-0")
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	require.Contains(t, c.found(), judge.TaintsFollow, "it also waits for a taint of the other effect")
}

func TestTaintsFollowKnowsThatANodeIsIllInOneWay(t *testing.T) {
	c := newCourt(t, 4)
	c.fall("a-0")
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable), noSchedule(corev1.TaintNodeNotReady))
	c.run(8 * time.Second)
	c.guilty(judge.TaintsFollow)
}

// A taint that should be there since a moment ago is not late because of
// another that should not have been there for long.
func TestTaintsFollowEachForItself(t *testing.T) {
	c := newCourt(t, 4)
	m := c.world.Machine("a-0")
	register := m.Unregister()
	c.silence("a-0")
	c.run(time.Second)
	register() // it has the taint of a new node, and says nothing
	c.run(20 * time.Second)
	m.Press()
	c.restore["a-0"]()
	c.run(5 * time.Second)
	c.clean()
	c.run(5 * time.Second)
	require.Contains(t, c.found(), judge.TaintsFollow)
}
