package controller

import (
	"iter"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// Blind returns how much time was blind; see nodehealth.Monitor.
func (c *Controller) Blind(now time.Time) (time.Duration, bool) { return c.health.Blind(now) }

// Zones returns the zones as they were last evaluated, by name. While the
// cluster is held none has a rate.
func (c *Controller) Zones() []zone.Status {
	all := c.zones.Zones()
	if c.Phase() == zone.PhaseHolding {
		for i := range all {
			all[i].Rate = 0
		}
	}
	return all
}

// Phase returns what the cluster as a whole allows. It is Holding also while
// heartbeats cannot be heard, and until silence counts again.
func (c *Controller) Phase() zone.Phase {
	if phase := c.zones.Phase(); phase != zone.PhaseActive || c.hold == holdNone {
		return phase
	}
	return zone.PhaseHolding
}

// Queued returns how many nodes of a zone wait for their NoExecute taint.
func (c *Controller) Queued(zone string) int { return c.queued[zone] }

// Damped returns how many writes to nodes and pods had to wait because their
// node had changed often shortly before. Those that a later change made
// needless are counted, too.
func (c *Controller) Damped() int { return c.damped }

// Waiting returns how many pods wait to be evicted, now or later.
func (c *Controller) Waiting() int { return c.evictions.Waiting() }

// Acting returns how many of them are being evicted; see eviction.Tracker.
func (c *Controller) Acting() int { return c.evictions.Acting() }

// Overdue returns since when the pod should have left that is overdue the
// longest; see eviction.Tracker.
func (c *Controller) Overdue(now time.Time) (since time.Time, is bool) {
	return c.evictions.Overdue(now)
}

// Delayed returns how many pods wait for a share of a budget; see
// eviction.Tracker.
func (c *Controller) Delayed(budget string) int { return c.evictions.Delayed(budget) }

// PendingFrom goes through a part of those that wait; see eviction.Tracker.
func (c *Controller) PendingFrom(cursor *eviction.Cursor, most int) iter.Seq[eviction.Pending] {
	return c.evictions.PendingFrom(cursor, most)
}

// Len returns how many nodes and pods the controller knows.
func (c *Controller) Len() (nodes, pods int) { return len(c.nodes), len(c.pods) }

// Doubts returns what delays declarations and NoExecute taints now, in the order
// of DoubtKinds.
func (c *Controller) Doubts(now time.Time) []Doubt { return appendDoubts(nil, c.doubtFacts(now)) }

// Doubted returns how long there were doubts of a kind, all together.
func (c *Controller) Doubted(now time.Time, kind DoubtKind) time.Duration {
	i := slices.Index(doubtKinds[:], kind)
	if i < 0 {
		return 0
	}
	r := &c.doubts[i]
	if r.since.IsZero() {
		return r.lasted
	}
	return r.lasted + max(now.Sub(r.since), 0)
}

// Refuted returns how many silences a live read has refuted.
func (c *Controller) Refuted() int { return c.reads.refuted }

// Unread returns how many live reads have failed.
func (c *Controller) Unread() int { return c.reads.unread }

// Unconfirmed returns how many silent nodes have not been confirmed.
func (c *Controller) Unconfirmed() int { return c.reads.unconfirmed }

// Undeclared returns how many confirmed silent nodes have yet to be declared.
func (c *Controller) Undeclared() int { return c.declarations.Len() }

// noteDoubts records the doubts that there are now, and what is to be told.
func (c *Controller) noteDoubts(now time.Time) {
	c.doubtsNow = appendDoubts(c.doubtsNow[:0], c.doubtFacts(now))
	c.events = c.doubts.note(now, c.doubtsNow, c.grace, c.events)
}

func (c *Controller) doubtFacts(now time.Time) doubtFacts {
	reads := &c.reads
	return doubtFacts{
		sight:  c.health.Sight(now),
		behind: reads.behind, refutedAt: reads.refutedAt,
		unconfirmed: reads.unconfirmed, suspectedAt: reads.suspectedAt,
		unread: reads.fail(len(c.suspects)), failedAt: reads.failedAt,
		phase: c.zones.Phase(), phaseAt: c.phaseAt,
	}
}
