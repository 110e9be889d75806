package judge_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// fallen returns a court in which two nodes of a large zone fell at about the
// same time. They may be tainted now, by the rate one each ten seconds.
func fallen(t *testing.T) *court {
	c := newCourt(t, 8)
	c.checks = false
	c.fall("a-0", "a-1")
	c.run(wave + 10*time.Second)
	return c
}

func TestWithinRate(t *testing.T) {
	c := fallen(t)
	c.execute("a-0")
	c.run(10 * time.Second)
	c.execute("a-1")
	c.clean()

	c = fallen(t)
	c.execute("a-0")
	c.run(9 * time.Second)
	c.execute("a-1")
	c.guilty(judge.WithinRate)
}

// Each zone has its own, and to swap one taint for the other costs none.
func TestWithinRateIsPerZoneAndForNewTaintsOnly(t *testing.T) {
	c := newCourt(t, 8)
	c.checks = false
	c.fall("a-0", "b-1")
	c.run(wave)
	c.execute("a-0")
	c.execute("b-1")
	swapped := c.world.Node("a-0").Spec.Taints[1]
	swapped.Key = corev1.TaintNodeNotReady
	c.setTaints("a-0", swapped)
	c.clean()
}

// A call that fails has cost its token.
func TestWithinRateCountsFailures(t *testing.T) {
	c := fallen(t)
	end := c.world.FailCalls(1, []int{500}, network.Patch)
	c.execute("a-0")
	end()
	c.execute("a-0")
	c.guilty(judge.WithinRate)
}

// While another call about a node is under way it cannot be tainted. A client
// that takes a token for it all the same, and uses it later, uses too many then
// (seed 513424).
func TestWithinRateCountsWhenACallIsSent(t *testing.T) {
	late := func(wait time.Duration) *court {
		c := newCourt(t, 8)
		c.checks = false
		c.fall("a-0", "a-1", "a-2")
		c.run(wave)
		c.execute("a-0")
		c.failSlowly("a-1", 25*time.Second)
		c.execute("a-1")
		c.run(wait)
		c.execute("a-2")
		return c
	}
	late(10 * time.Second).clean()
	late(9 * time.Second).guilty(judge.WithinRate)
}

// In a small zone that is mostly down nothing is done.
func TestWithinRateKnowsDisruptedZones(t *testing.T) {
	c := newCourt(t, 5)
	c.checks = false
	c.fall("a-0", "a-1", "a-2")
	c.run(wave)
	c.execute("a-0")
	c.guilty(judge.WithinRate)

	c = newCourt(t, 3)
	c.checks = false
	c.fall("a-0", "a-1", "a-2")
	c.run(wave)
	c.execute("a-0")
	c.clean("all of a zone is down: the others can take its pods")
}

// What the client has not been told it cannot know.
func TestWithinRateIsByWhatTheClientSees(t *testing.T) {
	c := newCourt(t, 5)
	c.checks = false
	c.fall("a-0")
	c.world.BreakWatches(func(*network.Client, network.Kind) bool { return true })
	for _, other := range []string{"a-1", "a-2"} {
		restore := c.world.Machine(other).Fail()
		defer restore()
	}
	c.run(wave)
	c.calmSince = c.world.Elapsed() // there was none while the watches were broken
	c.execute("a-0")
	c.clean()
}

// The second node of a wave waits only for as long as the first.
func TestKnownFirst(t *testing.T) {
	fell := func() (c *court, first time.Duration) {
		c = newCourt(t, 8)
		c.checks = false
		c.fall("a-0")
		first = c.world.Elapsed()
		c.runUntil(first + 5*time.Second)
		restore := c.world.Machine("a-1").Fail()
		t.Cleanup(restore)
		c.run(time.Second)
		return c, first
	}
	c, first := fell()
	c.runUntil(first + wave)
	c.execute("a-1")
	c.clean()

	c, first = fell()
	c.runUntil(first + wave - time.Second)
	c.execute("a-1")
	c.guilty(judge.KnownFirst)

	c, first = fell()
	c.runUntil(first + wave + time.Second)
	c.execute("a-0")
	restore := c.world.Machine("a-2").Fail()
	t.Cleanup(restore)
	c.run(wave - 500*time.Millisecond)
	c.execute("a-2")
	c.guilty(judge.KnownFirst, "another wave has begun with it")
}

// A process asks for the lease of a silent node when it leads. So if the grace
// period has ended before that, it cannot be said when the node's wave begins.
func TestKnownFirstAfterATakeover(t *testing.T) {
	takeover := func(lateBy time.Duration) *court {
		c := emptyCourt(t, 8)
		c.checks = false
		c.startFollower()
		c.run(time.Minute)
		lead := func() { c.world.Note(network.Note{Kind: network.Leads, Client: c.client}) }
		if lateBy == 0 {
			lead()
		}
		c.silence("a-0")
		c.expire("a-0")
		fell := c.world.Elapsed()
		c.judge.Check()
		c.run(lateBy)
		if lateBy > 0 {
			lead()
		}
		leads := c.world.Elapsed()
		c.declare("a-0")
		c.restore["a-0"]()
		for _, next := range []struct {
			node string
			at   time.Duration
		}{{"a-1", 19 * time.Second}, {"a-2", 28 * time.Second}} {
			c.runUntil(fell + next.at)
			restore := c.world.Machine(next.node).Fail()
			c.run(time.Second)
			restore()
		}
		c.runUntil(fell + 32*time.Second)
		t.Cleanup(c.world.Machine("a-3").Fail())
		c.runUntil(max(leads+grace, fell+39*time.Second) + time.Second)
		c.execute("a-3")
		return c
	}
	takeover(0).guilty(judge.KnownFirst)
	takeover(10 * time.Second).clean()
}

// A process that hears nothing, of no node and in answer to no write, takes that
// for an outage, in which no silence counts. So it cannot be said when a node's
// wave begins whose grace period that falls into.
func TestKnownFirstAfterNothingWasHeard(t *testing.T) {
	deaf := func(unanswered time.Duration) *court {
		c := newCourt(t, 8, func(s *judge.Settings) { s.BlindAfter = 6 * time.Second })
		c.checks = false
		asked := func(until time.Duration) {
			for c.world.Elapsed() < until {
				c.call(&network.Call{Verb: network.Get, Kind: network.LeaderLease})
				c.run(2 * time.Second)
			}
		}
		asked(c.world.Elapsed() + 2*grace)
		c.silence("a-0")
		fell := c.world.Machine("a-0").LastBeat + grace
		asked(fell - 10*time.Second)
		back := c.world.Down(unanswered > 0, false)
		c.run(unanswered)
		back()
		asked(fell - 3*time.Second)
		c.expire("a-0")
		c.judge.Check()
		asked(fell + 8*time.Second)
		c.declare("a-0")
		c.restore["a-0"]()
		asked(fell + 12*time.Second)
		t.Cleanup(c.world.Machine("a-1").Fail())
		c.runUntil(fell + 21*time.Second)
		c.execute("a-1")
		return c
	}
	deaf(0).guilty(judge.KnownFirst)
	deaf(7 * time.Second).clean()
}

func TestInOrder(t *testing.T) {
	queue := func() *court {
		c := newCourt(t, 8)
		c.checks = false
		c.fall("a-0")
		c.run(2 * wave)
		c.fall("a-1")
		c.run(2 * wave)
		return c
	}
	c := queue()
	c.execute("a-0")
	c.run(11 * time.Second)
	c.execute("a-1")
	c.clean()

	c = queue()
	c.execute("a-1")
	c.guilty(judge.InOrder)

	c = queue()
	end := c.world.FailCalls(1, []int{500}, network.Patch)
	c.execute("a-0")
	end()
	c.run(11 * time.Second)
	c.execute("a-1")
	c.clean("the first one has failed, and waits for its next try")
}

// A process that stood still finds a node silent later, so it may come after
// one that fell meanwhile.
func TestInOrderAfterAPause(t *testing.T) {
	paused := func(pauses bool) *court {
		c := newCourt(t, 8)
		c.checks = false
		c.silence("a-0")
		if pauses {
			c.client.Pause()
			c.run(time.Second)
			c.client.Resume()
		}
		c.expire("a-0")
		c.judge.Check()
		c.declare("a-0")
		c.run(2 * wave)
		c.fall("a-1")
		c.run(2 * wave)
		c.execute("a-1")
		return c
	}
	paused(false).guilty(judge.InOrder)
	paused(true).clean()
}

func TestSparedInOutageWhileAllZonesAreDown(t *testing.T) {
	c := newCourt(t, 1)
	c.checks = false
	c.fall("a-0", "b-0")
	c.run(wave)
	c.execute("a-0")
	c.guilty(judge.SparedInOutage)
}

// That all of its calls were under way until now is no excuse.
func TestSparedInOutageWhenThereIsACallToSpareAgain(t *testing.T) {
	c := newCourt(t, 1)
	c.checks = false
	c.fall("a-0")
	c.run(wave)
	end := c.world.SlowCalls(network.Span{Min: 3 * time.Second, Max: 3 * time.Second})
	for range concurrent - 1 {
		c.client.Call(&network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-0"}, func(*network.Call) {})
	}
	end()
	restore := c.world.Machine("b-0").Fail()
	defer restore()
	c.failSlowly("a-0", 3*time.Second)
	c.execute("a-0")
	c.guilty(judge.SparedInOutage)
}

func TestSparedInOutageForAGraceAfterwards(t *testing.T) {
	after := func(wait time.Duration) *court {
		c := newCourt(t, 2)
		c.checks = false
		c.fall("a-0", "a-1", "b-0", "b-1")
		c.run(time.Minute)
		c.restore["b-0"]()
		c.runUntil(c.world.Elapsed() + 2*time.Second + wait) // a kubelet needs up to a second
		c.execute("a-0")
		return c
	}
	after(grace - 5*time.Second).guilty(judge.SparedInOutage)
	after(grace + time.Second).clean()
}

func TestSparedInOutageForAGraceAfterTheStart(t *testing.T) {
	after := func(wait time.Duration) *court {
		c := newCourt(t, 4)
		c.checks = false
		c.fall("a-0")
		c.startClient()
		c.runUntil(c.world.Elapsed() + wait)
		c.execute("a-0")
		return c
	}
	after(grace - 5*time.Second).guilty(judge.SparedInOutage)
	after(grace + time.Second).clean()
}

// The truth counts too, for a client that could see it: that a client has seen
// nothing is no excuse when its watches work. A test cannot make a client not
// see; so this judge is told that all is well while the watches are broken.
func TestSparedInOutageByTheTruth(t *testing.T) {
	c := newCourt(t, 1)
	c.checks = false
	c.fall("a-0")
	c.world.BreakWatches(func(*network.Client, network.Kind) bool { return true })
	restore := c.world.Machine("b-0").Fail()
	defer restore()
	c.run(wave)
	c.execute("a-0")
	c.guilty(judge.SparedInOutage)
}

func TestSparedInOutageWantsTheTaintsTakenBack(t *testing.T) {
	outage := func(takeBack bool) *court {
		c := newCourt(t, 1)
		c.ill("a-0")
		c.fall("b-0")
		if takeBack {
			c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
		}
		c.checks = true
		c.run(time.Minute)
		return c
	}
	outage(true).clean()
	outage(false).guilty(judge.SparedInOutage)
}

func TestNoIdleToken(t *testing.T) {
	c := fallen(t)
	c.execute("a-0")
	c.run(8 * time.Second)
	c.judge.Check()
	c.clean("the next token is not there yet")
	c.run(9 * time.Second)
	c.judge.Check()
	c.guilty(judge.NoIdleToken, "a-1 waits")

	c = newCourt(t, 8)
	c.fall("a-0")
	c.run(wave)
	c.clean("a wave has to pass first")
	c.run(8 * time.Second)
	c.guilty(judge.NoIdleToken)
}

// A process that does not lead for a moment uses tokens without a call: after
// that the bucket may have to fill first.
func TestNoIdleTokenDoesNotCountOnTokensFromBeforeTheCalm(t *testing.T) {
	after := func(calm time.Duration) *court {
		c := newCourt(t, 4, func(s *judge.Settings) { s.Rate, s.CalmBound = 0.02, time.Second })
		c.calmSince = calm
		c.fall("a-0")
		c.run(time.Minute)
		return c
	}
	after(calmBound).guilty(judge.NoIdleToken)
	after(calmBound + 80*time.Second).clean()
}

// A client that hears of no node has no reason to act on one. That there was no
// calm in which it had to know so is no excuse.
func TestNothingIsDoneWhileNoNodeIsHeard(t *testing.T) {
	tainted := func(after time.Duration) *court {
		c := newCourt(t, 2)
		c.checks = false
		c.silence("a-0")
		c.expire("a-0")
		c.declare("a-0")
		c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
		c.run(wave)
		c.silence("a-1", "b-0", "b-1")
		last := max(c.world.Machine("a-1").LastBeat, c.world.Machine("b-0").LastBeat, c.world.Machine("b-1").LastBeat)
		for c.world.Elapsed() < last+grace+after {
			c.run(time.Second)
			c.calmSince = c.world.Elapsed()
		}
		c.execute("a-0")
		return c
	}
	tainted(-time.Second).clean()
	tainted(10 * time.Second).guilty(judge.SparedInOutage)
}
