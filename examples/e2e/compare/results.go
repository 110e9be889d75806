package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/versus"
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
	outcomes []outcome
	err      error
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
				c.play(ctx, &play{
					options: o, scenario: sc, subject: c.subject, program: programs[i],
					repetition: n + 1, progress: progress,
				})
			}
		}
		r.columns = append(r.columns, columns...)
	}
	return r
}

// play plays once, if it is not too late.
func (c *column) play(ctx context.Context, p *play) {
	if ctx.Err() != nil {
		c.err = errInterrupted
		return
	}
	o, err := p.run(ctx)
	if err == nil {
		c.outcomes = append(c.outcomes, o)
		return
	}
	p.say("not judged: %v", err)
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
	var notes versus.Notes
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
		for k := range c.outcomes {
			if err := c.outcomes[k].verdict.Err(); err != nil && c.subject.name == versus.Ours {
				problems = append(problems, fmt.Errorf("%w: %s, repetition %d: %w", versus.ErrOursFailed, name, k+1, err))
			}
		}
		if c.err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", versus.ErrIncomplete, name, c.err))
		}
	}
	return errors.Join(problems...)
}
