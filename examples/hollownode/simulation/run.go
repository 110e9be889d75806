package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
)

// RestTime is how long a cluster has after its last step, and what that delays,
// until everything must be as it should be. A crash loop waits for up to five
// minutes, and half more.
const RestTime = 12 * time.Minute

// mostEvents is above what the longest scenario has. A kubelet that never rests
// would go on forever.
const mostEvents = 300_000

// ErrNeverRests means that far too much happened.
var ErrNeverRests = errors.New("the simulation did not come to rest")

// workers is how many calls of a [Scenario] run at a time.
const workers = 16

// Run plays a scenario and returns what has happened. The error is
// [ErrNeverRests] or about the scenario.
func Run(scenario *Scenario) (*invariant.History, error) {
	w := NewWorld(WorldConfig{Seed: scenario.Seed, Workers: workers})
	for node := range scenario.Nodes {
		w.addNode(nodeName(node))
	}
	if err := w.Begin(); err != nil {
		return nil, err
	}
	var quiet, end time.Duration
	actions := w.actions()
	for _, step := range scenario.Steps {
		do, known := actions[step.Do]
		if !known {
			return nil, fmt.Errorf("play scenario: there is no action %q", step.Do)
		}
		w.At(step.At, func() {
			if w.runtime != nil || step.Do != ActionCrash && step.Do != ActionCrashStatic {
				do(step)
			}
		})
		over := step.At + step.For
		quiet = max(quiet, over)
		if step.Do == ActionLoseEvents {
			over += longestRelist // what begins only when that is found has its time too
		}
		end = max(end, over+RestTime)
	}
	w.At(quiet+time.Second, w.heal)
	rests := w.Run(max(end, RestTime), mostEvents)
	if history := w.end(); rests {
		return history, nil
	}
	return w.history, ErrNeverRests
}
