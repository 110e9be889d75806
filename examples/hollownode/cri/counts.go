package cri

import "maps"

// Counts are how many sandboxes and containers a runtime has, and how many it
// was to start since it was made. What was restored counts as no start.
type Counts struct {
	// Sandboxes are those that are ready.
	Sandboxes int
	// Running and Exited are containers by state.
	Running, Exited int
	// Started is how many containers began to run.
	Started int
	// SandboxStarts are the steps that began to create a sandbox, those that
	// failed included.
	SandboxStarts int
	// Starts are the steps that began to start a container, those that failed
	// included.
	Starts map[ContainerType]int
}

// Counts counts sandboxes and containers as of the last call with a time.
// O(pods).
func (f *Fake) Counts() Counts {
	c := Counts{
		Started: f.started, SandboxStarts: f.sandboxStarts, Starts: maps.Clone(f.starts),
	}
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
