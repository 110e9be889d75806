package judge_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
)

func whileZoneDown(s *judge.Settings) { s.ZoneDown = true }

// stormy asks for 60 % to act, and for 80 % over a minute to act again.
func stormy(s *judge.Settings) {
	s.MinHealthy, s.ResumeHealthy, s.Window = 0.6, 0.8, time.Minute
}

func TestSparedInOutageWhileAZoneIsDown(t *testing.T) {
	tainted := func(change ...func(*judge.Settings)) *court {
		c := newCourt(t, 2, change...)
		c.checks = false
		c.fall("a-0", "a-1")
		c.run(wave)
		c.execute("a-0")
		return c
	}
	tainted().clean()
	tainted(whileZoneDown).guilty(judge.SparedInOutage)
}

func TestSparedInOutageWhileTooFewAreReady(t *testing.T) {
	tainted := func(fallen ...string) *court {
		c := newCourt(t, 5, stormy)
		c.checks = false
		c.fall(fallen...)
		c.run(wave)
		c.execute("a-0")
		return c
	}
	tainted("a-0", "a-1", "b-0", "b-1").clean("6 of 10 are enough")
	tainted("a-0", "a-1", "b-0", "b-1", "b-2").guilty(judge.SparedInOutage)
}

func TestSparedInOutageUntilItMayResume(t *testing.T) {
	after := func(wait time.Duration, back ...string) *court {
		c := newCourt(t, 5, stormy)
		c.checks = false
		c.fall("a-0", "a-1", "b-0", "b-1", "b-2")
		c.run(time.Minute)
		for _, name := range back {
			c.restore[name]()
		}
		c.runUntil(c.world.Elapsed() + 2*time.Second + wait) // a kubelet needs up to a second
		c.execute("a-0")
		return c
	}
	after(time.Hour, "b-0", "b-1").guilty(judge.SparedInOutage, "7 of 10 are too few to resume")
	after(55*time.Second, "b-0", "b-1", "b-2").guilty(judge.SparedInOutage)
	after(61*time.Second, "b-0", "b-1", "b-2").clean()
}

// In a pause our taints do not act and stay.
func TestAPauseHoldsOurTimersAndTakesNothingBack(t *testing.T) {
	paused := func() (c *court, pod string) {
		c = newCourt(t, 2, whileZoneDown)
		c.checks = false
		pod = c.ill("a-0")
		c.fall("b-0", "b-1")
		c.startClient() // it has not heard a-0
		c.run(2 * patience)
		return c, pod
	}
	c, pod := paused()
	c.evict(pod)
	c.guilty(judge.NeverEarly)
	c, _ = paused()
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
	c.guilty(judge.UntaintedByABeat)
	c, _ = paused()
	c.fall("a-1")
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
	c.clean("then all zones are down")
}

// A node that waits in a pause is not late, and is late once the pause is over.
func TestNoIdleTokenInAPause(t *testing.T) {
	c := newCourt(t, 2, whileZoneDown)
	c.fall("a-0", "b-0", "b-1")
	c.run(10 * time.Minute)
	c.clean()
	c.recover("b-0")
	c.run(grace)
	c.clean()
	c.run(time.Minute)
	c.guilty(judge.NoIdleToken)
}

func TestWithinRateOfAShareOfTheZone(t *testing.T) {
	tainted := func(share float64) *court {
		c := newCourt(t, 8, func(s *judge.Settings) { s.ZoneShare = share })
		c.checks = false
		c.fall("a-0", "a-1")
		c.run(wave + 10*time.Second)
		c.execute("a-0")
		c.run(5 * time.Second)
		c.execute("a-1")
		return c
	}
	tainted(0.02).guilty(judge.WithinRate, "0.16 nodes a second")
	tainted(0.03).clean("0.24 nodes a second")
}
