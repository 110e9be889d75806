package daemon

import "time"

// nodesPerTurn is how many nodes are visited in one turn, for example one call
// of Start or Status. A visit takes about a microsecond.
const nodesPerTurn = 1000

// pop returns the first node, or nil.
func (f *fifo) pop() *nodeState {
	if f.first == len(f.nodes) {
		return nil
	}
	n := f.nodes[f.first]
	f.nodes[f.first] = nil
	f.first++
	if f.first == len(f.nodes) {
		f.nodes, f.first = f.nodes[:0], 0
	}
	return n
}

// Evaluate visits the nodes that have changed or are due, at most so many, and
// returns how many it has visited. If they are fewer than most, the planner is
// up to date until something changes or [Planner.Next] is due.
//
// Start and Status evaluate as well, each with a limit of its own. A caller
// with many planners under one lock divides one limit between those of a turn.
// It calls Start and Status only of those that are up to date. A visit takes
// about a microsecond.
func (p *Planner) Evaluate(now time.Time, most int) int {
	p.advance(now)
	return p.evaluateUpTo(most)
}

func (p *Planner) evaluateUpTo(most int) int {
	for visited := range max(most, 0) {
		if !p.visit() {
			return visited
		}
	}
	return max(most, 0)
}

// evaluateChanges evaluates the nodes that have changed or are due, at most
// nodesPerTurn. It reports whether that was all. Until then the counts are
// incomplete, and no decision may use them.
func (p *Planner) evaluateChanges() bool {
	return p.evaluateUpTo(nodesPerTurn) < nodesPerTurn || p.upToDate()
}

// upToDate reports whether there is nothing to evaluate.
func (p *Planner) upToDate() bool {
	if len(p.stale.nodes) > 0 || p.scan != (scan{}) {
		return false
	}
	next := p.nextTimer()
	return next.IsZero() || next.After(p.now)
}

// visit evaluates one node, and reports whether there was one.
func (p *Planner) visit() bool {
	if n := p.stale.pop(); n != nil {
		n.stale = false
		p.evaluate(n)
		return true
	}
	if n := p.due(); n != nil {
		p.evaluate(n)
		return true
	}
	return p.visitState() || p.visitNode()
}

func (p *Planner) visitState() bool {
	p.scan.states = min(p.scan.states, len(p.states))
	if p.scan.states == 0 {
		return false
	}
	p.scan.states--
	n := p.states[p.scan.states]
	n.place(p.placement)
	p.evaluate(n)
	return true
}

// visitNode makes a record of a node if a pod should run there. Nodes with a
// record have been visited by visitState.
func (p *Planner) visitNode() bool {
	p.scan.nodes = min(p.scan.nodes, p.store.Len())
	if p.scan.nodes == 0 {
		return false
	}
	p.scan.nodes--
	stored := p.store.all[p.scan.nodes]
	if stored.stateOf(p) != nil {
		return true
	}
	if decision := p.placement.Place(stored.object); decision.ShouldRun {
		n := p.keep(stored.object.Name, stored)
		n.decision = placed{decision.ShouldRun, decision.ShouldContinue}
		p.evaluate(n)
	}
	return true
}
