package simulation

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/kubelets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Simulation is a scenario that runs.
type Simulation struct {
	scenario   scenario.Scenario
	options    *options.Options
	world      *model.World
	replicas   []*Replica
	calm       calm
	splitBrain int
	edits      edits
	daemons    *daemonSets // nil if a rule replaces their pods
	// struck is when each step began to hit each of its nodes.
	struck map[*scenario.Step]map[string]time.Duration
}

// start is the time of day at which every scenario begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// New sets a scenario up. Nothing happens before Step or Run. The error is that
// of Scenario.Validate.
func New(description *scenario.Scenario) (*Simulation, error) {
	if err := description.Validate(); err != nil {
		return nil, err
	}
	s := &Simulation{scenario: *description.Defaulted(), edits: newEdits(),
		struck: make(map[*scenario.Step]map[string]time.Duration)}
	var err error
	if s.options, err = s.scenario.Controller.Options(); err != nil {
		return nil, err
	}
	cluster := &s.scenario.Cluster
	s.world = model.New(model.Config{
		Seed:           s.scenario.Seed,
		Start:          start,
		BeatInterval:   cluster.BeatInterval.D(),
		StatusInterval: cluster.StatusInterval.D(),
		Latency:        span(cluster.APILatency),
		WatchDelay:     span(cluster.WatchDelay),
	})
	s.world.Watch(&s.calm)
	s.calm.simulation = s
	if cluster.Kubelets {
		own, err := kubelets.New(s.world)
		if err != nil {
			return nil, fmt.Errorf("set up scenario %s: %w", s.scenario.Name, err)
		}
		s.world.Run(own)
	}
	if cluster.DaemonSets == scenario.ByController {
		s.daemons = &daemonSets{world: s.world}
	}
	if err := s.build(cluster); err != nil {
		return nil, fmt.Errorf("set up scenario %s: %w", s.scenario.Name, err)
	}
	s.planAll(beforeAll)
	for number := range s.scenario.Controller.Replicas {
		r := &Replica{Number: number, sim: s}
		s.replicas = append(s.replicas, r)
		if err := r.start(); err != nil {
			return nil, fmt.Errorf("set up scenario %s: %w", s.scenario.Name, err)
		}
	}
	if s.daemons != nil {
		if err := s.daemons.start(); err != nil {
			return nil, fmt.Errorf("set up scenario %s: %w", s.scenario.Name, err)
		}
	}
	s.planAll(func(step *scenario.Step) bool { return !beforeAll(step) })
	return s, nil
}

// planAll plans some steps of the script.
func (s *Simulation) planAll(which func(*scenario.Step) bool) {
	for i := range s.scenario.Script {
		if step := &s.scenario.Script[i]; which(step) {
			s.plan(i, step)
		}
	}
}

// World returns the cluster. Watch it before the first step.
func (s *Simulation) World() *model.World { return s.world }

// Replicas returns the processes of the controller.
func (s *Simulation) Replicas() []*Replica { return s.replicas }

// Scenario returns what is simulated, with its defaults filled in.
func (s *Simulation) Scenario() *scenario.Scenario { return &s.scenario }

// Struck reports whether a step of the script, by its number, has begun to hit
// a node, and since when.
func (s *Simulation) Struck(step int, node string) (since time.Duration, struck bool) {
	since, struck = s.struck[&s.scenario.Script[step]][node]
	return since, struck
}

// Options returns the flags of the controller.
func (s *Simulation) Options() *options.Options { return s.options }

// Step lets the next thing happen, and reports false when the scenario is over.
func (s *Simulation) Step() bool {
	if s.world.Step(s.scenario.Duration.D()) {
		return true
	}
	for _, r := range s.replicas {
		if !r.gone() {
			r.process.Abandon()
		}
	}
	if s.daemons != nil {
		s.daemons.process.Abandon()
	}
	return false
}

// Elapsed returns how much time of the scenario has passed.
func (s *Simulation) Elapsed() time.Duration { return s.world.Elapsed() }

// Advance lets everything happen up to a time of the scenario.
func (s *Simulation) Advance(until time.Duration) {
	s.world.Advance(min(until, s.scenario.Duration.D()))
}

// Run lets everything happen.
func (s *Simulation) Run() {
	for s.Step() {
	}
}

// Calm returns since when a controller can act: it leads, stands on its feet,
// sees what happens, and the API server does what it says. False means that it
// cannot now.
func (s *Simulation) Calm() (since time.Duration, ok bool) { return s.calm.since, s.calm.now() }

// Disturb notes a fault that the script does not tell of, and that keeps
// controllers from acting until settled is called.
func (s *Simulation) Disturb() (settled func()) { return s.calm.disturb() }

func span(r scenario.Range) network.Span { return network.Span{Min: r.Min.D(), Max: r.Max.D()} }
