package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
)

// cell names a field of the table.
type cell struct{ scenario, subject string }

// table is what the plays have come to.
type table struct {
	scenarios []scenario
	subjects  []subject
	counts    map[cell]judge.Counts
}

func newTable(scenarios []scenario, subjects []subject) *table {
	return &table{scenarios, subjects, map[cell]judge.Counts{}}
}

// failed returns the scenarios in which a subject was not flawless.
func (t *table) failed(subject string) []string {
	var failed []string
	for _, s := range t.scenarios {
		if counts, played := t.counts[cell{s.Name, subject}]; played && !counts.Clean() {
			failed = append(failed, s.Name)
		}
	}
	return failed
}

// write writes the table in Markdown, with what has to be known to read it.
func (t *table) write(out io.Writer) error {
	var text strings.Builder
	text.WriteString("| while pods are evicted |")
	for _, s := range t.subjects {
		fmt.Fprintf(&text, " %s |", s.Title)
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", len(t.subjects)+1) + "\n")
	for _, sc := range t.scenarios {
		fmt.Fprintf(&text, "| %s |", sc.title())
		for _, sub := range t.subjects {
			fmt.Fprintf(&text, " %s |", show(t.counts[cell{sc.Name, sub.Name}]))
		}
		text.WriteString("\n")
	}
	text.WriteString("\n" + legend + "\n")
	_, err := io.WriteString(out, text.String())
	return err
}

// title is the scenario's, with our flags and when a pod is late.
func (s scenario) title() string {
	title := s.Title
	if len(s.Ours) > 0 {
		title += " (ours with `" + strings.Join(s.Ours, " ") + "`)"
	}
	return fmt.Sprintf("%s; late after %d s", title, s.Late/time.Second)
}

// show is a verdict in a few words: what is not flawless in bold.
func show(n judge.Counts) string {
	text := fmt.Sprintf("%d of %d", n.Evicted, n.Must)
	if n.Evicted > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	var faults []string
	for _, fault := range []struct {
		n    int
		what string
	}{{n.Early, "early"}, {n.Late, "late"}, {n.Lost, "lost"}, {n.Wrong, "wrong"}} {
		if fault.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", fault.n, fault.what))
		}
	}
	if len(faults) == 0 {
		return text
	}
	return text + "; **" + strings.Join(faults, ", ") + "**"
}

const legend = `Pods evicted when they were due or later, of those that had to be, and how long after that the last of them was; what was
in the way (a refusal, an outage, a budget) is over before that time counts. Early, late, lost (still there a minute later) and
wrong (evicted although they must stay, or before their budget allows it) are zero where they are not named. A pod that
its owner deletes before it is due need not be evicted; so numbers of recreated ones differ. Upstream's controller deletes
pods and asks for no budget, as documented: that it counts as wrong there is no fault of it.`
