package daemon

// Status counts nodes, as the status of a DaemonSet does.
type Status struct {
	Desired      int // nodes that should have a pod
	Current      int // of them, those that have one
	Ready        int // whose pod is ready
	Available    int // and has been for MinReady
	Unavailable  int // the other desired ones
	Updated      int // whose pod is of the current revision
	Misscheduled int // nodes that have a pod and should not
}

// Status returns the counts after all observations and our own writes. Complete
// reports whether they are of all nodes. They are not while more nodes have
// changed than one turn evaluates; see [Planner.Start]. Each call is a turn.
// Write no status that is not complete.
//
// Of several pods on a node the first one counts.
func (p *Planner) Status() (status Status, complete bool) {
	complete = p.evaluateChanges()
	c := &p.counts
	return Status{
		Desired:      c.of(desired),
		Current:      c.of(current),
		Ready:        c.of(ready),
		Available:    c.of(available),
		Unavailable:  c.of(desired) - c.of(available),
		Updated:      c.of(updated),
		Misscheduled: c.of(misscheduled),
	}, complete
}
