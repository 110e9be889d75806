package explore

import (
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// Run plays a scenario and returns which promises it breaks. The error is that
// of [simulation.Run].
func Run(scenario *simulation.Scenario) ([]invariant.Violation, error) {
	history, err := simulation.Run(scenario)
	if err != nil {
		return nil, err
	}
	return invariant.Check(history), nil
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
