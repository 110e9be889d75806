package controller

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/zone"
)

// setHold changes the hold.
func (c *Controller) setHold(now time.Time, next hold) {
	if next == c.hold {
		return
	}
	switch {
	case next == holdNone:
		c.evictions.SuspendTaints(now, nil)
	case c.hold == holdNone:
		c.evictions.SuspendTaints(now, taints.OwnsNoExecute)
	}
	if c.hold == holdOutage {
		c.resumedAt = now
	}
	c.hold = next
}

// zoneChanged records that a zone has changed, and how many more of the nodes
// that count are ready.
func (c *Controller) zoneChanged(now time.Time, more int) {
	c.changedAt = now
	lastFell := more < 0 && c.ready+more == 0
	c.ready += more
	if lastFell && c.synced && c.hold == holdNone {
		c.setHold(now, holdProvisional)
	}
}

// evaluateLasting evaluates the zones before they change, if they have been as
// they are for a while. Start is not called while all workers are busy. With an
// API server that does not answer, that can be long enough for an outage of all
// zones to come and go. A shorter state does not count: a list may show a dead
// cluster between its first node and its last.
func (c *Controller) evaluateLasting(now time.Time) {
	if c.synced && !c.changedAt.IsZero() && now.Sub(c.changedAt) >= lastingState {
		c.evaluateZones(now)
	}
}

const lastingState = time.Second

// evaluateZones applies the states that the zones are in now.
func (c *Controller) evaluateZones(now time.Time) {
	c.changedAt = time.Time{}
	evaluation := c.zones.Evaluate(now)
	for _, change := range evaluation.Changes {
		c.releases.SetLimit(now, zoneBudget, change.Zone, rate.Limit(change.Rate))
	}
	if c.hold == holdProvisional && evaluation.Phase != zone.PhaseSuspended {
		c.setHold(now, holdNone)
	}
	if evaluation.Phase == evaluation.From {
		return
	}
	switch evaluation.Phase {
	case zone.PhaseSuspended:
		c.setHold(now, holdOutage)
		for _, n := range c.ordered {
			c.cancelEmptying(now, n)
		}
		c.Reevaluate(now)
	case zone.PhaseActive:
		c.setHold(now, holdNone)
		c.Reevaluate(now)
	case zone.PhaseRecovering:
	}
}

// Reevaluate plans all nodes again, as if all had changed, except those that
// are steady. It repairs what a fault of this package has left wrong; nothing
// else depends on it.
func (c *Controller) Reevaluate(now time.Time) {
	for _, n := range c.ordered {
		c.plan(now, n)
		c.markPods(now, n)
	}
}
