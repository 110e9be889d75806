package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/compare/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// results has what all plays have come to.
type results struct {
	options
	columns []column // one for each scenario and subject, in order
}

// A column has the outcomes of a scenario with a subject, and why there are no
// more.
type column struct {
	scenario scenario
	subject  subject
	outcomes []outcome // of complete plays
	// disturbed counts the plays that were thrown away and played again.
	disturbed int
	err       error
	// partial is the outcome of the play that did not get to its end, nil if there
	// is none.
	partial *outcome
}

// shown are the outcomes of complete plays. If there are none, it is that of
// the one that did not get to its end.
func (c *column) shown() []outcome {
	if len(c.outcomes) == 0 && c.partial != nil {
		return []outcome{*c.partial}
	}
	return c.outcomes
}

var errInterrupted = errors.New("interrupted")

// playAll plays each scenario with each subject. They take turns, so that what
// else the machine does meets both.
func (o options) playAll(ctx context.Context, dir string, progress io.Writer) *results {
	programs, problems := make([]string, len(o.subjects)), make([]error, len(o.subjects))
	for i, s := range o.subjects {
		programs[i], problems[i] = s.build(ctx, dir, progress)
	}
	r := &results{options: o}
	for _, sc := range o.scenarios {
		columns := make([]column, len(o.subjects))
		for i, s := range o.subjects {
			columns[i] = column{scenario: sc, subject: s, err: problems[i]}
		}
		for n := range o.repetitions {
			for i := range columns {
				c := &columns[i]
				if c.err != nil {
					continue // the reason would be the same again
				}
				p := &play{
					options: o, scenario: sc, subject: c.subject, program: programs[i],
					repetition: n + 1, progress: progress,
				}
				c.play(ctx, p.run, p.say)
			}
		}
		r.columns = append(r.columns, columns...)
	}
	return r
}

// mostDisturbed is how many plays of a column may be disturbed.
const mostDisturbed = 3

// play plays once, if it is not too late. When heartbeats of living nodes did
// not come through, the machine was too busy, and the subject had no part in
// it. That play tells nothing of the subject, and is played again.
func (c *column) play(
	ctx context.Context, run func(context.Context) (outcome, error), say func(format string, args ...any),
) {
	if ctx.Err() != nil {
		c.err = errInterrupted
		return
	}
	o, err := run(ctx)
	for errors.Is(err, judge.ErrSilent) && c.disturbed < mostDisturbed && ctx.Err() == nil {
		c.disturbed++
		say("played again: %v", err)
		o, err = run(ctx)
	}
	if err == nil {
		c.outcomes = append(c.outcomes, o)
		return
	}
	say("not complete: %v", err)
	if o.judged {
		c.partial = &o
	}
	if c.err = err; ctx.Err() != nil {
		c.err = errInterrupted
	}
}

// of returns the columns of a scenario.
func (r *results) of(s scenario) []column {
	var columns []column
	for _, c := range r.columns {
		if c.scenario.name == s.name {
			columns = append(columns, c)
		}
	}
	return columns
}

// write writes the tables in Markdown, and the reasons of what is missing.
func (r *results) write(out io.Writer) error {
	var text strings.Builder
	var notes sidebyside.Notes
	for _, s := range r.scenarios {
		columns := r.of(s)
		fmt.Fprintf(&text, "| %s |", s.title(r.options))
		for _, c := range columns {
			fmt.Fprintf(&text, " %s |", c.subject.title)
		}
		text.WriteString("\n|" + strings.Repeat(" --- |", len(columns)+1) + "\n")
		for _, row := range rows(columns) {
			fmt.Fprintf(&text, "| %s |", row.title)
			for i := range columns {
				fmt.Fprintf(&text, " %s |", row.cell(&columns[i], &notes))
			}
			text.WriteString("\n")
		}
		text.WriteString("\n")
	}
	_, err := fmt.Fprintf(out, "%s%s%s", text.String(), legend, notes.String())
	return err
}

const legend = `Delays are from the death of a node, those of evictions without the time that the pod tolerates. Several
repetitions: the median, and in parentheses the least and the most. CPU time and API calls in the outage: from the
first death until the last pod that must leave has been evicted.
`

// problem returns what the exit code is to say.
func (r *results) problem() error {
	var problems []error
	for i := range r.columns {
		c := &r.columns[i]
		name := c.scenario.name + " of " + c.subject.name
		if c.subject.name == sidebyside.Ours {
			problems = append(problems, c.faults())
		}
		if c.err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", sidebyside.ErrIncomplete, name, c.err))
		}
	}
	return errors.Join(problems...)
}

// faults returns what the subject did wrong. In a play that is not complete,
// what is missing is no fault.
func (c *column) faults() error {
	var problems []error
	for i := range c.outcomes {
		if err := c.outcomes[i].verdict.Err(); err != nil {
			problems = append(problems, fmt.Errorf("%w: %s, repetition %d: %w",
				sidebyside.ErrOursFailed, c.scenario.name, i+1, err))
		}
	}
	if c.partial != nil && len(c.partial.verdict.Faults)+c.partial.verdict.Declared > 0 {
		problems = append(problems, fmt.Errorf("%w: %s, in the play that is not complete: %w",
			sidebyside.ErrOursFailed, c.scenario.name, c.partial.verdict.Err()))
	}
	return errors.Join(problems...)
}
