package kubelet

// Counts are how many nodes and pods a fleet has.
type Counts struct {
	// Nodes are those that are observed, by state: silent; failing or stopped
	// without a runtime; else running. Each state is there.
	Nodes map[string]int
	// Pods by the state of their worker. Those of no node are in none.
	Syncing, Terminating, Terminated, Finished int
	// Static are the static pods among them, and StaticSyncing those of them that
	// are syncing.
	Static, StaticSyncing int
	// Mirrors are the mirror pods in the API.
	Mirrors int
}

// Counts counts the nodes and pods. O(nodes + pods).
func (f *Fleet) Counts() Counts {
	const silent = "silent"
	c := Counts{Nodes: map[string]int{
		silent: 0, loopRunning.String(): 0, loopFailing.String(): 0, loopStopped.String(): 0,
	}}
	c.Mirrors = len(f.mirrors)
	for _, n := range f.nodes {
		switch {
		case n.node == nil:
		case !n.hears():
			c.Nodes[silent]++
		default:
			c.Nodes[n.loop.String()]++
		}
	}
	for _, r := range f.pods {
		switch r.state {
		case workerSyncing:
			c.Syncing++
		case workerTerminating:
			c.Terminating++
		case workerTerminated:
			c.Terminated++
		case workerFinished:
			c.Finished++
		default:
			continue
		}
		if isStatic(r.pod) {
			c.Static++
			if r.state == workerSyncing {
				c.StaticSyncing++
			}
		}
	}
	return c
}
