package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// node is the record of a node as it was observed last, and what follows from
// that. Each part writes its own fields.
type node struct {
	// Of a node that is well a heartbeat reads these four and no other field. So
	// they are in one place: with thousands of nodes none is in a cache.

	// state is written by writes.enter alone.
	state writeState
	// behind: its last sign of life is a live read, not the watch. It is written by
	// silences.setBehind alone.
	behind bool
	// blindnesses is silences.blindnesses when its zone counted it last, zero if
	// that was as unconfirmed. It is written by zones.count alone.
	blindnesses uint32
	// silence is that of a node that is silent and was not declared, else nil.
	silence *silence

	// What was observed, of the whole and objects.

	object *corev1.Node
	slot   int                    // in objects.ordered
	ready  corev1.ConditionStatus // empty while nothing was reported
	// excluded: it does not count in its zone. When thousands fall silent, reading
	// their labels takes half of the time.
	excluded bool
	// episode is a number that the node has had since Ready changed last, and that
	// no other node has. Pods are marked not ready once in each episode.
	episode int
	// fell is the episode with which the node last stopped being ready.
	fell int
	// notReadySince is since when the node is not ready, for EvictionModeNode.
	notReadySince time.Time

	// Of zones.

	// counts is how its zone counts it, once it is counted.
	counts  zone.Node
	counted bool

	// Of releases.

	zone string
	// emptied: all its pods were told to leave, in EvictionModeNode.
	emptied bool
	// turn is when the node may be released at the earliest, while it is in
	// releases.
	turn time.Time
	// release is what releases has handed out in the states released and
	// releasing.
	release timedqueue.Item[string, *node]

	// Of writes.

	// wanted is the list of taints to write in state due; nil if taints are right.
	// It was computed in the generation planned of zones.
	wanted  []corev1.Taint
	planned int
	pace    pace // of the writes to the node
	// wroteAt is when the API server accepted a write of ours last.
	wroteAt time.Time
	// readAt is when the node is to be read, after the API server has refused a
	// write to it. It is zero if it need not be. Live reads have shown it last at
	// lastRead.
	readAt, lastRead time.Time

	// Of marks.

	// marking is the pace of the marks of its pods: an episode counts in which pods
	// were marked. The last was markedEpisode.
	marking       pace
	markedEpisode int
}

// writeState is where a node is in the life of its writes:
//
//	         Start        plan              change, plan
//	writing ◄────── due ◄──────► resting ◄──────────────► steady
//	  │                           ▲ ▲ ▲                     │ token
//	  │                           │ │ └──── no taint ─── released
//	  │                           │ │                       │ Start
//	  └───────── Finish ──────────┘ └────── Finish ──── releasing
//
// Plan also takes due to steady, a token takes due to released, and ForgetNode
// takes each state to resting. A token is the zone's. A node that waits for it
// is steady, due or writing meanwhile, and in releases as well.
// writes.enter is the one function that writes the state.
type writeState uint8

const (
	// resting: nothing is to be written now. What happens to other nodes, or a
	// first heartbeat, may change that.
	resting writeState = iota
	// steady: nothing is to be written before the node itself changes, or the
	// hold, or its zone releases it. It is as it should be, and is not ready, or
	// is ready and was heard of. Nearly all nodes are, nearly always, and cost
	// nothing when all nodes are planned again.
	steady
	// due: it is in writes, and waits for a worker, for the end of a backoff, or
	// for a write to its former self.
	due
	// writing: a write is under way that needs no token of its zone, or a live
	// read before it.
	writing
	// released: its zone has given it a token, and it is the first in writes. It
	// stays so only within one Start.
	released
	// releasing: the write of its NoExecute taint is under way.
	releasing
)

func (s writeState) String() string {
	return [...]string{"resting", "steady", "due", "writing", "released", "releasing"}[s]
}

// underWay reports whether a write was handed out.
func (s writeState) underWay() bool { return s == writing || s == releasing }

// holdsToken reports whether the node has a token of its zone.
func (s writeState) holdsToken() bool { return s == released || s == releasing }

// notReady reports whether a node was reported not to be ready, by its kubelet
// or by us.
func (n *node) notReady() bool { return isNotReady(n.ready) }

// isNotReady reports whether a status of Ready says so. A node without any report
// is starting.
func isNotReady(ready corev1.ConditionStatus) bool {
	return ready != "" && ready != corev1.ConditionTrue
}

// accepted records that the API server has accepted a write of ours, unless it
// has not.
func (n *node) accepted(now time.Time, err error) {
	if n != nil && err == nil {
		n.wroteAt = now
	}
}

// mustRead reports whether a node has to be read before anything is written to
// it.
func (n *node) mustRead() bool { return !n.readAt.IsZero() }

// mayWriteAt returns when what a node wants may be written, or the node read
// before that, and the zero time if that needs no wait.
func (n *node) mayWriteAt() time.Time {
	if n.mustRead() {
		return n.readAt
	}
	return n.pace.next(n.pace.damped() && n.protects())
}

// protects reports whether the taints that a node wants protect pods. They do
// if they keep pods from a node that cannot run them, or from leaving one that
// can. So a node that flaps is closed soon and opened late, and stays closed in
// between. Swapping a taint that closes the node for another one may wait. So
// may labels, pressure, which most pods tolerate, and spec.unschedulable, which
// the scheduler reads itself.
func (n *node) protects() bool {
	has := n.object.Spec.Taints
	return n.wanted != nil && (!closed(has) && closed(n.wanted) ||
		hasNoExecute(has) && !hasNoExecute(n.wanted))
}

// Kinds of writes to nodes.
const (
	recovery       = "recovery"
	dampedRecovery = "damped recovery"
	otherWrite     = "other"
	dampedWrite    = "damped other"
)

// kindOfWrite returns what kind a write to a node is. A recovery takes back a
// taint of a node that is not ready, or is not said to be any more. A write
// with a token of its zone is never damped.
func kindOfWrite(_ string, n *node) string {
	recovers := n.wanted != nil && !n.state.holdsToken() &&
		countNotReady(n.wanted) < countNotReady(n.object.Spec.Taints)
	damped := n.pace.damped() && !n.state.holdsToken() && !n.mustRead()
	switch {
	case recovers && damped:
		return dampedRecovery
	case recovers:
		return recovery
	case damped:
		return dampedWrite
	}
	return otherWrite
}

// countNotReady counts the taints that say that a node is not ready.
func countNotReady(all []corev1.Taint) (count int) {
	for i := range all {
		if all[i].Key == corev1.TaintNodeNotReady || all[i].Key == corev1.TaintNodeUnreachable {
			count++
		}
	}
	return count
}

func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
