package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A Play is a scenario with a subject, on a control plane of its own.
type Play[S Scenario] struct {
	*Stage
	Scenario S
}

// Results have what all plays have come to.
type Results[S Scenario, R any] struct {
	*Choice[S]
	of *Measurement[S, R]
	// Columns are those of each scenario and subject, in order.
	Columns []*Column[S, R]
}

// A Column has the records of a scenario with a subject, and why there are no
// more.
type Column[S Scenario, R any] struct {
	Scenario S
	Subject  Subject
	// Records are those of complete plays.
	Records []*R
	// Partial is what is known of the play that did not get to its end.
	Partial *R
	// Err is why there are no more records.
	Err error

	heading   Heading
	disturbed int      // plays that were thrown away and played again
	loads     []string // before each of the plays
	mu        sync.Mutex
}

// Name is what messages call the column.
func (c *Column[S, R]) Name() string { return c.heading.Name + " of " + c.Subject.Name }

// Shown are the records of complete plays. If there are none, it is that of the
// one that did not get to its end.
func (c *Column[S, R]) Shown() []*R {
	if len(c.Records) == 0 && c.Partial != nil {
		return []*R{c.Partial}
	}
	return c.Records
}

// isOurs reports whether what is wrong in the column is a fault of ours.
func (c *Column[S, R]) isOurs() bool { return c.Subject.Name == Ours || c.heading.Together != "" }

var (
	errNotPlayed   = errors.New("not played")
	errInterrupted = errors.New("interrupted")
)

// Results returns the columns of all plays, without records. Those of a subject
// whose program could not be built have the reason.
func (m *Measurement[S, R]) Results(c *Choice[S], problems map[string]error) *Results[S, R] {
	r := &Results[S, R]{Choice: c, of: m}
	for _, s := range c.Scenarios {
		h := s.Heading()
		if h.Together != "" {
			all := Subject{Name: "all", Title: h.Together}
			var err error
			for _, subject := range c.Subjects {
				err = errors.Join(err, problems[subject.Name])
			}
			r.Columns = append(r.Columns, &Column[S, R]{Scenario: s, Subject: all, heading: h, Err: err})
			continue
		}
		for _, subject := range c.Subjects {
			r.Columns = append(r.Columns, &Column[S, R]{
				Scenario: s, Subject: subject, heading: h, Err: problems[subject.Name],
			})
		}
	}
	return r
}

// play plays each column, some plays at a time. The subjects of a scenario take
// turns. After the end of ctx no play begins, and those that have begun are
// waited for.
func (r *Results[S, R]) play(ctx context.Context, programs map[string]Program, progress io.Writer) {
	var group errgroup.Group
	group.SetLimit(r.Parallel)
	for _, scenario := range r.Scenarios {
		for n := range r.Repetitions {
			for _, c := range r.Columns {
				if c.heading.Name != scenario.Heading().Name {
					continue
				}
				group.Go(func() error {
					stage := &Stage{
						Subject: c.Subject, programs: programs, progress: progress,
						prefix: fmt.Sprintf("%s, %s, %d of %d", c.heading.Name, c.Subject.Name, n+1, r.Repetitions),
					}
					if r.Dir != "" {
						stage.dir = filepath.Join(r.Dir, fmt.Sprintf("%s-%s-%d", c.heading.Name, c.Subject.Name, n+1))
					}
					c.play(ctx, r.of, func(ctx context.Context) (*R, error) {
						return r.of.playOn(ctx, &Play[S]{stage, c.Scenario})
					}, stage.Say)
					return nil
				})
			}
		}
	}
	_ = group.Wait() // no play returns its error
}

// mostDisturbed is how many plays of a column may be disturbed.
const mostDisturbed = 3

// play plays once, if it is not too late and no play has failed: the reason
// would be the same again. What the machine has spoilt is played again.
func (c *Column[S, R]) play(
	ctx context.Context, m *Measurement[S, R], once func(context.Context) (*R, error),
	say func(format string, args ...any),
) {
	if c.failed() {
		return
	}
	for {
		if ctx.Err() != nil {
			c.add(nil, errNotPlayed, "", nil)
			return
		}
		load := LoadAverage()
		record, err := once(ctx)
		reason := err
		if err != nil && ctx.Err() != nil {
			reason = errInterrupted
		}
		if !c.add(record, reason, load, m.Disturbed) {
			if err != nil {
				say("not complete: %v", err)
			}
			return
		}
		say("played again: %v", err)
	}
}

func (c *Column[S, R]) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Err != nil
}

// add takes in what is known of a play, and reports whether it was spoilt by the
// machine and is to be played again.
func (c *Column[S, R]) add(record *R, err error, load string, disturbed error) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.Records, c.loads = append(c.Records, record), append(c.loads, load)
		return false
	case disturbed != nil && errors.Is(err, disturbed) && c.disturbed < mostDisturbed:
		c.disturbed++
		return true
	}
	if record != nil {
		c.Partial = record
		if len(c.Records) == 0 {
			c.loads = []string{load}
		}
	}
	if c.Err == nil {
		c.Err = err
	}
	return false
}

// LoadAverage returns that of the last minute. Where the kernel does not tell
// it in a file, that is unknown. It belongs next to each figure that was
// measured.
func LoadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(content), " ")
	return last
}

// logTail is how many lines of the subject's log follow the error of a play.
const logTail = 20

// playOn plays on a fresh control plane. After it nothing runs.
func (m *Measurement[S, R]) playOn(ctx context.Context, p *Play[S]) (record *R, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.Longest)
	defer cancel()
	begun := time.Now()
	if p.Plane, err = controlplane.Start(ctx, controlplane.Config{Dir: p.dir}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if p.Client, err = p.ClientOf("script"); err != nil {
		return nil, err
	}
	record, err = m.Play(ctx, p)
	if err != nil && !errors.Is(err, wait.ErrEnded) { // which has the end of the log
		err = fmt.Errorf("%w%s", err, p.logTails())
	}
	p.Say("done after %.0f s", time.Since(begun).Seconds())
	return record, err
}
