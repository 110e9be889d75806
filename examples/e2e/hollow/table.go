package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A figure is what is measured of a subject, in the unit of its row.
type figure int

const (
	nodesSeconds figure = iota
	nodesCPU
	nodesCalls
	upSeconds
	upCPU
	upCalls
	restCPU
	restRenewals
	restMemory
	endSeconds
	endCPU
	endCalls
	churnPods
	churnRate
	churnCPU
	churnGrowth
	peakMemory
	goroutines
)

// isCalls reports whether a figure is a number of API calls, which no machine
// changes.
func (f figure) isCalls() bool { return f == nodesCalls || f == upCalls || f == endCalls }

type figures map[figure]float64

// A row shows a figure. Of those that are judged ours must be at most kwok's.
type row struct {
	figure        figure
	title, format string
	judged        bool
}

// rows are those of the table, in order. Without a churn those of the churn are
// missing.
func (o options) rows() []row {
	rows := []row{
		{figure: nodesSeconds, title: sidebyside.Thousands(o.nodes) + " nodes are ready after", format: "%.1f s"},
		{figure: nodesCPU, title: "CPU time to make them ready", format: "%.2f s"},
		{figure: nodesCalls, title: "API calls for each node", format: "%.2f"},
		{figure: upSeconds, title: sidebyside.Thousands(o.pods) + " pods are created and ready after", format: "%.1f s"},
		{figure: upCPU, title: "CPU time to bring them up", format: "%.2f s", judged: true},
		{figure: upCalls, title: "API calls to bring a pod up", format: "%.2f"},
		{figure: restCPU, title: "CPU at rest, of a core", format: "%.1f %%", judged: true},
		{figure: restRenewals, title: "calls about leases a second, at rest", format: "%.1f"},
		{figure: restMemory, title: "resident memory at rest", format: "%.0f MiB", judged: true},
		{figure: endSeconds, title: "all pods are deleted and gone after", format: "%.1f s"},
		{figure: endCPU, title: "CPU time to end them", format: "%.2f s", judged: true},
		{figure: endCalls, title: "API calls to end a pod", format: "%.2f"},
	}
	if o.churn > 0 {
		rows = append(rows,
			row{figure: churnPods, title: fmt.Sprintf("pods that come and go in %v", o.churn), format: "%.0f"},
			row{figure: churnRate, title: "of them a second", format: "%.0f"},
			row{figure: churnCPU, title: "CPU time for 1,000 of them", format: "%.2f s"},
			row{figure: churnGrowth, title: "growth of resident memory meanwhile", format: "%+.1f %%"},
		)
	}
	return append(rows,
		row{figure: peakMemory, title: "most resident memory at any time", format: "%.0f MiB"},
		row{figure: goroutines, title: "goroutines at the end", format: "%.0f"})
}

// A column has the figures of one subject, and why there are no more.
type column struct {
	subject subject
	figures figures
	load    string
	err     error
}

// table has a column for each subject.
type table struct {
	options
	columns []column
}

var (
	errNotPlayed = errors.New("not played")
	errTooMuch   = errors.New("ours costs too much")
)

// write writes the table in Markdown, and the reasons of missing figures.
func (t *table) write(out io.Writer) error {
	var text strings.Builder
	var notes sidebyside.Notes
	text.WriteString("| |")
	for _, c := range t.columns {
		fmt.Fprintf(&text, " %s |", c.subject.title)
	}
	both := t.of(sidebyside.Ours) != nil && t.of(kwokName) != nil
	if both {
		text.WriteString(" ours to kwok's |")
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", strings.Count(text.String(), "|")-1) + "\n")
	for _, r := range t.rows() {
		fmt.Fprintf(&text, "| %s |", r.title)
		for _, c := range t.columns {
			switch value, known := c.figures[r.figure]; {
			case known:
				fmt.Fprintf(&text, " "+r.format+" |", value)
			case c.subject.argsOf != nil && !r.figure.isCalls():
				text.WriteString(" – |")
			default:
				fmt.Fprintf(&text, " not measured %s |", notes.Add(c.reason()))
			}
		}
		if both {
			text.WriteString(" " + t.ratioText(r) + " |")
		}
		text.WriteString("\n")
	}
	text.WriteString("| load average before |")
	for _, c := range t.columns {
		fmt.Fprintf(&text, " %s |", c.load)
	}
	if both {
		text.WriteString(" |")
	}
	text.WriteString("\n" + notes.String())
	_, err := io.WriteString(out, text.String())
	return err
}

// reason returns why a figure is missing.
func (c column) reason() error {
	if c.err == nil {
		return errMissing
	}
	return c.err
}

// of returns the figures of a subject, or nil if it is not in the table.
func (t *table) of(subject string) figures {
	for _, c := range t.columns {
		if c.subject.name == subject {
			return c.figures
		}
	}
	return nil
}

// ratio returns ours to another subject's, and false if there is none.
func (t *table) ratio(to string, of figure) (float64, bool) {
	ours, known := t.of(sidebyside.Ours)[of]
	theirs, both := t.of(to)[of]
	return ours / theirs, known && both && theirs > 0
}

func (t *table) ratioText(r row) string {
	ratio, known := t.ratio(kwokName, r.figure)
	if !known || r.figure == churnGrowth {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

const (
	// mostGrowth is what the memory of ours may grow by, in percent, over as many
	// pods as enoughPods.
	mostGrowth = 5
	enoughPods = 100_000
	// mostMemory is what ours may need, in MiB, whatever it runs.
	mostMemory = 1024
	// mostGoroutines is how many ours may have, whatever it runs. They are the
	// workers of --concurrent-calls, and those of a heartbeat.Sender for renewals,
	// reports and gates. As many again are for connections, informers and the
	// rest.
	mostGoroutines = 2 * (32 + 3*32)
)

// problem returns what the exit code is to say.
func (t *table) problem() error {
	var problems []error
	for _, r := range t.rows() {
		if ratio, known := t.ratio(kwokName, r.figure); known && r.judged && ratio > 1 {
			problems = append(problems, fmt.Errorf("%w: %s: %.2f times kwok's", errTooMuch, r.title, ratio))
		}
		if ratio, known := t.ratio(kubeletName, r.figure); known && r.figure != nodesCalls && ratio > 1 {
			problems = append(problems, fmt.Errorf("%w: %s: %.2f times the kubelet's", errTooMuch, r.title, ratio))
		}
	}
	f := t.of(sidebyside.Ours)
	if f[churnPods] >= enoughPods && f[churnGrowth] >= mostGrowth {
		problems = append(problems, fmt.Errorf("%w: memory has grown by %.1f %%, want less than %d %%",
			errTooMuch, f[churnGrowth], mostGrowth))
	}
	if most := max(f[restMemory], f[peakMemory]); most > mostMemory {
		problems = append(problems, fmt.Errorf("%w: %.0f MiB of memory, want at most %d", errTooMuch, most, mostMemory))
	}
	if f[goroutines] > mostGoroutines {
		problems = append(problems, fmt.Errorf("%w: %.0f goroutines, want at most %d",
			errTooMuch, f[goroutines], mostGoroutines))
	}
	for _, c := range t.columns {
		if c.err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", sidebyside.ErrIncomplete, c.subject.name, c.err))
		}
	}
	return errors.Join(problems...)
}
