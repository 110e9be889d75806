package blast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// mostTime is how long a scenario may be.
const mostTime = 30 * 24 * time.Hour

// Config says how losses are played. The zero value is ready to use.
type Config struct {
	// Longest is how long a loss is played at most, in time of the scenario. The
	// default is 6 h.
	Longest time.Duration
	// Workers is how many runs go on at a time. The default is one a core.
	Workers int
	// Progress is called on the goroutine of Play, about five times a second and
	// after each run.
	Progress func(Progress)
}

// Validate reports all that is wrong with the config.
func (c *Config) Validate() error {
	var errs []error
	if c.Longest < 0 || c.Longest > mostTime {
		errs = append(errs, fmt.Errorf("blast: Longest is %v, want 0 for the default, or at most 720h", c.Longest))
	}
	if c.Workers < 0 {
		errs = append(errs, fmt.Errorf("blast: Workers is %d, want 0 for one a core, or more", c.Workers))
	}
	return errors.Join(errs...)
}

// Report is what losses come to.
type Report struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Action is that of the controller, --action. Budgets count with evict and
	// evict-then-delete alone.
	Action string `json:"action"`
	// Variants are in the order of the outcomes of a loss; the first is the
	// scenario as given.
	Variants []Variant `json:"variants"`
	// Losses are sorted by what hurts, as given, so that none that recovers is
	// before one that does not. First counts how many pods of living nodes are
	// evicted. Then count workloads lost for good and pods that stay down. The
	// last are workloads lost for a time, pods evicted or down, and nodes lost. A
	// run that is not over counts with what it has come to so far.
	Losses []Played `json:"losses"`
	// Done is how many runs came to their end, of all. The report is partial if
	// these are fewer: outcomes are missing, or of runs that were interrupted.
	Done int `json:"done"`
	Of   int `json:"of"`

	longest time.Duration
}

// Played is a loss and what it comes to.
type Played struct {
	Loss
	// Nodes is how many nodes are lost.
	Nodes int `json:"nodes"`
	// Outcomes are by variant; nil is one that is not known.
	Outcomes []*Outcome `json:"outcomes"`
}

// task is one run.
type task struct{ loss, variant int }

// result is what it came to.
type result struct {
	task
	outcome *Outcome
	err     error
}

// Play plays every loss of a scenario's cluster with every variant. First are
// the runs as given, so that an interrupted report has them. If the context
// ends, the report has what is known by then, and the error is that of the
// context. Play returns when all runs have ended.
func Play(ctx context.Context, s *scenario.Scenario, config Config) (*Report, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	variants, err := Variants(s)
	if err != nil {
		return nil, err
	}
	r := &Report{Scenario: s.Name, Seed: s.Seed, Action: variants[0].options.Evicting.Action, Variants: variants}
	for _, loss := range Losses(s) {
		r.Losses = append(r.Losses, Played{Loss: loss, Nodes: loss.nodes, Outcomes: make([]*Outcome, len(variants))})
	}
	r.Of = len(r.Losses) * len(variants)
	err = r.play(ctx, config)
	slices.SortStableFunc(r.Losses, worse)
	return r, err
}

func (r *Report) play(ctx context.Context, config Config) error {
	r.longest = cmp.Or(config.Longest, 6*time.Hour)
	gauges := make([][]*gauge, len(r.Variants))
	for v := range r.Variants {
		for l := range r.Losses {
			gauges[v] = append(gauges[v], newGauge(r.Variants[v].expected(&r.Losses[l].Loss, r.longest)))
		}
	}
	tell := func() {
		if config.Progress != nil {
			config.Progress(Progress{Done: r.Done, Of: r.Of, Share: shareOf(gauges)})
		}
	}
	tasks, results := make(chan task), make(chan result)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range cmp.Or(config.Workers, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for t := range tasks {
				outcome, err := run(running, &r.Variants[t.variant], &r.Losses[t.loss].Loss, r.longest,
					gauges[t.variant][t.loss])
				results <- result{t, outcome, err}
			}
		})
	}
	workers.Go(func() {
		defer close(tasks)
		for variant := range r.Variants {
			for loss := range r.Losses {
				select {
				case tasks <- task{loss, variant}:
				case <-running.Done():
					return
				}
			}
		}
	})
	go func() { // ends when the workers have, which the loop below waits for
		workers.Wait()
		close(results)
	}()
	if err := r.collect(results, tell, stop); err != nil {
		return err
	}
	if r.Done < r.Of {
		return ctx.Err() // it ended between two runs
	}
	return nil
}

// tellEvery is how often progress is told while no run ends.
const tellEvery = 200 * time.Millisecond

// collect takes results until there are no more. After the first error it stops
// the other runs. What is known of them counts, but they are not done.
func (r *Report) collect(results <-chan result, tell, stop func()) error {
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	var failed error
	for {
		select {
		case one, open := <-results:
			if open {
				r.Losses[one.loss].Outcomes[one.variant] = one.outcome
			}
			switch {
			case !open:
				return failed
			case one.err != nil && failed == nil:
				failed = fmt.Errorf("%s: %w", r.Losses[one.loss].Loss, one.err)
				stop()
			case one.err != nil:
			default:
				r.Done++
			}
		case <-ticker.C:
		}
		tell()
	}
}

// worse orders losses by what hurts; see [Report.Losses]. Those that have not
// been played are last.
func worse(a, b Played) int {
	x, y := a.Outcomes[0], b.Outcomes[0]
	if x == nil || y == nil {
		switch {
		case x != nil:
			return -1
		case y != nil:
			return 1
		}
		return byName(&a, &b)
	}
	return cmp.Or(
		cmp.Compare(y.EvictedLiving, x.EvictedLiving), cmp.Compare(len(y.LostForGood), len(x.LostForGood)),
		cmp.Compare(y.Down, x.Down), cmp.Compare(len(y.Lost), len(x.Lost)),
		cmp.Compare(max(y.Evicted, y.Down), max(x.Evicted, x.Down)), cmp.Compare(b.Nodes, a.Nodes), byName(&a, &b))
}

func byName(a, b *Played) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds(), a.Kind), slices.Index(kinds(), b.Kind)),
		cmp.Compare(a.step.For, b.step.For), strings.Compare(a.Name, b.Name))
}
