package demonstration

import (
	"context"
	"fmt"
	"time"
)

// Patience is how long a [Step] may take. Only a program that is stuck needs
// that long.
const Patience = time.Minute

// A Step is one line of a script.
type Step struct {
	Title string
	// Do begins it.
	Do func() error
	// Lacks returns what is not yet as it must be at the end of the step. Nil is
	// nothing.
	Lacks func() []string
	// Pause is how much longer than others the step stays in view.
	Pause time.Duration
}

// Play says and plays steps, each until nothing is lacking. It ends after the
// first one that does not get there in time, and returns what that lacks. Ended
// is called at the end of each step. Done is false if ctx has ended before.
func (p *Player) Play(ctx context.Context, screen *Screen, steps []Step, ended func()) (
	lacking []string, done bool, err error,
) {
	for i, step := range steps {
		screen.Say(fmt.Sprintf("%d/%d %s", i+1, len(steps), step.Title))
		if err := step.Do(); err != nil {
			return nil, false, fmt.Errorf("step %d, %s: %w", i+1, step.Title, err)
		}
		if step.Lacks != nil {
			reached := func() bool {
				lacking = step.Lacks()
				return len(lacking) == 0
			}
			if !p.Await(ctx, Patience, reached) {
				return nil, false, nil
			}
		}
		if !p.Pass(ctx, p.Pause+step.Pause) {
			return nil, false, nil
		}
		ended()
		if len(lacking) > 0 {
			lacking[0] = fmt.Sprintf("step %d: %s", i+1, lacking[0])
			return lacking, true, nil
		}
	}
	return nil, true, nil
}
