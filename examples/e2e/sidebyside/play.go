package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Results have what all plays have come to.
type Results struct {
	*Choice
	of *Measurement
	// Columns are those of each scenario and subject, in order.
	Columns []*Column
}

// A Column has the records of a scenario with a subject, and why there are no
// more.
type Column struct {
	Scenario Scenario
	Subject  Subject
	// Records are those of complete plays.
	Records []*Record
	// Err is why there are no more records.
	Err error

	disturbed int      // plays that were thrown away and played again
	loads     []string // before each of the plays
}

// Name is what messages call the column.
func (c *Column) Name() string { return c.Scenario.Name + " of " + c.Subject.Name }

// isOurs reports whether what is wrong in the column is a fault of ours.
func (c *Column) isOurs() bool { return c.Subject.Name == Ours || c.Scenario.Together != "" }

var (
	// ErrDisturbed is wrapped by the error of a play that the machine has spoilt. It
	// tells nothing of the subject, and is played again.
	ErrDisturbed   = errors.New("the machine has spoilt the play")
	errNotPlayed   = errors.New("not played")
	errInterrupted = errors.New("interrupted")
)

// isCut reports whether the measurement ended before the column was complete.
func (c *Column) isCut() bool {
	return errors.Is(c.Err, errNotPlayed) || errors.Is(c.Err, errInterrupted)
}

// Results returns the columns of all plays, without records. Those of a subject
// whose program could not be built have the reason.
func (m *Measurement) Results(c *Choice, problems map[string]error) *Results {
	r := &Results{Choice: c, of: m}
	for _, s := range c.Scenarios {
		var ofAny error
		for _, subject := range c.Subjects {
			err := problems[subject.Name]
			ofAny = errors.Join(ofAny, err)
			if s.Together == "" {
				r.Columns = append(r.Columns, &Column{Scenario: s, Subject: subject, Err: err})
			}
		}
		if s.Together != "" {
			all := Subject{Name: "all", Title: s.Together}
			r.Columns = append(r.Columns, &Column{Scenario: s, Subject: all, Err: ofAny})
		}
	}
	return r
}

// play plays all scenarios, some at a time. The subjects of a scenario take
// turns. After the end of ctx no play begins, and those that have begun are
// waited for.
func (r *Results) play(ctx context.Context, programs map[string]Program, progress io.Writer) {
	var group errgroup.Group
	group.SetLimit(r.Parallel)
	for _, columns := range r.groups() {
		group.Go(func() error {
			for n := range r.Repetitions {
				for _, c := range columns {
					stage := &Stage{
						Subject: c.Subject, programs: programs, subjects: r.Subjects, progress: progress,
						prefix: fmt.Sprintf("%s, %s, %d of %d", c.Scenario.Name, c.Subject.Name, n+1, r.Repetitions),
					}
					if r.Dir != "" {
						stage.dir = filepath.Join(r.Dir, fmt.Sprintf("%s-%s-%d", c.Scenario.Name, c.Subject.Name, n+1))
					}
					c.play(ctx, stage.Say, func() (*Record, error) {
						return r.of.playOn(ctx, stage, c.Scenario)
					})
				}
			}
			return nil
		})
	}
	_ = group.Wait() // no play returns its error
}

// groups returns the columns of each scenario.
func (r *Results) groups() (groups [][]*Column) {
	for i, c := range r.Columns {
		if i == 0 || c.Scenario.Name != r.Columns[i-1].Scenario.Name {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, c)
	}
	return groups
}

// mostDisturbed is how many plays of a column may be disturbed.
const mostDisturbed = 3

// play plays once, if it is not too late and no play has failed: the reason
// would be the same again. What the machine has spoilt is played again.
func (c *Column) play(
	ctx context.Context, say func(format string, args ...any), once func() (*Record, error),
) {
	for c.Err == nil {
		if ctx.Err() != nil {
			c.Err = errNotPlayed
			return
		}
		load := LoadAverage()
		record, err := once()
		switch {
		case err == nil:
			c.Records, c.loads = append(c.Records, record), append(c.loads, load)
			return
		case ctx.Err() != nil:
			c.Err = errInterrupted
		case errors.Is(err, ErrDisturbed) && c.disturbed < mostDisturbed:
			c.disturbed++
			say("played again: %v", err)
		default:
			c.Err = err
		}
		if c.Err != nil {
			say("not complete: %v", err)
		}
	}
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

// playOn plays on a fresh control plane. After it nothing runs.
func (m *Measurement) playOn(ctx context.Context, p *Stage, s Scenario) (record *Record, err error) {
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
	if record, err = s.Play(ctx, p); err == nil {
		err = p.Alive()
	}
	if err != nil && !errors.Is(err, wait.ErrEnded) { // which has the end of the log
		err = fmt.Errorf("%w%s", err, p.logTails())
	}
	p.Say("done after %.0f s", time.Since(begun).Seconds())
	return record, err
}
