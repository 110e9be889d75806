package invariant

import (
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// halt is since when something is halted, or since when it is not any more.
type halt struct {
	halted bool
	since  time.Duration
}

func (h *halt) set(halted bool, now time.Duration) {
	if h.halted != halted {
		*h = halt{halted, now}
	}
}

// SawHalt records what a client has been told by the operator.
func (j *Judge) SawHalt(client *network.Client, halted bool) {
	j.view(client).halt.set(halted, j.world.Elapsed())
}

// lookHalted follows what the leader's lease says.
func (j *Judge) lookHalted(now time.Duration) { j.halt.set(j.world.Lock().Halted, now) }

// judgeHalt judges a call that makes a pod leave, or gives a node our NoExecute
// taint. About is the pod or the node.
func (j *Judge) judgeHalt(s *sent, what, about string) {
	j.lookHalted(s.at)
	if shown := s.view.halt; shown.halted && s.after >= shown.since {
		j.violated(Halted, about, "%s sends %s though it was shown at %v that it is halted", s.view.client.Name, what,
			shown.since)
		return
	}
	since, calm := j.subject.Calm()
	known := max(since+j.settings.CalmBound, j.halt.since) + j.settings.bound()
	if j.halt.halted && calm && s.at > known {
		j.violated(Halted, about, "%s sends %s though its leader is halted since %v", s.view.client.Name, what, j.halt.since)
	}
}

// goesOn returns from when on what a halt holds may be expected, of what was
// asked for at some time. It is never while the halt lasts.
func (c *checking) goesOn(asked time.Duration) time.Duration {
	if c.halt.halted {
		return never
	}
	return max(asked, c.halt.since)
}
