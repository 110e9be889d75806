package daemon

// slice is how many nodes are visited in one turn: one call of Start, Status or
// WaitOf. A visit takes about a microsecond.
const slice = 1000

// scan is what is left of a change that concerns all nodes. Both lists are gone
// through from their ends, so that what leaves one meanwhile, and has the last
// one take its place, keeps none from being visited. What joins one meanwhile
// is evaluated by then.
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

// markStale has a node evaluated before anything is decided. Many changes of
// one node make one evaluation, when a decision is asked for.
func (p *Planner) markStale(n *nodeState) {
	if !n.stale {
		n.stale = true
		p.stale.push(n)
	}
}

// settle evaluates what has changed, if only by the time, but no more nodes
// than a slice. It reports whether that was all. Until then the counts are not
// whole, and nothing can be decided by them.
func (p *Planner) settle() bool {
	for range slice {
		if !p.visit() {
			return true
		}
	}
	return p.settled()
}

// settled reports whether there is nothing to evaluate.
func (p *Planner) settled() bool {
	if len(p.stale.nodes) > 0 || p.scan != (scan{}) {
		return false
	}
	next := p.nextTimer()
	return next.IsZero() || next.After(p.now)
}

// visit goes on with one node, and reports whether there was one.
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

// visitNode makes a record of a node if a pod should run there. Those with a
// record have been visited.
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
