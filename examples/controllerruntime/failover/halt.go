package failover

import (
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// The holds of moves.
const (
	holdHalt    = "halt"    // everything: an operator says so
	holdRegions = "regions" // our taints everywhere: regions are disrupted, or not judged yet
	holdHeard   = "heard"   // unreachable on a cluster that is heard: it is about to be removed
	holdReady   = "ready"   // not-ready on a cluster that is not so any more: likewise
)

func holds() []eviction.Hold {
	return []eviction.Hold{
		{Name: holdHalt}, {Name: holdRegions, Taints: isOurs},
		{Name: holdHeard, Taints: isUnreachable}, {Name: holdReady, Taints: isNotReady},
	}
}

// Halt holds all moves of bindings and all new taints until Resume. Nothing is
// lost: clusters and bindings are observed as ever, silent clusters are
// declared, and what recovers loses its taint. A move under way learns that it
// is canceled, unless its patch was sent. A second Halt changes nothing.
func (c *Core) Halt(now time.Time) {
	c.moves.SetHold(now, holdHalt, "", true)
	c.markAll(now)
}

// Resume ends what Halt began. What became due meanwhile happens at the rates
// of the config.
func (c *Core) Resume(now time.Time) {
	c.moves.SetHold(now, holdHalt, "", false)
	c.markAll(now)
}

// Halted reports whether moves and new taints are held.
func (c *Core) Halted() bool { return c.moves.Held(holdHalt, "") }
