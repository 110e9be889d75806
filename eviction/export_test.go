package eviction

// SetMost makes one Start decide about so many pods at most.
func (t *Tracker) SetMost(pods int) { t.pods.most = pods }

// Reopening returns how many pods are to be decided again because a hold has
// ended.
func (t *Tracker) Reopening() int {
	o := &t.pods.stages.overdue
	n := o.again.Len()
	if o.more {
		n += o.pods.Len()
	}
	return n
}

// Parked returns how many pods are due and held.
func (t *Tracker) Parked() int {
	parked := 0
	for _, n := range t.nodes.byName {
		for _, e := range n.pods {
			parked += count(e.Value().state == onHold)
		}
	}
	return parked
}
