package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/compare/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

var begun = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return begun.Add(time.Duration(seconds * float64(time.Second)))
}

// since is a state that begins so many seconds after the beginning and lasts.
func since(seconds float64) []judge.Span { return []judge.Span{{From: after(seconds)}} }

// played returns the outcome of a play in which one of three nodes dies.
// Delays last so many seconds.
func played(delay time.Duration) outcome {
	return outcome{
		verdict: judge.Verdict{
			Living: 2, Dead: 1, Detected: judge.Delays{delay}, Tainted: judge.Delays{2 * delay},
			Evicted: judge.Delays{3 * delay, 4 * delay},
		},
		judged: true, complete: true, first: begun,
		restCPU: 1.5, cpu: delay, memory: 64 << 20, lasted: 5 * delay, load: "0.50",
		calls: map[string]int{"delete pods": 1200},
		series: series{
			dead: []int{1, 1}, unknown: []int{0, 1}, tainted: []int{0, 1}, evicted: []int{0, 2}, calls: []int{0, 7},
		},
	}
}

func compared(ours, upstream column) *results {
	o := options{nodes: 10, pods: 20, cut: 1, repetitions: 2, scenarios: scenarios()[:1], subjects: subjects()}
	ours.scenario, ours.subject = o.scenarios[0], o.subjects[0]
	upstream.scenario, upstream.subject = o.scenarios[0], o.subjects[1]
	return &results{options: o, columns: []column{ours, upstream}}
}

func written(t *testing.T, r *results) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, r.write(&out))
	return out.String()
}

// A machine that was too busy for heartbeats says nothing of a subject.
func TestADisturbedPlayIsPlayedAgain(t *testing.T) {
	plays := func(c *column, errs ...error) (played int) {
		c.play(t.Context(), func(context.Context) (outcome, error) {
			played++
			return outcome{judged: true}, errs[min(played, len(errs))-1]
		}, func(string, ...any) {})
		return played
	}
	silent := fmt.Errorf("%w: a-1", judge.ErrSilent)
	var c column
	require.Equal(t, 3, plays(&c, silent, silent, nil))
	require.NoError(t, c.err)
	require.Len(t, c.outcomes, 1)
	require.Equal(t, 2, c.disturbed)
	require.Contains(t, written(t, compared(c, column{})), "| played again, because living nodes were silent | 2 | 0 |\n")

	require.Equal(t, 2, plays(&c, silent), "not for ever")
	require.ErrorIs(t, c.err, judge.ErrSilent)
	c = column{}
	require.Equal(t, 1, plays(&c, wait.ErrEnded), "the subject's fault")
	require.Zero(t, c.disturbed)
}

func TestTheTableHasMediansAndSpread(t *testing.T) {
	r := compared(
		column{outcomes: []outcome{played(12 * time.Second), played(10 * time.Second), played(20 * time.Second)}},
		column{outcomes: []outcome{played(8 * time.Second)}},
	)
	require.NoError(t, r.problem())
	text := written(t, r)
	for _, want := range []string{
		"| 1 of 10 nodes die at once | examples/nodelifecycle | kube-controller-manager v1.37.1 |\n| --- | --- | --- |\n",
		"| repetitions | 3 | 1 |\n",
		"| Unknown, first | 12.0 s (10.0–20.0 s) | 8.0 s |\n",
		"| NoExecute taint, median | 24.0 s (20.0–40.0 s) | 16.0 s |\n",
		"| pod evicted, first | 36.0 s (30.0–60.0 s) | 24.0 s |\n",
		"| pod evicted, 99 % | 48.0 s (40.0–80.0 s) | 32.0 s |\n",
		"| pods evicted | 2 | 2 |\n",
		"| pods evicted wrongly: it is early | 0 | 0 |\n",
		"| CPU at rest, of a core | 1.5 % | 1.5 % |\n",
		"| CPU time in the outage | 12.00 s (10.00–20.00 s) | 8.00 s |\n",
		"| most resident memory | 64 MiB | 64 MiB |\n",
		"| API calls in the outage | 1,200 | 1,200 |\n",
		"| API calls: delete pods | 1,200 | 1,200 |\n",
		"| load average before | 0.50, 0.50, 0.50 | 0.50 |\n",
	} {
		require.Contains(t, text, want)
	}
}

func TestOneWrongEvictionOfOursIsAnErrorInAnyRepetition(t *testing.T) {
	wrong := played(10 * time.Second)
	wrong.verdict.Faults = []judge.Fault{{Pod: "soon0-a-0", At: after(1), Why: judge.WrongEarly}}
	three := column{outcomes: []outcome{played(10 * time.Second), wrong, played(10 * time.Second)}}
	right := column{outcomes: []outcome{played(10 * time.Second)}}
	r := compared(three, right)
	require.ErrorIs(t, r.problem(), sidebyside.ErrOursFailed)
	require.ErrorContains(t, r.problem(), "cut, repetition 2: 1 pods evicted wrongly")
	require.Contains(t, written(t, r), "| pods evicted wrongly: it is early | **0** (0–1) | 0 |\n")

	r = compared(right, three)
	require.NoError(t, r.problem(), "upstream's faults are its own")
	require.Contains(t, written(t, r), "| pods evicted wrongly: it is early | 0 | **0** (0–1) |\n")

	for name, miss := range map[string]func(*judge.Verdict){
		"missed":   func(v *judge.Verdict) { v.Missed = 1 },
		"left":     func(v *judge.Verdict) { v.Left = 1 },
		"declared": func(v *judge.Verdict) { v.Declared = 1 },
		"nothing":  func(v *judge.Verdict) { *v = judge.Verdict{Living: 3} },
	} {
		bad := played(time.Second)
		miss(&bad.verdict)
		require.ErrorIs(t, compared(column{outcomes: []outcome{bad}}, right).problem(), sidebyside.ErrOursFailed, name)
	}
}

func TestAPlayThatFailsLeavesWhatIsKnown(t *testing.T) {
	r := compared(
		column{outcomes: []outcome{played(10 * time.Second)}},
		column{err: errors.New("no etcd\nlast lines of a log")},
	)
	text := written(t, r)
	require.Contains(t, text, "| Unknown, first | 10.0 s | – [1] |\n")
	require.Contains(t, text, "| repetitions | 1 | 0 [1] |\n")
	require.Contains(t, text, "\n[1] no etcd\n")
	require.ErrorIs(t, r.problem(), sidebyside.ErrIncomplete)
	require.NotErrorIs(t, r.problem(), sidebyside.ErrOursFailed)
}

func TestAnInterruptedPlayIsShownIfThereIsNoOther(t *testing.T) {
	partial := played(10 * time.Second)
	partial.complete, partial.verdict.Left, partial.verdict.Missed = false, 3, 2
	interrupted := column{err: errInterrupted, partial: &partial}
	r := compared(interrupted, column{err: errInterrupted})
	text := written(t, r)
	require.Contains(t, text, "| repetitions | 0 [1] | 0 [1] |\n")
	require.Contains(t, text, "| Unknown, last | 10.0 s [1] | – [1] |\n")
	require.Contains(t, text, "| dead nodes missed | – [1] | – [1] |\n", "they may have been found later")
	require.Len(t, r.page().Runs, 1)
	require.ErrorIs(t, r.problem(), sidebyside.ErrIncomplete)
	require.NotErrorIs(t, r.problem(), sidebyside.ErrOursFailed)

	partial.verdict.Faults = []judge.Fault{{Why: judge.WrongLiving}}
	require.ErrorIs(t, r.problem(), sidebyside.ErrOursFailed, "that stays wrong")
	require.Contains(t, written(t, r), "| pods evicted wrongly: its node lives | **1** [1] | – [1] |\n")

	interrupted.outcomes = []outcome{played(12 * time.Second)}
	r = compared(interrupted, column{err: errInterrupted})
	require.Contains(t, written(t, r), "| Unknown, last | 12.0 s | – [1] |\n")
	require.Contains(t, written(t, r), "| repetitions | 1 [1] | 0 [1] |\n")
}

func TestTheSeriesCountsSecondsFromTheFirstDeath(t *testing.T) {
	nodes := []judge.Node{
		{Died: begun, Unknown: since(1.5), Tainted: since(2), Pods: []judge.Pod{{Evicted: after(2.1)}, {}}},
		{Died: after(1), Unknown: since(2.5)},
		{Unknown: since(1), Pods: []judge.Pod{{Evicted: after(3.2)}}}, // wrong, and an eviction all the same
	}
	calls := []controlplane.Request{
		{Received: begun}, {Received: after(0.5)}, {Received: after(0.9)}, {Received: after(9)},
	}
	require.Equal(t, series{
		dead: []int{1, 2, 2, 2, 2}, unknown: []int{0, 0, 1, 2, 2}, tainted: []int{0, 0, 1, 1, 1},
		evicted: []int{0, 0, 0, 1, 2}, calls: []int{1, 2, 0, 0, 0},
	}, newSeries(nodes, calls, begun, after(3.5)))
	require.Equal(t, []int{1, 2, 7, 7}, extended([]int{1, 2}, 4, 7))
}

func TestCallsAreCountedByVerbAndResourceUntilTheEnd(t *testing.T) {
	want := map[string]int{"patch nodes/status": 2, "delete pods": 1, "get other": 1}
	require.Equal(t, want, callsUntil([]controlplane.Request{
		{Verb: "patch", Resource: "nodes", Subresource: "status", Received: begun},
		{Verb: "patch", Resource: "nodes", Subresource: "status", Received: after(5)},
		{Verb: "delete", Resource: "pods", Received: after(1)},
		{Verb: "get", Received: after(1)},
		{Verb: "delete", Resource: "pods", Received: after(5.1)},
	}, after(5)))
}

func TestThePageHasTheTableAndBothRuns(t *testing.T) {
	ours, upstream := played(10*time.Second), played(8*time.Second)
	ours.verdict.Faults = []judge.Fault{{Pod: "soon0-a-0", At: after(0.4), Why: judge.WrongEarly}}
	upstream.series.evicted = []int{0, 1, 2}
	upstream.series.dead = []int{1, 1, 1}
	upstream.series.calls = []int{0, 1, 9}
	p := compared(column{outcomes: []outcome{ours}}, column{outcomes: []outcome{upstream}}).page()
	require.Len(t, p.Runs, 2)
	require.Equal(t, []float64{0, 1, 2}, p.Runs[0].At)
	require.Equal(t, htmlpage.Line{
		At: 400 * time.Millisecond, Subject: "soon0-a-0", Text: "evicted wrongly: it is early",
	}, p.Runs[0].Lines[2], "in order of time")
	require.Contains(t, p.Runs[1].Lines, htmlpage.Line{At: 2 * time.Second, Subject: "cut", Text: "the last pod evicted"})
	require.Equal(t, []any{[]int{0, 2, 2}, []int{0, 1, 2}}, p.Plots[1].Lines[0].Values, "a state stays as it is")
	require.Equal(t, []any{[]int{0, 7, 0}, []int{0, 1, 9}}, p.Plots[2].Lines[0].Values, "a rate is zero after the end")
	wrong := htmlpage.Row{Cells: []string{"pods evicted wrongly: it is early", "1", "0"}, Wrong: []int{1}}
	require.Contains(t, p.Tables[0].Rows, wrong)
	require.Contains(t, p.Summary[0].Rows, wrong)
	median, first := []string{"Unknown, median", "10.0 s", "8.0 s"}, []string{"Unknown, first", "10.0 s", "8.0 s"}
	require.Contains(t, p.Summary[0].Rows, htmlpage.Row{Cells: median})
	require.NotContains(t, p.Summary[0].Rows, htmlpage.Row{Cells: first})
	require.Contains(t, p.Tables[0].Rows, htmlpage.Row{Cells: first})
	var out bytes.Buffer
	require.NoError(t, htmlpage.Write(&out, p))

	alone := compared(column{err: errInterrupted}, column{outcomes: []outcome{upstream}}).page()
	require.Len(t, alone.Runs, 1)
	require.Equal(t, "kube-controller-manager v1.37.1", alone.Runs[0].Name)
	require.Equal(t, []any{[]int{0, 1, 2}}, alone.Plots[1].Lines[0].Values)
	require.Nil(t, compared(column{err: errInterrupted}, column{err: errInterrupted}).page())
}
