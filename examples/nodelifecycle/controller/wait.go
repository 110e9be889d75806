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
	// WaitTimeout: Config.PodEvictionTimeout, or that of the node, is not over.
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

// DescribeZone says in plain words how a zone is, and how many of its nodes
// wait for its rate.
func DescribeZone(z zone.Status, queued int) string {
	return fmt.Sprintf("Zone %q is in state %s with %d of %d nodes ready: %v nodes a second, %d waiting.",
		z.Zone, z.State, z.Counts.Ready, z.Counts.Size(), z.Rate, queued)
}
