package demonstration

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// A World is a cluster with the program in it, and the time that passes there.
type World interface {
	// Elapsed returns how much time has passed.
	Elapsed() time.Duration
	// Advance lets everything happen that happens up to a time since the start.
	Advance(until time.Duration)
}

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

// Patience is how long a [Step] may take. Only a program that is stuck needs
// that long.
const Patience = time.Minute

// A Play is a script on a cluster. It is shown while it runs, and judged in the
// end. S is what a look at the cluster sees. Cluster, Look, Glance, Lines and
// Summarize must be set.
type Play[S any] struct {
	Cluster World
	// Look reads the cluster, after each Glance.
	Look   func() S
	Glance time.Duration
	// Lines tell how each thing is that was seen, for example each zone. Beat is
	// how long none are written after others, elsewhere than on a terminal.
	Lines func(Tell)
	Beat  time.Duration
	// Legend says on a terminal what cells mean.
	Legend string
	// Steps are the script. Pause is how long each stays in view when it has got
	// where it should. What the program does meanwhile is part of the step.
	Steps []Step
	Pause time.Duration
	// Length is how long the Play goes on after the last step.
	Length time.Duration
	// Summarize writes figures, and returns the claims. Lacking is what the last
	// step lacked, and nil if each step got where it should.
	Summarize func(out io.Writer, lacking []string) (Claims, error)

	// Seen is what the last look saw, and Ends what the last look at each step
	// saw, of the steps that are over.
	Seen S
	Ends []S

	pace   Pace
	screen *Screen
}

// Demonstrate says on what it plays, and how to name a real cluster. Then it
// runs the Play at the pace of the clock.
func (p *Play[S]) Demonstrate(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "This plays on a cluster in memory. --kubeconfig FILE is for a real one.")
	// A user of kubectl expects this variable to name a cluster, which
	// kube-controller-manager ignores as well.
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		fmt.Fprintf(out, "$%s is set, but it is not read: give the file to --kubeconfig.\n",
			clientcmd.RecommendedConfigPathEnvVar)
	}
	fmt.Fprintln(out)
	return p.Run(ctx, OfTheClock(), NewScreen(out, p.Cluster.Elapsed))
}

// Run runs the Play once. The error is [ErrNotHeld] if a claim does not hold.
// If ctx ends before the Play does, there is no summary, and no error.
func (p *Play[S]) Run(ctx context.Context, pace Pace, screen *Screen) error {
	p.pace, p.screen = pace, screen
	screen.Beat = p.Beat
	lacking, err := p.play(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	claims, err := p.Summarize(screen, lacking)
	if err != nil {
		return err
	}
	return PrintClaims(screen, claims)
}

// Say shows what has happened.
func (p *Play[S]) Say(text string) { p.screen.Say(text) }

// play plays the steps, each until nothing is lacking. It ends after the first
// one that does not get there in time, and returns what that lacks.
func (p *Play[S]) play(ctx context.Context) (lacking []string, err error) {
	for i, step := range p.Steps {
		p.Say(fmt.Sprintf("%d/%d %s", i+1, len(p.Steps), step.Title))
		if err := step.Do(); err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", i+1, step.Title, err)
		}
		if step.Lacks != nil {
			p.await(ctx, Patience, func() bool {
				lacking = step.Lacks()
				return len(lacking) == 0
			})
		}
		p.pass(ctx, p.Pause+step.Pause)
		if ctx.Err() != nil {
			break
		}
		p.Ends = append(p.Ends, p.Seen)
		if len(lacking) > 0 {
			lacking[0] = fmt.Sprintf("step %d: %s", i+1, lacking[0])
			return lacking, nil
		}
	}
	if p.Length > 0 {
		p.pass(ctx, p.Length)
	}
	return nil, nil
}

// pass lets a time pass, or what there is of it until ctx ends.
func (p *Play[S]) pass(ctx context.Context, length time.Duration) {
	p.await(ctx, length, func() bool { return false })
}

// await lets time pass until something is reached or ctx ends, but no more than
// most.
func (p *Play[S]) await(ctx context.Context, most time.Duration, reached func() bool) {
	for until := p.Cluster.Elapsed() + most; ctx.Err() == nil; {
		p.show()
		now := p.Cluster.Elapsed()
		if now >= until || reached() {
			return
		}
		step := min(p.Glance, until-now)
		p.Cluster.Advance(now + step)
		p.pace(ctx, step)
	}
}

// show looks at the cluster, and shows how it is.
func (p *Play[S]) show() {
	p.Seen = p.Look()
	p.screen.Show(p.Lines, p.Legend)
}
