package explore

import (
	"slices"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
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
	for i := 0; i < len(best.Steps) && tries > 0; tries-- {
		smaller := best
		smaller.Steps = slices.Delete(slices.Clone(best.Steps), i, i+1)
		if fails(&smaller) {
			best, i = smaller, 0
		} else {
			i++
		}
	}
	return &best
}
