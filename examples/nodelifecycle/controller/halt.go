package controller

import (
	"time"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// The names of the holds of evictions, as eviction.Pending has them.
const (
	// HoldHalt: an operator has halted the controller.
	HoldHalt = "halt"
	// HoldZones: the taints of this controller evict nothing anywhere, because
	// zones are disrupted, or may be.
	HoldZones = "zones"
	// HoldReady: the taints of this controller evict nothing from a node, because
	// it reports that it is ready.
	HoldReady = "ready"
)

// holds are the holds of the eviction tracker. The first one that holds a pod is
// shown.
func holds() []eviction.Hold {
	return []eviction.Hold{
		{Name: HoldHalt},
		{Name: HoldZones, Taints: taints.OwnsNoExecute, Requests: true},
		{Name: HoldReady, Taints: taints.OwnsNoExecute},
	}
}

// Halt holds all evictions and all NoExecute taints at once, until Resume. With
// it an operator stops the controller without ending it. A call that is under
// way is not taken back, and nothing follows it. All else goes on: nodes are
// declared Unknown and tainted NoSchedule, their pods are marked not ready,
// what recovers loses its taints, and deadlines pass. A second Halt changes
// nothing.
func (c *Controller) Halt(now time.Time) { c.evictions.SetHold(now, HoldHalt, "", true) }

// Resume ends what Halt began. Nodes that wait are tainted at the rates of
// their zones, and pods that became due meanwhile leave in the order of their
// deadlines. Nothing was lost, so no deadline begins again.
func (c *Controller) Resume(now time.Time) { c.evictions.SetHold(now, HoldHalt, "", false) }

// Halted reports whether all evictions and NoExecute taints are held.
func (c *Controller) Halted() bool { return c.evictions.Held(HoldHalt, "") }

// mayRelease reports whether any node may be released: our taints act, and the
// operator has not stopped them.
func (c *Controller) mayRelease() bool { return !c.Halted() && c.hold == holdNone }

// nextRelease returns when the rate of a zone next allows a node to be tainted.
func (c *Controller) nextRelease(now time.Time) (time.Time, bool) {
	if !c.mayRelease() {
		return time.Time{}, false
	}
	return c.releases.Next(now)
}

// startRelease hands out a node that the rate of its zone allows to be tainted,
// or to be emptied.
func (c *Controller) startRelease(now time.Time) (timedqueue.Item[string, *node], bool) {
	if !c.mayRelease() {
		return timedqueue.Item[string, *node]{}, false
	}
	return c.releases.Start(now)
}
