package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/zone"
)

// WaitReason is why a node that is silent or not ready is not acted on now. Some
// hold all nodes: halted, and those that are kinds of doubt. The others hold one
// node.
type WaitReason string

// Kinds of doubt that are reasons.
const (
	WaitBlind       = WaitReason(DoubtBlind)
	WaitWatch       = WaitReason(DoubtWatch)
	WaitUnread      = WaitReason(DoubtUnread)
	WaitUnconfirmed = WaitReason(DoubtUnconfirmed)
	WaitHolding     = WaitReason(DoubtHolding)
	WaitSuspended   = WaitReason(DoubtSuspended)
	WaitPaused      = WaitReason(DoubtPaused)
	WaitRecovering  = WaitReason(DoubtRecovering)
)

// Other reasons.
const (
	// WaitHalted: an operator has halted the controller; see [Controller.Halt].
	WaitHalted WaitReason = "halted"
	// WaitRate: the rate of its zone is zero.
	WaitRate WaitReason = "rate"
	// WaitTurn: its turn at the rate of its zone has not come.
	WaitTurn WaitReason = "turn"
	// WaitTimeout: Config.PodEvictionTimeout is not over, in EvictionModeNode.
	WaitTimeout WaitReason = "timeout"
	// WaitRequests: its write waits for the budget of requests, or is under way.
	WaitRequests WaitReason = "requests"
	// WaitFailing: writes to it fail, or another client sets them back.
	WaitFailing WaitReason = "failing"
	// WaitHeard: it is Unknown, and was heard within its grace period, so its
	// kubelet is about to report what it is.
	WaitHeard WaitReason = "heard"
)

// WaitReasons are all reasons.
func WaitReasons() []WaitReason { return slices.Clone(waitReasons[:]) }

var waitReasons = [...]WaitReason{
	WaitBlind, WaitWatch, WaitUnread, WaitUnconfirmed, WaitHolding, WaitSuspended, WaitPaused,
	WaitRecovering, WaitHalted, WaitRate, WaitTurn, WaitTimeout, WaitRequests, WaitFailing,
	WaitHeard,
}

// String says in plain words what is waited for.
func (r WaitReason) String() string {
	return map[WaitReason]string{
		WaitBlind:       "heartbeats may have been missed",
		WaitWatch:       "the watch of leases is behind: a live read shows its heartbeat",
		WaitUnread:      "live reads of leases fail",
		WaitUnconfirmed: "a live read of its lease has yet to confirm that it is silent",
		WaitHolding:     "all zones may be down, which is not confirmed",
		WaitSuspended:   "all zones are down",
		WaitPaused:      "the policy for the cluster asks for a pause",
		WaitRecovering:  "a stabilization window is under way",
		WaitHalted:      "an operator has halted the controller",
		WaitRate:        "the rate of its zone is zero",
		WaitTurn:        "its turn at the rate of its zone has not come",
		WaitTimeout:     "the pod eviction timeout is not over",
		WaitRequests:    "its write waits for the budget of requests",
		WaitFailing:     "writes to it fail, or are set back by another client",
		WaitHeard:       "it was heard within its grace period, and its kubelet has yet to report",
	}[r]
}

// holdsAll reports whether the reason holds all nodes. An Event about the
// leader's lease says that once.
func (r WaitReason) holdsAll() bool {
	return r == WaitHalted || slices.Contains(doubtKinds[:], DoubtKind(r))
}

// A NodeWait says why a node is not acted on: it is silent or not ready, and
// has no NoExecute taint of ours. In EvictionModeNode it was not emptied.
type NodeWait struct {
	Node, Zone string
	Reason     WaitReason
	// Since is when it fell silent, or was reported not ready.
	Since time.Time
}

// NodeWaits returns those of the nodes that wait which are among the next most
// after the first ones, in an order that stays while no node is deleted. So a
// caller can go through all nodes of a large cluster in several turns.
func (c *Controller) NodeWaits(now time.Time, first, most int) []NodeWait {
	var waits []NodeWait
	for _, n := range c.ordered[min(first, len(c.ordered)):min(first+most, len(c.ordered))] {
		if wait, waiting := c.waitOf(now, n); waiting {
			waits = append(waits, wait)
		}
	}
	return waits
}

// waitOf returns why a node is not acted on. It is false if the node is acted
// on, or is neither silent nor reported not ready.
func (c *Controller) waitOf(now time.Time, n *node) (NodeWait, bool) {
	wait := NodeWait{Node: n.object.Name, Zone: n.zone}
	switch {
	case c.isActedOn(n):
		return NodeWait{}, false
	case n.notReady():
		wait.Since = n.notReadySince
	case n.silence.lasts():
		wait.Since = n.silence.since
	case c.health.Silent(wait.Node) && !c.health.Returning(wait.Node):
		// It was declared, and its record says something else without a heartbeat.
		wait.Since, _ = c.health.LastHeartbeat(wait.Node)
	default:
		return NodeWait{}, false
	}
	switch {
	case c.wantsRelease(n):
		wait.Reason = c.whyUnreleased(now, n)
	case n.silence.lasts():
		wait.Reason = c.whyUndeclared(now, n)
	case n.behind:
		wait.Reason = WaitWatch
	case !n.notReady():
		wait.Reason = WaitFailing
	default:
		wait.Reason = WaitHeard
	}
	return wait, true
}

func (c *Controller) isActedOn(n *node) bool {
	if c.config.EvictionMode == EvictionModeNode {
		return n.emptied
	}
	return hasNoExecute(n.object.Spec.Taints)
}

// whyUndeclared returns why a silent node is not declared.
func (c *Controller) whyUndeclared(now time.Time, n *node) WaitReason {
	s := n.silence
	reads := s.state == suspected || s.state == reading
	declaration, _ := c.declarations.Get(n.object.Name)
	switch {
	case (reads || c.config.DeclareUnconfirmed) && !c.health.Sight(now).Counts():
		return WaitBlind
	case reads && (s.failures > 0 || c.reads.failures > 0):
		return WaitUnread
	case reads && !s.isConfirmed():
		return WaitUnconfirmed
	case declaration.Attempts > 0:
		return WaitFailing
	}
	return WaitRequests
}

// whyUnreleased returns why a node that wants to be released is not.
func (c *Controller) whyUnreleased(now time.Time, n *node) WaitReason {
	if n.state.holdsToken() {
		return WaitRequests
	}
	if c.Halted() {
		return WaitHalted
	}
	switch c.Phase() {
	case zone.PhaseActive:
		return c.whyQueued(now, n)
	case zone.PhasePaused:
		return WaitPaused
	case zone.PhaseSuspended:
		return WaitSuspended
	case zone.PhaseRecovering:
		return WaitRecovering
	case zone.PhaseHolding:
		if !c.health.Sight(now).Settled() {
			return WaitBlind
		}
	}
	return WaitHolding
}

// whyQueued returns why a node waits while nodes may be acted against.
func (c *Controller) whyQueued(now time.Time, n *node) WaitReason {
	if limit, _ := c.releases.Limit(zoneBudget, n.zone); limit == 0 {
		return WaitRate
	}
	e, queued := c.releases.Find(n.object.Name)
	if !queued {
		return WaitTurn // no sweep has come to it yet
	}
	if turn, scheduled := c.releases.Due(e); scheduled && turn.After(now) {
		item, _ := c.releases.Get(n.object.Name)
		switch {
		case item.Attempts > 0:
			return WaitFailing
		case c.config.EvictionMode == EvictionModeNode:
			return WaitTimeout
		}
		return WaitTurn // how disrupted its zone is becomes known only then
	}
	if _, blocked := c.releases.Blocking(e); blocked {
		return WaitTurn
	}
	return WaitRequests
}

// DescribeZone says in plain words how a zone is, and how many of its nodes
// wait for its rate.
func DescribeZone(z zone.Status, queued int) string {
	return fmt.Sprintf("Zone %q is in state %s with %d of %d nodes ready: %v nodes a second, %d waiting.",
		z.Zone, z.State, z.Counts.Ready, z.Counts.Size(), z.Rate, queued)
}
