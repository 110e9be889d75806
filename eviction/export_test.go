package eviction

// SetMost makes one Start decide about so many pods at most.
func (t *Tracker) SetMost(pods int) { t.most = pods }

// Reopening returns how many pods are to be decided again because a hold has
// ended.
func (t *Tracker) Reopening() int {
	n := t.parked.reopened.Len()
	if t.parked.again {
		n += t.parked.pods.Len()
	}
	return n
}

// Parked returns how many pods are due and held.
func (t *Tracker) Parked() int { return t.parked.pods.Len() + t.parked.reopened.Len() }

// Visited returns how many records walks have visited since it was last called.
func (t *Tracker) Visited() int {
	visited := t.visited
	t.visited = 0
	return visited
}
