package explore

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// Run runs a scenario under the eyes of a judge and returns what was violated.
// At the end, when the last fault is long over, the judge wants quiet.
func Run(description *scenario.Scenario) ([]judge.Violation, error) {
	s, err := simulation.New(description)
	if err != nil {
		return nil, fmt.Errorf("run scenario: %w", err)
	}
	judge := s.Judge()
	if quiet := lastChange(description) + SettleTime(description); quiet < description.Duration.D() {
		judge.Quiet(quiet)
	}
	s.Run()
	judge.End()
	return judge.Violations(), nil
}

// lastChange is when the last fault ends.
func lastChange(s *scenario.Scenario) time.Duration {
	var last time.Duration
	for i := range s.Script {
		step := &s.Script[i]
		last = max(last, step.At.D()+max(step.For.D()+step.RecoverOver.D(), step.Over.D()))
	}
	return last
}
