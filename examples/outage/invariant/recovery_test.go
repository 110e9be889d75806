package invariant_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/invariant"
)

// disruptedZone returns a court in which three of five nodes of zone a are down
// for a minute.
func disruptedZone(t *testing.T) *court {
	c := newCourt(t, 5)
	c.checks = false
	c.fall("a-0", "a-1", "a-2")
	c.run(time.Minute)
	return c
}

// back restores a machine that is heard in some fraction of a second.
func (c *court) back(node string) { c.restore[node]() }

// A node that is back, and is heard a moment later, is not tainted because one
// was heard that had returned with it.
func TestSparedOnReturn(t *testing.T) {
	taintedAfter := func(passed time.Duration) *court {
		c := disruptedZone(t)
		c.recover("a-0")
		c.run(passed - 2*time.Second)
		c.back("a-1")
		require.Greater(t, c.world.Elapsed(), c.world.Machine("a-1").LastBeat+grace)
		c.execute("a-1")
		return c
	}
	taintedAfter(2 * time.Second).guilty(invariant.SparedOnReturn)
	taintedAfter(wave - 3*time.Second).guilty(invariant.SparedOnReturn)
	taintedAfter(wave + time.Second).clean("others that had returned were heard by then")
}

func TestSparedOnReturnIsForNodesThatAreBackAndWereNotHeard(t *testing.T) {
	c := disruptedZone(t)
	c.recover("a-0")
	c.execute("a-1")
	c.clean("it is dead")

	c = disruptedZone(t)
	c.back("a-1")
	c.execute("a-1")
	c.guilty(invariant.WithinRate, "the disruption goes on")

	c = newCourt(t, 8)
	c.checks = false
	c.fall("a-0")
	c.run(wave)
	c.back("a-0")
	c.execute("a-0")
	c.clean("there was no disruption: its time had come")
}

// A zone that flaps is held for one wave of its better time.
func TestSparedOnReturnInAZoneThatFlaps(t *testing.T) {
	flaps := func(times int) *court {
		c := disruptedZone(t)
		c.recover("a-0")
		for range times {
			c.run(3 * time.Second)
			restore := c.world.Machine("a-0").Fail()
			c.run(20 * time.Second)
			restore()
		}
		c.run(time.Second)
		c.back("a-1")
		c.execute("a-1")
		return c
	}
	flaps(1).guilty(invariant.SparedOnReturn, "5 s and 1 s are less than a wave")
	flaps(3).clean("5 s, 3 s, 3 s and 1 s are more")
}

// A dead node is tainted when the wave has passed, and what its client may
// take.
func TestNoIdleTokenAfterADisruption(t *testing.T) {
	recovered := func() *court {
		c := disruptedZone(t)
		c.recover("a-0")
		return c
	}
	c := recovered()
	c.run(wave + 3*time.Second)
	c.judge.Check()
	require.NotContains(t, c.found(), invariant.NoIdleToken)
	c.run(3 * time.Second) // more than the bound, and the token was there before
	c.judge.Check()
	require.Contains(t, c.found(), invariant.NoIdleToken)

	c = recovered()
	for range 4 { // well for 8 s, and ill for 30 s
		c.run(8 * time.Second)
		restore := c.world.Machine("a-0").Fail()
		c.run(30 * time.Second)
		restore()
	}
	c.run(6 * time.Second)
	c.judge.Check()
	require.Contains(t, c.found(), invariant.NoIdleToken, "it must not be held for ever")
}

// With a secondary rate nodes are tainted while the zone is disrupted, and for a
// wave after that as fast.
func TestSparedOnReturnIsForZonesWithoutARate(t *testing.T) {
	c := newCourt(t, 5, func(s *invariant.Settings) { s.LargeZone = 4 })
	c.checks = false
	c.fall("a-0", "a-1", "a-2")
	c.run(time.Minute)
	c.recover("a-0")
	c.back("a-1")
	c.execute("a-1")
	c.clean()
}
