package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// errDiffer means that the subjects have come to different states, or that one
// has disturbed what it took over.
var errDiffer = errors.New("the subjects differ")

var errNotPlayed = errors.New("not played")

// A column has the figures of one play, or the reason why there are none.
type column struct {
	mode    mode
	subject subject
	result  result
	err     error
}

func (c column) name() string { return string(c.mode) + ", " + c.subject.Name }

// table has a column for each play and a row for each figure.
type table struct {
	steps   []step
	columns []column
	// differences are those of states, each with its name, as far as they are
	// listed. Differing is how many there are.
	differences []string
	differing   int
}

// verbs are the rows of API calls, in order. The first are writes.
var verbs = []string{"create", "delete", "patch", "update", "get", "list", "watch"}

const writes = 4

// write writes the table in Markdown, then the reasons of columns without
// figures, then the differences.
func (t *table) write(out io.Writer) error {
	var text strings.Builder
	var notes sidebyside.Notes
	row := func(title string, cell func(result) string) {
		fmt.Fprintf(&text, "| %s |", title)
		for _, c := range t.columns {
			if c.err != nil {
				fmt.Fprintf(&text, " not judged %s |", notes.Add(c.err))
				continue
			}
			fmt.Fprintf(&text, " %s |", cell(c.result))
		}
		text.WriteString("\n")
	}
	text.WriteString("| |")
	for _, c := range t.columns {
		fmt.Fprintf(&text, " %s, %s |", c.subject.Title, c.mode)
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", len(t.columns)+1) + "\n")
	for i, s := range t.steps {
		row(s.Title, func(r result) string { return seconds(r.steps[i].took) })
	}
	row("all steps", func(r result) string { return seconds(r.took()) })
	row("CPU time of the controller", func(r result) string { return fmt.Sprintf("%.2f s", r.cpu.Seconds()) })
	for i, verb := range verbs {
		row("API calls: "+verb, func(r result) string { return sidebyside.Thousands(r.calls[verb]) })
		if i == writes-1 {
			row("API calls: all four, which write", func(r result) string { return sidebyside.Thousands(r.writes()) })
		}
	}
	row("API calls about Events", func(r result) string { return sidebyside.Thousands(r.calls[events]) })
	row("load average before", func(r result) string { return r.load })
	text.WriteString(notes.String() + "\n" + legend + "\n")
	for _, difference := range t.differences {
		fmt.Fprintf(&text, "\n- %s", difference)
	}
	if len(t.differences) > 0 {
		text.WriteString("\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

const legend = `Seconds until the goal of a step is reached: each node that has to have a pod has one, which is ready, and the status
says so. CPU time is user and system, of all processes of the controller, after its start. Killed: with SIGKILL in the
middle of each step, and started again at once.`

func (r result) took() (total time.Duration) {
	for _, s := range r.steps {
		total += s.took
	}
	return total
}

func (r result) writes() (total int) {
	for _, verb := range verbs[:writes] {
		total += r.calls[verb]
	}
	return total
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// mostDifferences is how many of a step are listed.
const mostDifferences = 20

// compare adds the differences between the plays of each mode.
func (t *table) compare() {
	for i, c := range t.columns {
		if i == 0 || c.mode != t.columns[i-1].mode || c.err != nil || t.columns[i-1].err != nil {
			continue
		}
		a, b := t.columns[i-1], c
		for k := range b.result.steps {
			t.add(fmt.Sprintf("%s, %s", c.mode, b.result.steps[k].name), a.subject, b.subject,
				state.Compare(a.result.steps[k].facts, b.result.steps[k].facts))
		}
	}
}

func (t *table) add(where string, a, b subject, differences []state.Difference) {
	t.differing += len(differences)
	for i, d := range differences {
		if i == mostDifferences {
			t.differences = append(t.differences, fmt.Sprintf("%s: %d more", where, len(differences)-i))
			return
		}
		t.differences = append(t.differences,
			fmt.Sprintf("%s: %s: %s with %s, %s with %s", where, d.Fact, d.A, a.Name, d.B, b.Name))
	}
}

// problem returns what the exit code is to say.
func (t *table) problem() error {
	var err error
	if t.differing > 0 {
		err = fmt.Errorf("%w (differences: %d)", errDiffer, t.differing)
	}
	var missing []string
	for _, c := range t.columns {
		if c.err != nil {
			missing = append(missing, c.name())
		}
	}
	if len(missing) > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %s", sidebyside.ErrIncomplete, strings.Join(missing, "; ")))
	}
	return err
}
