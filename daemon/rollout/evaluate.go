package rollout

import "time"

// scan is the rest of an evaluation of all nodes. Both lists are visited from
// their ends: a removal moves the last element, which has been visited then. A
// node that is added meanwhile is evaluated on its own.
type scan struct {
	states int // of Planner.states, from the first one on
	nodes  int // of Nodes.all, from the first one on
}

// fifo is nodes in the order in which they came.
type fifo struct {
	nodes []*nodeState
	first int
}

func (f *fifo) push(n *nodeState) { f.nodes = append(f.nodes, n) }

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

// nodesPerTurn is how many nodes are visited in one turn, for example one call
// of Start or Status. A visit takes about a microsecond.
const nodesPerTurn = 1000

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

// evaluate assesses one node and updates counts and queues. It drops the record
// of a node once that holds nothing.
func (p *Planner) evaluate(n *nodeState) {
	if p.deleting == n {
		p.deleting = nil
	}
	if n.index == dropped {
		return
	}
	p.counts.remove(n.situation.marks)
	timed := !n.situation.until.IsZero()
	n.situation = situation{}
	kept := !p.forgettable(n)
	if kept {
		a := p.assess(n)
		n.situation = a.situation
		n.taken = n.taken && n.decision.shouldContinue && !p.serves(n)
		kept = !p.forgettable(n)
	}
	if kept && n.idle() && !n.decision.shouldRun {
		n.situation.until = earlier(n.situation.until, n.rememberedUntil())
	}
	p.counts.add(n.situation.marks)
	p.enqueue(n)
	p.setTimer(n, timed)
	if !kept {
		p.drop(n)
	}
}

// forgettable reports whether the record of a node holds nothing: it has no
// pods and should have none. A node that exists keeps its failures for a time.
func (p *Planner) forgettable(n *nodeState) bool {
	switch {
	case !n.idle(), n.decision.shouldRun:
		return false
	case n.stored == nil:
		return true
	}
	return !p.now.Before(n.rememberedUntil())
}

// startRevision forgets a node's failures of a former revision.
func (p *Planner) startRevision(n *nodeState) {
	if n.revision != p.revision {
		n.forgetFailures()
		n.revision = p.revision
	}
}

// markStale has a node evaluated before the next decision. Many changes of one
// node make one evaluation.
func (p *Planner) markStale(n *nodeState) {
	if !n.stale {
		n.stale = true
		p.stale.push(n)
	}
	if !p.reported {
		p.reported = true
		p.store.changed = append(p.store.changed, p)
	}
}
