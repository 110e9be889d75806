package controller

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// Doubts returns what delays declarations and NoExecute taints now, and how
// long at most, in the order of DoubtKinds.
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
	c.events = c.doubts.note(now, c.doubtsNow, c.doubtBase.grace, c.events)
}

func (c *Controller) doubtFacts(now time.Time) doubtFacts {
	f, reads := c.doubtBase, &c.reads
	f.now, f.sight, f.regainedAt = now, c.health.Sight(now), c.regainedAt
	f.behind, f.refutedAt = reads.behind, reads.refutedAt
	f.unconfirmed, f.suspectedAt = reads.unconfirmed, reads.suspectedAt
	f.unread, f.failedAt = reads.fail(len(c.suspects)), reads.failedAt
	f.phase, f.phaseAt = c.zones.Phase(), c.phaseAt
	f.resumeAt, _ = c.zones.Next(now)
	f.undeclared = c.declarations.Len()
	return f
}

// newDoubtBase returns the facts that never change.
func (c *Controller) newDoubtBase() doubtFacts {
	health := c.health.Config()
	base := doubtFacts{
		grace:    health.GracePeriod,
		unbroken: health.UnbrokenPeriod,
		timeout:  health.SightTimeout,
		backoff:  c.config.Backoff.Longest(),
		window:   cmp.Or(c.config.Zone.StabilizationWindow, health.GracePeriod),
	}
	if limit := c.config.Requests.PerSecond; limit != rate.Inf {
		base.perSecond = float64(limit) * declarationsPart
	}
	return base
}
