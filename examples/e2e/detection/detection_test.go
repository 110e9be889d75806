package detection

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

func TestFlags(t *testing.T) {
	o := newOptions()
	c, err := o.measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 10_000, 100, 3}, []int{o.nodes, o.pods, o.cut, c.Repetitions})
	require.Len(t, c.Scenarios, 2, "rest is played when it is named")
	require.Len(t, c.Subjects, 2)
	require.Equal(t, map[string]int{"a": 300, "b": 300, "c": 300, "d": 100}, o.zones())
	require.Equal(t, "100 of 1,000 nodes die at once", c.Scenarios[0].Heading().Title)
	c, err = o.measurement().Parse([]string{"--scenario=zones", "--subject=upstream"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "zones", c.Scenarios[0].name)

	for want, args := range map[string][]string{
		"--nodes is 9, want at least 10":                                            {"--nodes=9", "--pods=9", "--cut=1"},
		"--pods is 5, want a multiple of --nodes, 10, and at most 110 for each":     {"--nodes=10", "--pods=5", "--cut=1"},
		"--pods is 15, want a multiple of --nodes, 10, and at most 110 for each":    {"--nodes=10", "--pods=15", "--cut=1"},
		"--pods is 1110, want a multiple of --nodes, 10, and at most 110 for each":  {"--nodes=10", "--pods=1110", "--cut=1"},
		"--cut is 201, want 1 to 200, a fifth of the nodes":                         {"--cut=201"},
		"--cut is 0, want 1 to 200, a fifth of the nodes":                           {"--cut=0"},
		"--beat is 0s, want more than 0s and at most 10s":                           {"--beat=0s"},
		"--settle is -1s and --rest is 1m0s, want at least 0s, and 1m2.5s together": {"--settle=-1s"},
		"--settle is 25s and --rest is 37s, want at least 0s, and 1m2.5s together":  {"--rest=37s"},
		`--scenario: there is no "racks", only cut, zones, rest`:                    {"--scenario=racks"},
	} {
		_, err := newOptions().measurement().Parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

func TestPodsOfANode(t *testing.T) {
	o := newOptions()
	o.nodes, o.pods = 10, 100
	require.Len(t, o.kinds(), 10)
	require.Equal(t, 8, o.leaving())
	o.pods = 30
	require.Equal(t, 2, o.leaving(), "one at once, one that is patient, and one that stays")
	require.Equal(t, "patient1", o.kinds()[1].name)
	require.Equal(t, int64(60), *o.kinds()[1].tolerations()[0].TolerationSeconds)
	require.Nil(t, o.kinds()[2].tolerations()[0].TolerationSeconds)
}

func TestTheInformersAloneKnowTheirFlags(t *testing.T) {
	flags := pflag.NewFlagSet("baseline", pflag.ContinueOnError)
	new(commandline.Process).AddFlags(flags)
	new(commandline.Replica).AddFlags(flags)
	require.NoError(t, flags.Parse(append(baselineArguments(), "--kubeconfig=kubeconfig")))
}

var begun = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return begun.Add(time.Duration(seconds * float64(time.Second)))
}

// since is a state that begins so many seconds after the beginning and lasts.
func since(seconds float64) []witness.Sighting { return []witness.Sighting{{At: after(seconds)}} }

// played returns the outcome of a play in which one of three nodes dies.
// Delays last so many seconds.
func played(delay time.Duration) *outcome {
	return &outcome{
		verdict: &verdict{
			living: 2, dead: 1, detected: delays{delay}, tainted: delays{2 * delay},
			evicted: delays{3 * delay, 4 * delay},
		},
		complete: true, first: begun, rest: rested(parts+1, 150*time.Millisecond, 0), restMemory: 32 << 20,
		cpu: delay, memory: 64 << 20, lasted: 5 * delay,
		calls: map[string]int{"delete pods": 1200},
		happened: happenings{
			"dead": {0}, "Unknown": {1}, "tainted NoExecute": {1}, "evicted": {1, 1}, "sent": {1, 1, 1, 1, 1, 1, 1},
		},
	}
}

// rested returns what was measured at rest, a reading each 10 s.
func rested(n int, subject, informers time.Duration) (r readings) {
	now := reading{subject: time.Minute}
	for range n {
		r = append(r, now)
		now.subject, now.informers = now.subject+subject, now.informers+informers
		now.at, now.beats = now.at+10*time.Second, now.beats+5000
	}
	return r
}

// results returns those of one scenario, with outcomes of ours and of upstream.
func results(t *testing.T, of string, ours, upstream []*outcome) *sidebyside.Results[scenario, outcome] {
	t.Helper()
	m := newOptions().measurement()
	c, err := m.Parse([]string{"--nodes=10", "--pods=20", "--cut=1", "--scenario=" + of}, io.Discard)
	require.NoError(t, err)
	r := m.Results(c, nil)
	r.Columns[0].Records, r.Columns[1].Records = ours, upstream
	return r
}

func written(t *testing.T, r *sidebyside.Results[scenario, outcome]) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, r.Write(&out))
	return out.String()
}

func TestTheTableHasDelaysFaultsAndCosts(t *testing.T) {
	r := results(t, "cut",
		[]*outcome{played(12 * time.Second), played(10 * time.Second), played(20 * time.Second)},
		[]*outcome{played(8 * time.Second)})
	require.NoError(t, r.Err())
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
		"| living nodes declared | 0 | 0 |\n", "| dead nodes missed | 0 | 0 |\n", "| pods left that must leave | 0 | 0 |\n",
		"| CPU at rest, of a core | 1.5 % | 1.5 % |\n",
		"| resident memory at rest | 32 MiB | 32 MiB |\n",
		"| heartbeats stored a second, at rest | 500 | 500 |\n",
		"| CPU time in the outage | 12.00 s (10.00–20.00 s) | 8.00 s |\n",
		"| the outage lasts | 60.0 s (50.0–100.0 s) | 40.0 s |\n",
		"| most resident memory | 64 MiB | 64 MiB |\n",
		"| API calls in the outage | 1,200 | 1,200 |\n",
		"| API calls: delete pods | 1,200 | 1,200 |\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "informers alone", "they run in the scenario rest")
}

func TestOneWrongEvictionOfOursIsAnErrorInAnyRepetition(t *testing.T) {
	wrong := played(10 * time.Second)
	wrong.verdict.faults = []fault{{pod: "soon0-a-0", at: after(1), why: wrongEarly}}
	three := []*outcome{played(10 * time.Second), wrong, played(10 * time.Second)}
	right := []*outcome{played(10 * time.Second)}
	r := results(t, "cut", three, right)
	require.ErrorIs(t, r.Err(), sidebyside.ErrOursFailed)
	require.ErrorContains(t, r.Err(), "cut, repetition 2: 1 pods evicted wrongly")
	require.Contains(t, written(t, r), "| pods evicted wrongly: it is early | **0** (0–1) | 0 |\n")
	r = results(t, "cut", right, three)
	require.NoError(t, r.Err(), "upstream's faults are its own")
	require.Contains(t, written(t, r), "| pods evicted wrongly: it is early | 0 | **0** (0–1) |\n")

	for name, miss := range map[string]func(*verdict){
		"missed":   func(v *verdict) { v.missed = 1 },
		"left":     func(v *verdict) { v.left = 1 },
		"declared": func(v *verdict) { v.declared = 1 },
		"nothing":  func(v *verdict) { *v = verdict{living: 3} },
	} {
		bad := played(time.Second)
		miss(bad.verdict)
		require.ErrorIs(t, results(t, "cut", []*outcome{bad}, right).Err(), sidebyside.ErrOursFailed, name)
	}
}

// What an interrupted subject has not done is no fault, and what it has done
// wrong stays wrong.
func TestAnInterruptedPlayIsNoFaultForWhatIsMissing(t *testing.T) {
	partial := played(10 * time.Second)
	partial.complete, partial.verdict.left, partial.verdict.missed = false, 3, 2
	r := results(t, "cut", nil, nil)
	r.Columns[0].Partial, r.Columns[0].Err = partial, sidebyside.ErrIncomplete
	require.Contains(t, written(t, r), "| dead nodes missed | – [1] | – |\n", "they may have been found later")
	require.Contains(t, written(t, r), "| Unknown, last | 10.0 s [1] | – |\n")
	o := newOptions()
	require.NoError(t, o.faults(partial, false))
	partial.verdict.faults = []fault{{why: wrongLiving}}
	require.Error(t, o.faults(partial, false), "that stays wrong")
	require.Contains(t, written(t, r), "| pods evicted wrongly: its node lives | **1** [1] | – |\n")
}

func TestAtRestOursIsNextToTheInformersAlone(t *testing.T) {
	dear := &outcome{rest: rested(parts+1, 2200*time.Millisecond, 2*time.Second), restMemory: 32 << 20}
	r := results(t, "rest", []*outcome{dear}, []*outcome{
		{rest: rested(parts+1, 3*time.Second, 2*time.Second), restMemory: 32 << 20},
	})
	require.NoError(t, r.Err(), "upstream may cost what it does")
	text := written(t, r)
	for _, want := range []string{
		"| 10 nodes at rest | examples/nodelifecycle | kube-controller-manager v1.37.1 |\n",
		"| CPU at rest, of a core | 22.0 % | 30.0 % |\n",
		"| resident memory at rest | 32 MiB | 32 MiB |\n",
		"| heartbeats stored a second, at rest | 500 | 500 |\n",
		"| CPU of the same informers alone, beside it | 20.0 % | 20.0 % |\n",
		"| its CPU time to theirs | 1.100 | 1.500 |\n",
		"| its CPU time to theirs, part 5 of 5 | 1.100 | 1.500 |\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "Unknown", "no node dies")
	o := newOptions()
	o.most = 1.05
	require.ErrorIs(t, o.faults(dear, true), errTooMuch)
	o.most = 1.15
	require.NoError(t, o.faults(dear, true))
}

func TestAPlayThatEndsAtRestLeavesThePartsBefore(t *testing.T) {
	early := &outcome{rest: rested(3, 2200*time.Millisecond, 2*time.Second)}
	r := results(t, "rest", nil, nil)
	r.Columns[0].Partial, r.Columns[0].Err = early, sidebyside.ErrIncomplete
	text := written(t, r)
	require.Contains(t, text, "| its CPU time to theirs | 1.100 [1] | – |\n")
	require.Contains(t, text, "| its CPU time to theirs, part 2 of 5 | 1.100 [1] | – |\n")
	require.Contains(t, text, "| its CPU time to theirs, part 3 of 5 | – [1] | – |\n")
	o := newOptions()
	o.most = 1.05
	require.ErrorIs(t, o.faults(early, false), errTooMuch, "what is known is judged")
	atOnce := &outcome{rest: rested(1, time.Second, time.Second)}
	require.NoError(t, o.faults(atOnce, false))
	_, known := atOnce.rest.ratio()
	require.False(t, known)
}

func TestTheCurvesCountSecondsFromTheFirstDeath(t *testing.T) {
	nodes := []node{
		{
			Node: witness.Node{Unknown: since(1.5), Tainted: since(2)},
			died: begun, pods: []pod{{evicted: after(2.1)}, {}},
		},
		{Node: witness.Node{Unknown: since(2.5)}, died: after(1)},
		// Wrong, and an eviction all the same.
		{Node: witness.Node{Unknown: since(1)}, pods: []pod{{evicted: after(3.2)}}},
	}
	calls := []controlplane.Request{
		{Received: begun}, {Received: after(0.5)}, {Received: after(0.9)}, {Received: after(9)},
	}
	h := newHappenings(nodes, calls, begun, after(3.5))
	for curve, want := range map[string][]int{
		"dead": {1, 2, 2, 2, 2}, "Unknown": {0, 0, 1, 2, 2}, "tainted NoExecute": {0, 0, 1, 1, 1},
		"evicted": {0, 0, 0, 1, 2}, "sent": {1, 2, 0, 0, 0},
	} {
		require.Equal(t, want, h.values(curve, 5), curve)
	}
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
	ours.verdict.faults = []fault{{pod: "soon0-a-0", at: after(0.4), why: wrongEarly}}
	ours.lasted, upstream.lasted = 0, time.Second // that are two points and three
	upstream.happened["evicted"] = []int{1, 2}
	upstream.happened["sent"] = []int{1, 2, 2, 2, 2, 2, 2, 2, 2, 2}
	p := results(t, "cut", []*outcome{ours}, []*outcome{upstream}).Page()
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

	alone := results(t, "cut", nil, []*outcome{upstream}).Page()
	require.Len(t, alone.Runs, 1)
	require.Equal(t, "kube-controller-manager v1.37.1", alone.Runs[0].Name)
	require.Equal(t, []any{[]int{0, 1, 2}}, alone.Plots[1].Lines[0].Values)
	require.Nil(t, results(t, "cut", nil, nil).Page())
}

// TestBothAreCompared plays each scenario with each subject on a small cluster.
// It checks what a machine does not change, in about two minutes.
func TestBothAreCompared(t *testing.T) {
	o := newOptions()
	o.beat, o.grace, o.period = time.Second, 12*time.Second, time.Second
	o.patient, o.gap = 3*time.Second, 3*time.Second
	o.settle, o.rest = time.Second, 14*time.Second
	m := o.measurement()
	c, err := m.Parse([]string{
		"--nodes=20", "--pods=60", "--cut=4", "--most=100", "--repetitions=1", "--scenario=cut,zones,rest",
	}, t.Output())
	require.NoError(t, err)
	c.Parallel = 2
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Len(t, r.Columns, 6)
	for _, column := range r.Columns {
		of := column.Records[0]
		require.Len(t, of.rest, parts+1, column.Name())
		require.Positive(t, of.rest[parts].beats)
		if column.Scenario.dying == nil {
			require.Positive(t, of.rest[parts].informers, column.Name())
			continue
		}
		v := of.verdict
		require.Equal(t, map[string]int{"cut": 4, "zones": 18}[column.Scenario.name], v.dead)
		require.Equal(t, o.nodes, v.dead+v.living)
		if column.Subject.Name == sidebyside.Ours { // Err has judged it
			require.Len(t, v.evicted, v.dead*o.leaving())
			require.Len(t, v.detected, v.dead)
		}
		require.GreaterOrEqual(t, of.calls["delete pods"], len(v.evicted))
		require.Positive(t, of.cpu)
		require.Greater(t, of.memory, int64(10<<20))
		require.Greater(t, of.lasted, o.grace)
		require.Len(t, of.happened["dead"], v.dead)
		require.Len(t, of.happened["evicted"], len(v.evicted))
	}
	var page bytes.Buffer
	require.NoError(t, htmlpage.Write(&page, r.Page()))
	require.Contains(t, page.String(), c.Subjects[1].Title)
}
