package controller

import (
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/zone"
)

// hold says whether our own NoExecute taints act:
//
//	      the last ready node falls            all zones are disrupted
//	holdNone ─────────────────────► holdProvisional ───────────► holdOutage
//	  ▲  ▲                                │  │                       ▲  │
//	  │  └── they are not, once evaluated ┘  └──► holdPaused ────────┘  │
//	  │                                                │                │
//	  └───────── nodes may be acted against again ─────┴────────────────┘
//
// holdNone also goes to holdPaused and holdOutage directly. Controller.setHold
// is the one function that writes it.
type hold uint8

const (
	// holdNone: our taints act.
	holdNone hold = iota
	// holdProvisional: the taints are suspended until it is known whether all
	// zones are disrupted. That depends on unconfirmed nodes, or nodes that live
	// had no time to be heard since a blindness, or no node is ready and the zones
	// were not evaluated since. All workers may be busy with evictions: then
	// nothing asks for the next action, and no evaluation comes in between.
	holdProvisional
	// holdPaused: the policy of the cluster asks for a pause. The taints are
	// suspended and stay.
	holdPaused
	// holdOutage: every zone is disrupted. The taints are suspended and removed.
	holdOutage
)

func (h hold) String() string {
	return [...]string{"none", "provisional", "paused", "outage"}[h]
}

// setHold changes the hold.
func (c *Controller) setHold(now time.Time, next hold) {
	if next == c.hold {
		return
	}
	c.evictions.SetHold(now, HoldZones, "", next != holdNone)
	if c.hold == holdOutage {
		c.resumedAt = now
	}
	if c.hold == holdOutage || next == holdOutage {
		c.generation++ // other taints are wanted now
		c.Reevaluate()
	}
	c.hold = next
}

// count tells a node's zone how the node counts.
func (c *Controller) count(now time.Time, n *node) {
	counts := c.countsInZone(n)
	if n.counted && counts == n.counts && (n.blindnesses == c.blindnesses || counts.Unconfirmed) {
		return
	}
	before := c.countedReady(n)
	n.counts, n.counted = counts, true
	if n.blindnesses = c.blindnesses; counts.Unconfirmed {
		n.blindnesses = 0
	}
	c.zones.Observe(now, n, counts)
	c.zoneChanged(now, c.countedReady(n)-before)
}

// countsInZone returns how the node counts in its zone. A silent node does not
// count as ready, whatever its conditions say. Until that is confirmed it only
// holds what depends on it. So does a node that says it is ready, and was not
// heard since the last blindness.
func (c *Controller) countsInZone(n *node) zone.Node {
	counts := zone.Node{Zone: n.zone, Excluded: n.excluded}
	switch {
	case n.ready != corev1.ConditionTrue:
	case n.silence.lasts():
		counts.Unconfirmed = !n.silence.isConfirmed()
	default:
		counts.Ready = true
		counts.Unconfirmed = !c.health.HeardSinceBlindness(n.object.Name)
	}
	return counts
}

// countedReady is 1 for a node that counts in its zone and is ready for
// certain, else 0.
func (c *Controller) countedReady(n *node) int {
	if n.blindnesses == c.blindnesses && n.counts.Ready && !n.counts.Excluded {
		return 1
	}
	return 0
}

// followSight records that heartbeats can be heard again after a blindness, and
// reports whether that was not known. No node that was ready before it is ready
// for certain until it is heard.
func (c *Controller) followSight(now time.Time) (regained bool) {
	blind, _ := c.health.Blind(now)
	if blind == c.blind {
		return false
	}
	c.blind = blind
	c.blindnesses++
	c.regainedAt = now
	c.zones.Unconfirm(now, c.health.Sight(now).LostAt)
	c.zoneChanged(now, -c.ready)
	return true
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
	if evaluation.Phase != evaluation.From {
		c.phaseAt = now
	}
	for _, change := range evaluation.Changes {
		c.releases.SetLimit(now, zoneBudget, change.Zone, rate.Limit(change.Rate))
	}
	switch {
	case evaluation.Phase == zone.PhaseSuspended:
		c.setHold(now, holdOutage)
	case c.hold == holdOutage && evaluation.Phase != zone.PhaseActive:
		// Until nodes may be acted against again.
	case evaluation.Phase == zone.PhasePaused:
		c.setHold(now, holdPaused)
	case c.hold == holdPaused && evaluation.Phase != zone.PhaseActive:
		// Until then as well: what was held must not act in one burst.
	case evaluation.Phase == zone.PhaseHolding, !c.health.Sight(now).Settled():
		c.setHold(now, holdProvisional)
	default:
		c.setHold(now, holdNone)
	}
}

// Reevaluate has all nodes planned again by the next calls of Start, as if all
// had changed, except those that are steady. It repairs what a fault of this
// package has left wrong; nothing else depends on it.
func (c *Controller) Reevaluate() {
	c.unswept = len(c.ordered)
}

// sweep goes on to plan all nodes again. It goes from the last node to the
// first: if one is forgotten, only the last one moves.
func (c *Controller) sweep(now time.Time) {
	c.unswept = min(c.unswept, len(c.ordered))
	for visited := 0; c.unswept > 0 && visited < mostVisited; {
		c.unswept--
		visited++
		if n := c.ordered[c.unswept]; !c.isPlanned(n) {
			c.replan(now, n)
			visited += c.markPods(now, n)
		}
	}
}
