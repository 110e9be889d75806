// Package judge says how a controller has handled nodes that died: how late,
// and what it did that it must not. It knows no controller and no API server.
//
// # The criterion
//
// A node is dead from the moment it was cut off for good. It is missed when it
// is not seen Unknown and with a NoExecute taint before the history ends.
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
// server has stored. A living node that was silent for the grace period makes
// the history worthless, because no controller could know better.
package judge

import (
	"errors"
	"fmt"
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
	// Unknown and Tainted are when it was seen first as Unknown and with a
	// NoExecute taint for its silence. Zero: it was not.
	Unknown, Tainted time.Time
	// TaintAdded is when that taint says that it was added, in whole seconds.
	TaintAdded time.Time
	Pods       []Pod
}

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
	// Declared is how many living nodes were Unknown or tainted.
	Declared int
	// Missed is how many of the dead were not found, and Left how many pods are
	// still there that had to leave.
	Missed, Left int
	// Faults are the wrong evictions, in the order of nodes and pods.
	Faults []Fault
}

// ErrSilent means that a living node was silent for the grace period.
var ErrSilent = errors.New("a living node was silent for the grace period")

// Judge judges a history by the grace period.
func Judge(nodes []Node, grace time.Duration) (Verdict, error) {
	var v Verdict
	for i := range nodes {
		n := &nodes[i]
		if n.Died.IsZero() {
			if n.Silence >= grace {
				return Verdict{}, fmt.Errorf("%w: %s for %v", ErrSilent, n.Name, n.Silence)
			}
			v.addLiving(n)
		} else {
			v.addDead(n, grace)
		}
	}
	return v, nil
}

func (v *Verdict) addLiving(n *Node) {
	v.Living++
	if !n.Unknown.IsZero() || !n.Tainted.IsZero() {
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
	if n.Unknown.IsZero() || n.Tainted.IsZero() {
		v.Missed++
	}
	if !n.Unknown.IsZero() {
		v.Detected = append(v.Detected, n.Unknown.Sub(n.Died))
	}
	if !n.Tainted.IsZero() {
		v.Tainted = append(v.Tainted, n.Tainted.Sub(n.Died))
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
