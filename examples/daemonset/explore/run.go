package explore

import (
	"time"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// quietTime is the part of simulation.RestTime in which no request may be sent.
const quietTime = 5 * time.Minute

// Run plays a scenario and returns which promises it breaks. The error is that
// of [simulation.Run].
func Run(scenario *simulation.Scenario) ([]invariant.Violation, error) {
	history, err := simulation.Run(scenario)
	if err != nil {
		return nil, err
	}
	return invariant.Check(history, history.End.Add(-quietTime)), nil
}

// Shrink returns a scenario that still fails, and passes if any more step is
// taken away. It plays at most so many scenarios, and what it has by then it
// returns.
func Shrink(
	failing *simulation.Scenario, fails func(*simulation.Scenario) bool, tries int,
) *simulation.Scenario {
	best := *failing
	best.Steps = seeds.Shrink(failing.Steps, func(steps []simulation.Step) bool {
		smaller := *failing
		smaller.Steps = steps
		return fails(&smaller)
	}, tries)
	return &best
}
