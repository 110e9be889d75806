// Package judge says how a controller has handled nodes that died: how late,
// and what it did that it must not. It knows no controller and no API server.
//
// # The criterion
//
// A node is dead from the moment it was cut off for good. It is missed when it
// is not Unknown, or without a NoExecute taint, when its grace period is over
// and the history ends. What was said of it before its grace period was over is
// no detection: it was a living node then, and that was wrong.
//
// A pod must leave when its node is dead and it does not tolerate that for
// ever. Its eviction is wrong in each other case:
//
//   - Its node lives.
//   - It tolerates the taint for ever.
//   - It leaves early. The node may have been silent for less than the grace
//     period and the time that the pod tolerates. Or the taint says that it
//     was added less than that time before, in whole seconds, rounded down.
//
// The silence of a node begins when the last heartbeat was sent that the API
// server has stored. A node that was silent for the grace period while it lived
// makes the history worthless, because no controller could know better.
package judge

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Forever is the toleration of a pod that must never leave.
const Forever time.Duration = -1

// A Node is the history of one node.
type Node struct {
	Name string
	// Died is when it was cut off for good. Zero: it lives.
	Died time.Time
	// LastBeat is when the last heartbeat was sent that the API server stored.
	LastBeat time.Time
	// Silence is the longest time without a stored heartbeat while it lived.
	Silence time.Duration
	// Unknown and Tainted are when it was seen as Unknown and with a NoExecute
	// taint for its silence.
	Unknown, Tainted []Span
	// TaintAdded is when the first such taint says that it was added, in whole
	// seconds.
	TaintAdded time.Time
	Pods       []Pod
}

// A Span is from a time to another, which is zero if it has not come.
type Span struct{ From, To time.Time }

// A Pod is the history of one pod.
type Pod struct {
	Name string
	// Tolerates is for how long it tolerates a silent node, or Forever.
	Tolerates time.Duration
	// Evicted is when the API server received the first request that deleted it.
	// Zero: it was not deleted.
	Evicted time.Time
}

// A Wrong says why an eviction is wrong. Other values than these mean nothing.
type Wrong string

// What is wrong with an eviction.
const (
	WrongLiving   Wrong = "its node lives"
	WrongTolerant Wrong = "it tolerates the taint for ever"
	WrongEarly    Wrong = "it is early"
)

// A Fault is a wrong eviction.
type Fault struct {
	Pod string
	At  time.Time
	Why Wrong
}

// Verdict is what a history comes to.
type Verdict struct {
	Living, Dead int
	// Detected and Tainted are the delays from the death of a node until it is
	// Unknown, and until it has the NoExecute taint. Evicted are those until each
	// pod is evicted, without the time that it tolerates.
	Detected, Tainted, Evicted Delays
	// Declared is how many nodes were Unknown or tainted while they lived, or
	// before their grace period was over. Of those that died later, it leaves
	// Detected and Tainted without a delay.
	Declared int
	// Missed is how many of the dead were not found, and Left how many pods are
	// still there that had to leave.
	Missed, Left int
	// Faults are the wrong evictions, in the order of nodes and pods.
	Faults []Fault
}

// ErrSilent means that a node was silent for the grace period while it lived.
var ErrSilent = errors.New("a living node was silent for the grace period")

// Judge judges a history by the grace period.
func Judge(nodes []Node, grace time.Duration) (Verdict, error) {
	var v Verdict
	for i := range nodes {
		n := &nodes[i]
		if n.Silence >= grace {
			return Verdict{}, fmt.Errorf("%w: %s for %v", ErrSilent, n.Name, n.Silence)
		}
		if n.Died.IsZero() {
			v.addLiving(n)
		} else {
			v.addDead(n, grace)
		}
	}
	return v, nil
}

func (v *Verdict) addLiving(n *Node) {
	v.Living++
	if len(n.Unknown)+len(n.Tainted) > 0 {
		v.Declared++
	}
	for i := range n.Pods {
		if p := &n.Pods[i]; !p.Evicted.IsZero() {
			v.Faults = append(v.Faults, Fault{p.Name, p.Evicted, WrongLiving})
		}
	}
}

func (v *Verdict) addDead(n *Node, grace time.Duration) {
	v.Dead++
	over := n.LastBeat.Add(grace)
	if before(n.Unknown, over) || before(n.Tainted, over) {
		v.Declared++
	} else {
		v.Detected = n.delay(v.Detected, n.Unknown)
		v.Tainted = n.delay(v.Tainted, n.Tainted)
	}
	if !lastsUntil(n.Unknown, over) || !lastsUntil(n.Tainted, over) {
		v.Missed++
	}
	for i := range n.Pods {
		p := &n.Pods[i]
		switch {
		case p.Evicted.IsZero():
			if p.Tolerates != Forever {
				v.Left++
			}
		case p.Tolerates == Forever:
			v.Faults = append(v.Faults, Fault{p.Name, p.Evicted, WrongTolerant})
		case n.isEarly(p, grace):
			v.Faults = append(v.Faults, Fault{p.Name, p.Evicted, WrongEarly})
		default:
			v.Evicted = append(v.Evicted, p.Evicted.Sub(n.Died)-p.Tolerates)
		}
	}
}

// before reports whether one of the spans begins before a time.
func before(spans []Span, limit time.Time) bool { return len(spans) > 0 && spans[0].From.Before(limit) }

// lastsUntil reports whether one of the spans does not end before a time.
func lastsUntil(spans []Span, limit time.Time) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.To.IsZero() || !s.To.Before(limit) })
}

// delay adds how long after its death the node was first in a state.
func (n *Node) delay(delays Delays, state []Span) Delays {
	if len(state) == 0 {
		return delays
	}
	return append(delays, state[0].From.Sub(n.Died))
}

// isEarly reports whether a pod of a dead node has left before any controller
// may evict it.
func (n *Node) isEarly(p *Pod, grace time.Duration) bool {
	return p.Evicted.Before(n.LastBeat.Add(grace+p.Tolerates)) ||
		!n.TaintAdded.IsZero() && p.Evicted.Before(n.TaintAdded.Add(p.Tolerates))
}

// Of returns how many of the faults have a reason.
func (v *Verdict) Of(why Wrong) (n int) {
	for i := range v.Faults {
		if v.Faults[i].Why == why {
			n++
		}
	}
	return n
}

// Err returns what is wrong, nil if nothing is. A history without a death
// proves nothing, and neither does one without an eviction.
func (v *Verdict) Err() error {
	switch {
	case v.Dead == 0 || len(v.Evicted)+len(v.Faults)+v.Left == 0:
		return errors.New("no node has died, or no pod had to leave")
	case len(v.Faults)+v.Declared+v.Missed+v.Left > 0:
		return fmt.Errorf("%d pods evicted wrongly, %d living nodes declared, %d dead nodes missed, %d pods left",
			len(v.Faults), v.Declared, v.Missed, v.Left)
	}
	return nil
}
