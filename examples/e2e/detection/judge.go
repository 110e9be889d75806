package detection

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A node is the history of one node.
type node struct {
	fleet.Life
	// lastBeat is when the last heartbeat was received that the API server stored.
	lastBeat time.Time
	// silence is the longest time without a stored heartbeat while it lived.
	silence time.Duration
	pods    []pod
}

// A pod is the history of one pod.
type pod struct {
	name string
	// tolerates is for how long it tolerates a silent node, or fleet.Forever.
	tolerates time.Duration
	// evicted is when the API server received the first request that deleted it.
	// Zero: it was not deleted.
	evicted time.Time
}

// A wrong says why an eviction is wrong.
type wrong string

const (
	wrongLiving   wrong = "its node lives"
	wrongTolerant wrong = "it tolerates the taint for ever"
	wrongEarly    wrong = "it is early"
)

// A fault is a wrong eviction.
type fault struct {
	pod string
	why wrong
}

// A verdict is what a history comes to.
type verdict struct {
	living, dead int
	// detected and tainted are the delays from the death of a node until it is
	// Unknown, and until it has the NoExecute taint. Evicted are those until each
	// pod is evicted, without the time that it tolerates.
	detected, tainted, evicted delays
	// declared is how many nodes were Unknown or tainted while they lived, or
	// before their grace period was over. Of those that died later, it leaves
	// detected and tainted without a delay.
	declared int
	// missed is how many of the dead were not found, and left how many pods are
	// still there that had to leave.
	missed, left int
	// faults are the wrong evictions, in the order of nodes and pods.
	faults []fault
}

var (
	// errSilent means that a node was silent for the grace period while it lived. No
	// controller could know better.
	errSilent = fmt.Errorf("%w: a living node was silent for the grace period", sidebyside.ErrDisturbed)
	// errNothing means that a history proves nothing.
	errNothing = errors.New("no node has died, or no pod had to leave")
)

// judge judges a history by the grace period.
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
// The silence of a node begins when the API server has received the last
// heartbeat that it has stored. A node that was silent for the grace period while
// it lived makes the history worthless, because no controller could know better.
func judge(nodes []node, grace time.Duration) (*verdict, error) {
	v := &verdict{}
	for i := range nodes {
		n := &nodes[i]
		if n.silence >= grace {
			return nil, fmt.Errorf("%w: %s for %v", errSilent, n.Name, n.silence)
		}
		if n.Died.IsZero() {
			v.addLiving(n)
		} else {
			v.addDead(n, grace)
		}
	}
	if v.dead == 0 || len(v.evicted)+len(v.faults)+v.left == 0 {
		return nil, errNothing
	}
	return v, nil
}

func (v *verdict) addLiving(n *node) {
	v.living++
	if len(n.Unknown)+len(n.Tainted) > 0 {
		v.declared++
	}
	for _, p := range n.pods {
		if !p.evicted.IsZero() {
			v.faults = append(v.faults, fault{p.name, wrongLiving})
		}
	}
}

func (v *verdict) addDead(n *node, grace time.Duration) {
	v.dead++
	over := n.lastBeat.Add(grace)
	unknown, tainted := firstOf(n.Unknown), firstOf(n.Tainted)
	if isBefore(unknown, over) || isBefore(tainted, over) {
		v.declared++
	} else {
		v.detected = v.detected.with(n, unknown)
		v.tainted = v.tainted.with(n, tainted)
	}
	if !lastsUntil(n.Unknown, over) || !lastsUntil(n.Tainted, over) {
		v.missed++
	}
	for _, p := range n.pods {
		switch {
		case p.evicted.IsZero():
			if p.tolerates != fleet.Forever {
				v.left++
			}
		case p.tolerates == fleet.Forever:
			v.faults = append(v.faults, fault{p.name, wrongTolerant})
		// Before this no controller may evict it.
		case p.evicted.Before(over.Add(p.tolerates)) || p.evicted.Before(n.TaintAdded.Add(p.tolerates)):
			v.faults = append(v.faults, fault{p.name, wrongEarly})
		default:
			v.evicted = append(v.evicted, p.evicted.Sub(n.Died)-p.tolerates)
		}
	}
}

// firstOf returns when a state began first, zero if never.
func firstOf(state []witness.Sighting) time.Time {
	if len(state) == 0 {
		return time.Time{}
	}
	return state[0].At
}

// isBefore reports whether something has happened, and before a time.
func isBefore(at, limit time.Time) bool { return !at.IsZero() && at.Before(limit) }

// lastsUntil reports whether a state does not end before a time.
func lastsUntil(state []witness.Sighting, limit time.Time) bool {
	return slices.ContainsFunc(state, func(s witness.Sighting) bool {
		return s.Ended.IsZero() || !s.Ended.Before(limit)
	})
}

// of returns how many of the faults have a reason.
func (v *verdict) of(why wrong) (n int) {
	for _, f := range v.faults {
		if f.why == why {
			n++
		}
	}
	return n
}

// addTo adds the rows of the verdict to a record, and tells each wrong eviction.
func (v *verdict) addTo(record *sidebyside.Record) {
	for _, d := range []struct {
		title string
		delays
	}{{"Unknown", v.detected}, {"NoExecute taint", v.tainted}, {"pod evicted", v.evicted}} {
		if len(d.delays) == 0 {
			continue
		}
		record.Add(d.title+", first", sidebyside.Seconds, d.quantile(0).Seconds())
		record.Add(d.title+", median", sidebyside.Seconds, d.quantile(0.5).Seconds())
		record.Add(d.title+", 99 %", sidebyside.Seconds, d.quantile(0.99).Seconds())
		record.Add(d.title+", last", sidebyside.Seconds, d.quantile(1).Seconds())
	}
	record.Add("pods evicted", sidebyside.Count, float64(len(v.evicted)))
	for _, why := range []wrong{wrongLiving, wrongTolerant, wrongEarly} {
		record.Add("pods evicted wrongly: "+string(why), sidebyside.Count, float64(v.of(why))).AtMost(0)
	}
	record.Add("living nodes declared", sidebyside.Count, float64(v.declared)).AtMost(0)
	record.Add("dead nodes missed", sidebyside.Count, float64(v.missed)).AtMost(0)
	record.Add("pods left that must leave", sidebyside.Count, float64(v.left)).AtMost(0)
	for _, f := range v.faults {
		record.Told = append(record.Told, fmt.Sprintf("pod %s was evicted wrongly: %s", f.pod, f.why))
	}
}

// delays are those of several nodes or pods, in any order.
type delays []time.Duration

// with adds how long after its death something happened to a node, if it did.
func (d delays) with(n *node, at time.Time) delays {
	if at.IsZero() {
		return d
	}
	return append(d, at.Sub(n.Died))
}

// quantile returns the smallest delay that a share of the delays, from 0 to 1,
// does not exceed. This is the nearest rank, so it is one of the delays. Of
// none it is zero.
func (d delays) quantile(share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
