package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
)

// cell names a field of the table.
type cell struct{ scenario, subject string }

// verdict is what a play has come to: counts, or why there are none.
type verdict struct {
	counts judge.Counts
	err    error
}

// table is what the plays have come to.
type table struct {
	scenarios []scenario
	subjects  []subject
	times     times
	verdicts  map[cell]verdict
}

func newTable(scenarios []scenario, subjects []subject, times times) *table {
	return &table{scenarios, subjects, times, map[cell]verdict{}}
}

// failed returns the scenarios in which a subject was not flawless, or could
// not be judged.
func (t *table) failed(subject string) []string {
	var failed []string
	for _, s := range t.scenarios {
		v, played := t.verdicts[cell{s.Name, subject}]
		if played && (v.err != nil || !v.counts.Clean()) {
			failed = append(failed, s.Name)
		}
	}
	return failed
}

// write writes the table in Markdown, with what has to be known to read it.
func (t *table) write(out io.Writer) error {
	var text strings.Builder
	text.WriteString("| while nodes beat |")
	for _, s := range t.subjects {
		fmt.Fprintf(&text, " %s |", s.Title)
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", len(t.subjects)+1) + "\n")
	for _, sc := range t.scenarios {
		fmt.Fprintf(&text, "| %s |", sc.Title)
		for _, sub := range t.subjects {
			v, played := t.verdicts[cell{sc.Name, sub.Name}]
			if !played {
				text.WriteString(" not played |")
				continue
			}
			fmt.Fprintf(&text, " %s |", show(v))
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "\n"+legend+"\n", t.times.grace.Seconds(), t.times.beat.Seconds())
	_, err := io.WriteString(out, text.String())
	return err
}

// show is a verdict in a few words: what is not flawless in bold.
func show(v verdict) string {
	if v.err != nil {
		return "not judged: " + oneLine(v.err.Error())
	}
	n := v.counts
	text := fmt.Sprintf("declared %s of %d living", bold(n.Wrong), n.Living)
	if n.Silent > 0 {
		text += fmt.Sprintf(" (and %d that were silent for as long)", n.Silent)
	}
	text += fmt.Sprintf(", %s tainted, %s pods evicted; missed %s of %d dead",
		bold(n.Tainted), bold(n.Evicted), bold(n.Missed), n.Dead)
	if n.Latest > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	if n.LatestDown > 0 {
		text += fmt.Sprintf(", %.1f s of them without the API server", n.LatestDown.Seconds())
	}
	return text
}

func bold(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("**%d**", n)
}

// oneLine is the beginning of a text, so that it fits into a cell.
func oneLine(text string) string {
	const most = 200
	text, _, _ = strings.Cut(text, "\n")
	text = strings.ReplaceAll(text, "|", "/")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return text
}

const legend = `Declared: nodes whose Ready became Unknown although they had been silent for
less than the grace period. Silence begins with the last beat that the API
server stored. For a living node it goes on only while the API server answers.
Tainted: living nodes with a NoExecute taint for it; pods evicted: of living
nodes. Missed: nodes that died during the fault and were not declared within
three grace periods. These begin with the end of the fault. Where the subject
runs and the API server answers it all the time (rolling, watches), they begin
with the death. The last of the dead was declared so long after its last stored
beat. Both subjects have a grace period of %.0f s, beats every %.0f s,
--node-monitor-period=5s, --kube-api-qps=200, --kube-api-burst=200 and
--node-eviction-rate=1.`
