package failover

import (
	"maps"
	"slices"
	"time"
)

// Halt holds all moves of bindings and all new taints until Resume. Nothing is
// lost: clusters and bindings are observed as ever, silent clusters are
// declared, and what recovers loses its taint. A move under way learns that it
// is canceled, unless its patch was sent. A second Halt changes nothing.
func (c *Core) Halt(now time.Time) {
	c.halted = true
	c.moves.Halt(now)
	c.markAll(now)
}

// Resume ends what Halt began. What became due meanwhile happens at the rates
// of the config.
func (c *Core) Resume(now time.Time) {
	c.halted = false
	c.moves.Resume(now)
	c.markAll(now)
}

// Halted reports whether moves and new taints are held.
func (c *Core) Halted() bool { return c.halted }

// markAll schedules what each cluster waits for, in the order of names, so that
// the same events give the same tasks.
func (c *Core) markAll(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(c.clusters)) {
		c.mark(now, c.clusters[name])
	}
}
