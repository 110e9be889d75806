package exhaustive

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	// overtaken is several times what a call or an event takes.
	overtaken = 100 * time.Millisecond
	// late is longer than what a controller does after a fault takes, and shorter
	// than the time after which it doubts its sight.
	late = 15 * time.Second
)

// A World is a small cluster to which something happens.
type World struct {
	Name     string
	scenario scenario.Scenario
	// from and to limit when deviations happen.
	from, to time.Duration
	// quiet is when the controller must have done everything.
	quiet time.Duration
	goal  goal
}

// A Run is what a schedule led to.
type Run struct {
	// Violations are what was violated, empty if all went well.
	Violations []string
	messages   []message
	// disturbed says that all deviations of the schedule took place.
	disturbed bool
}

// message is one that was sent while deviations may happen.
type message struct {
	kind network.MessageKind
	// begins says that it is about the list with which a watch begins.
	begins bool
}

// allows reports whether a deviation can befall a message. What the list shows
// with which a watch begins comes with the watch, not with the answer. So to
// lose the answer would not be to lose the list.
func (m message) allows(kind Kind) bool {
	switch kind {
	case Overtaken, Crash:
		return true
	case Late:
		return m.kind == network.MessageEvent
	case Lost:
		return m.kind == network.MessageAnswer && !m.begins
	}
	return false
}

// Run runs a schedule.
func (w *World) Run(schedule Schedule) (*Run, error) {
	s, err := simulation.New(w.scenario.Clone())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Name, err)
	}
	judge := s.Judge()
	judge.Quiet(w.quiet)
	r := &running{world: w, simulation: s, left: schedule}
	s.World().Decide(r.decide)
	s.Run()
	judge.End()
	run := &Run{messages: r.messages, disturbed: len(r.left) == 0}
	for _, v := range judge.Violations() {
		run.Violations = append(run.Violations, v.String())
	}
	run.Violations = append(run.Violations, w.goal.missed(s.World())...)
	return run, nil
}

// running is a run of a schedule.
type running struct {
	world      *World
	simulation *simulation.Simulation
	left       Schedule
	messages   []message
}

// decide lets the next deviation happen when its message is sent.
func (r *running) decide(m network.Message) network.Fate {
	world := r.simulation.World()
	if now := world.Elapsed(); now < r.world.from || now >= r.world.to {
		return network.Fate{}
	}
	n := len(r.messages)
	r.messages = append(r.messages, message{m.Kind, m.Call != nil && m.Call.BeginsWatch()})
	if len(r.left) == 0 || r.left[0].Message != n {
		return network.Fate{}
	}
	kind := r.left[0].Kind
	r.left = r.left[1:]
	settled := r.simulation.Disturb()
	after := func(wait time.Duration) { world.After(wait+margin, settled) }
	switch kind {
	case Overtaken:
		after(overtaken)
		return network.Fate{Later: overtaken}
	case Late:
		after(late)
		return network.Fate{Later: late}
	case Lost:
		after(network.CallTimeout)
		return network.Fate{Lost: true}
	case Crash:
		for _, replica := range r.simulation.Replicas() {
			replica.Die()
		}
		after(0)
	}
	return network.Fate{}
}

// margin is how long after a deviation a judge wants nothing that would have
// been due in it.
const margin = 3 * time.Second
