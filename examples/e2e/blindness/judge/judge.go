// Package judge compares what a controller has declared of nodes with what the
// API server had stored of them. It knows no controller and no API server.
//
// # The criterion
//
// A declaration is wrong when the node was silent for less than its grace
// period. The silence begins when the last beat was sent that the API server
// acknowledged before it received the declaration. A beat that was never
// acknowledged is no beat.
//
// A living node is not silent while the API server is down, because it cannot
// be heard then. So the silence of a living node is counted without that time.
// The silence of a dead node is counted with it: it would not have beaten.
//
// A dead node is missed when it is not declared within a stated time. The time
// begins with its last beat, or when it can be found if that is later.
//
// The clock of the beats, of the declarations and of the outages is the same.
package judge

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Span is a stretch of time.
type Span struct{ From, Until time.Time }

// A Beat is a heartbeat that the API server has stored, after Sent and before
// Acknowledged.
type Beat struct{ Sent, Acknowledged time.Time }

// A Node is the history of one node.
type Node struct {
	Name string
	// Beats are those that were stored, in any order.
	Beats []Beat
	// Died is when it was cut off for good. Zero: it lives.
	Died time.Time
	// Declared is when the API server received the writes that made it Unknown.
	Declared []time.Time
	// Unknown says that it is Unknown at the end.
	Unknown bool
	// Tainted says that it was seen with a NoExecute taint for its silence.
	Tainted bool
	// Evicted is how many of its pods were deleted.
	Evicted int
}

// Rules are what a history is judged by.
type Rules struct {
	// Grace is how long a node may be silent.
	Grace time.Duration
	// Down is when the API server did not answer.
	Down []Span
	// Clear is from when on dead nodes can be found: the end of a fault that hides
	// them, or their death.
	Clear time.Time
	// Missed is how long after Clear, and after its last beat, a dead node is
	// missed that is not declared.
	Missed time.Duration
	// End is when the history ends.
	End time.Time
}

// A Fault is a wrong declaration.
type Fault struct {
	Node string
	At   time.Time
	// Silence is how long the node was silent; Down is not in it.
	Silence, Down time.Duration
}

// Counts is the verdict. The zero value is no verdict, and not clean.
type Counts struct {
	// Living and Dead are how many nodes there are of each.
	Living, Dead int
	// Wrong is how many nodes were declared wrongly, living or before they died.
	Wrong int
	// Silent is how many living nodes were declared after a silence that was as
	// long as the grace period. No controller could know better.
	Silent int
	// Tainted is how many living nodes had a NoExecute taint, and Evicted how many
	// pods of living nodes were deleted. Those of Silent are not in it.
	Tainted, Evicted int
	// Missed is how many dead nodes were not declared in time or not Unknown at
	// the end.
	Missed int
	// Latest is how long after its last beat the last dead node was declared.
	// The API server was down for LatestDown of it.
	Latest, LatestDown time.Duration
	// Faults are the wrong declarations, in order of time.
	Faults []Fault
}

var (
	errNoBeat  = errors.New("it was declared, and no beat of it is known")
	errTooSoon = errors.New("the history ends too soon to tell whether it is missed")
	errNoFault = errors.New("it is not known when the dead could be found")
)

// Count judges a history. It fails when the history does not allow a verdict.
func Count(nodes []Node, rules Rules) (Counts, error) {
	if rules.Clear.IsZero() {
		return Counts{}, errNoFault
	}
	var counts Counts
	for _, node := range nodes {
		if err := counts.add(node, rules); err != nil {
			return Counts{}, fmt.Errorf("node %s: %w", node.Name, err)
		}
	}
	slices.SortFunc(counts.Faults, func(a, b Fault) int { return a.At.Compare(b.At) })
	return counts, nil
}

func (n *Counts) add(node Node, rules Rules) error {
	faults, justified, err := node.faults(rules)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		n.Wrong++
		n.Faults = append(n.Faults, faults...)
	}
	if !node.Died.IsZero() {
		n.Dead++
		return n.addDead(node, rules)
	}
	n.Living++
	if len(faults) == 0 && justified {
		n.Silent++
		return nil
	}
	if node.Tainted {
		n.Tainted++
	}
	n.Evicted += node.Evicted
	return nil
}

// faults returns the wrong declarations of a node, and whether it has right
// ones.
func (n Node) faults(rules Rules) (faults []Fault, justified bool, err error) {
	for _, at := range n.Declared {
		last, found := n.lastBeat(at)
		if !found {
			return nil, false, errNoBeat
		}
		fault := Fault{Node: n.Name, At: at, Silence: at.Sub(last.Sent)}
		if n.Died.IsZero() {
			fault.Down = overlap(rules.Down, Span{last.Sent, at})
			fault.Silence -= fault.Down
		}
		if fault.Silence < rules.Grace {
			faults = append(faults, fault)
		} else {
			justified = true
		}
	}
	return faults, justified, nil
}

// lastBeat returns the last of the beats that were acknowledged before a time.
func (n Node) lastBeat(before time.Time) (last Beat, found bool) {
	for _, beat := range n.Beats {
		if beat.Acknowledged.Before(before) && beat.Sent.After(last.Sent) {
			last, found = beat, true
		}
	}
	return last, found
}

func (n *Counts) addDead(node Node, rules Rules) error {
	last, found := node.lastBeat(rules.End)
	if !found {
		return errNoBeat
	}
	deadline := rules.Clear
	if last.Acknowledged.After(deadline) {
		deadline = last.Acknowledged
	}
	deadline = deadline.Add(rules.Missed)
	if !node.Unknown {
		if rules.End.Before(deadline) {
			return errTooSoon
		}
		n.Missed++
		return nil
	}
	// A declaration before the last beat is about another silence.
	declared := slices.DeleteFunc(slices.Clone(node.Declared), last.Acknowledged.After)
	if len(declared) == 0 {
		return nil // it was Unknown already when it died
	}
	first := slices.MinFunc(declared, time.Time.Compare)
	if first.After(deadline) {
		n.Missed++
	}
	if late := first.Sub(last.Sent); late > n.Latest {
		n.Latest = late
		n.LatestDown = overlap(rules.Down, Span{last.Sent, first})
	}
	return nil
}

// overlap is how much of a span lies in others, which do not overlap each
// other.
func overlap(others []Span, span Span) time.Duration {
	var sum time.Duration
	for _, other := range others {
		from, until := span.From, span.Until
		if other.From.After(from) {
			from = other.From
		}
		if other.Until.Before(until) {
			until = other.Until
		}
		sum += max(0, until.Sub(from))
	}
	return sum
}

// Clean reports whether no living node was declared, tainted or emptied, and
// every dead one was found. A history without both kinds proves nothing.
func (n Counts) Clean() bool {
	return n.Living > 0 && n.Dead > 0 && n.Wrong+n.Tainted+n.Evicted+n.Missed == 0
}
