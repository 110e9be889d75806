package cri

// Counts are how many sandboxes and containers a runtime has.
type Counts struct {
	// Sandboxes are those that are ready.
	Sandboxes int
	// Running and Exited are containers by state.
	Running, Exited int
	// Started is how many containers were ever started. Those that were restored
	// do not count.
	Started int
}

// Counts counts sandboxes and containers as of the last call with a time.
// O(pods).
func (f *Fake) Counts() Counts {
	c := Counts{Started: f.started}
	for _, p := range f.pods {
		if len(p.sandboxes) > 0 && p.sandboxes[0].Ready {
			c.Sandboxes++
		}
		for _, container := range p.containers {
			switch container.State {
			case StateRunning:
				c.Running++
			case StateExited:
				c.Exited++
			}
		}
	}
	return c
}
