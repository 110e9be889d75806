package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/zone"
)

// All zones silent: no pod leaves, and all 48 that would have had to are
// spared. Those of the DaemonSet tolerate it for ever and count nowhere.
func TestPodsAreSparedWhenTheClusterIsSuspended(t *testing.T) {
	silence := scenario.Step{At: minutes(3), For: minutes(6), Silence: &scenario.Nodes{All: true}}
	document, _ := play(t, small(silence))
	cluster := document.Summary.Cluster
	require.Equal(t, report.Pods{Spared: 48}, cluster.Pods)
	require.Equal(t, report.Hits{Nodes: 24, Times: 24}, cluster.Declared)
	require.Zero(t, cluster.Tainted)
	require.Nil(t, cluster.Drain)
	var phases []string
	for _, line := range lines(document, report.PhaseChanged) {
		phases = append(phases, line.To)
	}
	require.Equal(t, []string{string(zone.PhaseRecovering), string(zone.PhaseActive), string(zone.PhaseSuspended),
		string(zone.PhaseRecovering), string(zone.PhaseActive)}, phases)
	changes := lines(document, report.ZoneChanged)
	require.Equal(t, string(zone.Normal), changes[0].From)
	require.Equal(t, string(zone.PartialDisruption), changes[0].To)

	silence.For = 0
	document, _ = play(t, small(silence))
	require.Equal(t, report.Pods{Spared: 48}, document.Summary.Cluster.Pods, "suspended still at the end")
	for _, z := range document.Series.Zones {
		require.Greater(t, slices.Max(z.Limit), 1.0)
		require.Zero(t, z.Limit[len(z.Limit)-1], "no taint is allowed then, not even one that was saved up")
	}
}

// What a budget keeps is told when it does, once, and counted at the end.
func TestPodsThatABudgetKeepsAreSaid(t *testing.T) {
	s := small(scenario.Step{At: minutes(3), Silence: rack(0)})
	s.Cluster.Workloads[0].MinAvailable = 48
	s.Controller.Flags = map[string]scenario.FlagValue{"action": "evict", "node-eviction-rate": "1"}
	document, _ := play(t, s)
	pods := document.Summary.Cluster.Pods
	require.Positive(t, pods.Kept)
	require.Equal(t, report.Pods{Waiting: pods.Kept, Kept: pods.Kept}, pods)
	said := lines(document, report.PodsKept)
	told := 0
	for _, line := range said {
		told += line.Count
	}
	require.Equal(t, pods.Kept, told, "each pod once, however often it is tried")
	require.Regexp(t, `^\d+ pods kept by a budget on 3 nodes over .* \(a-`, said[0].Text)
	var out bytes.Buffer
	require.NoError(t, document.Summary.Write(&out))
	require.Regexp(t, fmt.Sprintf(`(?m)^  kept by a budget +%d +0 +%d$`, pods.Kept, pods.Kept), out.String())
}

func TestPodsThatAreAboutToLeaveAtTheEndWait(t *testing.T) {
	s := small(scenario.Step{At: minutes(3), Silence: rack(0)})
	s.Duration = minutes(4.5) // tainted, but a minute has not passed
	document, _ := play(t, s)
	a := document.Summary.Zones[0]
	require.Equal(t, 3, a.Tainted.Nodes)
	require.Positive(t, a.Pods.Waiting)
	require.Equal(t, report.Pods{Waiting: a.Pods.Waiting}, a.Pods)

	s.Duration = minutes(10)
	later, _ := play(t, s)
	require.Equal(t, report.Pods{Evicted: a.Pods.Waiting}, later.Summary.Zones[0].Pods)
}

// One node comes and goes: its pods are spared each time, and count once. In
// the end it stays away and they leave.
func TestAPodIsSparedOrEvictedButNotBoth(t *testing.T) {
	one := scenario.Nodes{Names: []string{"a-0"}}
	flap := scenario.Step{At: minutes(3), For: minutes(8),
		Flap: &scenario.Flap{Nodes: one, Down: minutes(1.5), Up: minutes(1)}}
	document, _ := play(t, small(flap))
	a := document.Summary.Zones[0]
	require.Greater(t, a.Declared.Times, a.Declared.Nodes)
	require.Equal(t, 1, a.Declared.Nodes)
	spared := a.Pods.Spared
	require.Positive(t, spared)
	require.Equal(t, report.Pods{Spared: spared}, a.Pods)

	described := small(flap, scenario.Step{At: minutes(13), Silence: &one})
	document, _ = play(t, described)
	require.Equal(t, report.Pods{Evicted: spared}, document.Summary.Zones[0].Pods)
	described.Duration = minutes(14)
	document, _ = play(t, described)
	require.Equal(t, report.Pods{Waiting: spared}, document.Summary.Zones[0].Pods)
}

// A node that is deleted while it is silent takes its pods with it.
func TestPodsOfADeletedNodeAreNotSpared(t *testing.T) {
	one := scenario.Nodes{Names: []string{"a-0"}}
	document,
		_ := play(t, small(scenario.Step{At: minutes(3), Silence: &one}, scenario.Step{At: minutes(4.5), Delete: &one}))
	require.Equal(t, 1, document.Summary.Zones[0].Tainted.Nodes)
	require.Zero(t, document.Summary.Zones[0].Pods)
}

// A node that is not ready and then silent has one taint after the other. Its
// pods are due as if it had been one.
func TestADeadlineSurvivesTheSwapOfATaint(t *testing.T) {
	one := scenario.Nodes{Names: []string{"a-0"}}
	document,
		_ := play(t, small(scenario.Step{At: minutes(3), NotReady: &one}, scenario.Step{At: minutes(3.1), Silence: &one}))
	a := document.Summary.Zones[0]
	require.Equal(t, report.Hits{Nodes: 1, Times: 1}, a.Tainted, "swapping one for the other is no news")
	require.Equal(t, 1, a.Declared.Nodes)
	require.Positive(t, a.Late.Of)
	require.Greater(t, a.Late.Median, report.Seconds(0))
	require.Less(t, a.Late.Worst, report.Seconds(1.5))
}

// A node that moves takes its trouble with it, and leaves none behind.
func TestTroubleMovesWithItsNode(t *testing.T) {
	document, _ := play(t, small(
		scenario.Step{At: minutes(3), NotReady: &scenario.Nodes{Names: []string{"b-0"}}},
		scenario.Step{At: minutes(4), Move: &scenario.Move{Nodes: scenario.Nodes{Names: []string{"b-0"}}, Zone: "c"}},
		scenario.Step{At: minutes(10), Silence: &scenario.Nodes{Names: []string{"b-1"}}},
	))
	b, c := document.Summary.Zones[1], document.Summary.Zones[2]
	require.Positive(t, c.Pods.Evicted)
	require.Less(t, c.Drain.Last, report.Seconds(30), "counted from when it came")
	require.Positive(t, b.Pods.Evicted)
	require.Less(t, b.Drain.Last, report.Seconds(3*60), "counted from the silence")
}

// When settling ends, nodes wait already: what they are given is counted from
// the moment at which they are.
func TestARateCountsFromTheFirstCallThatItAllows(t *testing.T) {
	waiting := scenario.Nodes{Names: []string{"a-0", "a-1", "a-2", "a-3", "a-4", "a-5"}}
	document, _ := play(t, small(
		scenario.Step{At: minutes(3), For: minutes(3), Silence: &scenario.Nodes{All: true}},
		scenario.Step{At: minutes(3), Silence: &waiting},
	))
	require.Equal(t, 6, document.Summary.Zones[0].Peak.Tainted, texts(document))
	require.InDelta(t, 6, document.Summary.Zones[0].Peak.Limit, 0.01)
	causes := lines(document, report.PhaseChanged, report.Tainted)
	require.Equal(t, report.Tainted, causes[len(causes)-1].Kind, "what allows it is told before it")
}

// Time is counted from the beginning of each outage, not from that of the
// first.
func TestDrainIsCountedFromTheOutageThatItBelongsTo(t *testing.T) {
	once, _ := play(t, small(scenario.Step{At: minutes(3), For: minutes(4), Silence: rack(1)}))
	twice, _ := play(t, small(
		scenario.Step{At: minutes(3), For: minutes(4), Silence: rack(1)},
		scenario.Step{At: minutes(12), For: minutes(4), Silence: rack(2)},
	))
	drain := twice.Summary.Zones[0].Drain
	require.InDelta(t, float64(once.Summary.Zones[0].Drain.First), float64(drain.First), 15)
	require.Less(t, drain.Last, report.Seconds(3*60))
}

func TestAnAdministratorsTaintIsTroubleToo(t *testing.T) {
	taint := scenario.Step{At: minutes(3), Taint: &scenario.Taint{
		Nodes: scenario.Nodes{Names: []string{"a-3"}}, Key: "maintenance", Effect: string(corev1.TaintEffectNoExecute),
	}}
	described := small(taint)
	// The owner of daemons would make new ones for ever, which do not tolerate it
	// either.
	described.Cluster.Workloads = described.Cluster.Workloads[:1]
	document, counted := play(t, described)
	a := document.Summary.Zones[0]
	require.Positive(t, counted.evicted["a"])
	require.Equal(t, counted.evicted["a"], a.Pods.Evicted)
	require.Zero(t, a.Tainted, "it is not the controller's")
	require.Less(t, a.Drain.Last, report.Seconds(2))
	require.Equal(t, counted.evicted["a"], a.Late.Of)

	taint.Taint.TimeAdded = "-1h"
	document, _ = play(t, described)
	require.Nil(t, document.Summary.Zones[0].Late, "when they were due depends on the client")
}

func TestNodesThatComeGoAndMove(t *testing.T) {
	s := small(
		scenario.Step{At: minutes(2), Move: &scenario.Move{Nodes: scenario.Nodes{Zone: "b", Rack: ptr.To(0)}, Zone: "c"}},
		scenario.Step{At: minutes(3), For: minutes(3), Silence: &scenario.Nodes{Zone: "b", Rack: ptr.To(0)}},
		scenario.Step{At: minutes(8), For: minutes(2), Delete: &scenario.Nodes{Names: []string{"b-1", "b-2"}}},
		scenario.Step{At: minutes(15), For: minutes(2), NotReady: &scenario.Nodes{Names: []string{"a-7"}}},
	)
	document, counted := play(t, s)
	require.Len(t, document.Summary.Zones, 3, "one came into being")
	a, b, c := document.Summary.Zones[0], document.Summary.Zones[1], document.Summary.Zones[2]
	require.Equal(t, []string{"a", "b", "c"}, []string{a.Name, b.Name, c.Name})
	require.Equal(t, []int{12, 12, 3}, []int{a.Nodes, b.Nodes, c.Nodes}, "at most")
	require.Equal(t, 3, c.Declared.Nodes)
	require.Zero(t, b.Declared.Nodes)
	require.Equal(t, counted.evicted["c"], c.Pods.Evicted)
	require.Equal(t, 24, document.Summary.Cluster.Nodes)
	for kind, says := range map[report.Kind][]string{
		report.Moved:            {"3 nodes moved here (b-0, b-4, b-8)"},
		report.Deleted:          {"2 nodes deleted (b-1, b-2)"},
		report.Registered:       {"2 nodes registered (b-1, b-2)"},
		report.Recovered:        {"3 nodes ready again (b-0, b-4, b-8)", "1 node ready again (a-7)"},
		report.ReportedNotReady: {"1 node reported not ready (a-7)"},
	} {
		var got []string
		for _, line := range lines(document, kind) {
			got = append(got, line.Text)
		}
		require.Equal(t, says, got, texts(document))
	}
}

// A process that is paused for so long that it loses its lease, next to
// another.
func TestTheTimelineTellsWhatBecomesOfProcesses(t *testing.T) {
	s := small(
		scenario.Step{At: minutes(3), For: minutes(1), Pause: &scenario.Process{}},
		scenario.Step{At: minutes(10), Crash: &scenario.Process{}},
	)
	s.Controller.Replicas = 2
	document, _ := play(t, s)
	var told []string
	for _, line := range lines(document, report.ProcessPaused, report.ProcessResumed, report.ProcessStopped,
		report.ProcessStarted, report.ProcessLeads) {
		require.Contains(t, []string{"controller-0", "controller-1"}, line.Process)
		told = append(told, strings.TrimPrefix(string(line.Kind), "process "))
	}
	require.Equal(t, []string{"started", "started", "leads", "paused", "leads", "resumed", "stopped", "started", "stopped",
		"started", "leads"}, told, texts(document))
	require.Contains(t, texts(document), "starts again, life 2")
	require.Contains(t, texts(document), "stops: lost the leader's lease", "which another one has taken")
}

func TestAThousandNodesAreAFewLines(t *testing.T) {
	s := small(scenario.Step{At: minutes(3), Silence: &scenario.Nodes{Zone: "a"}})
	s.Cluster.Zones[0].Nodes, s.Cluster.Zones[1].Nodes = 1000, 1000
	s.Cluster.Workloads[0].Replicas = 4000
	s.Controller.Flags = map[string]scenario.FlagValue{"node-eviction-rate": "2", "kube-api-qps": "500"}
	document, counted := play(t, s)
	require.Greater(t, counted.evicted["a"], 1000)
	require.Less(t, len(document.Timeline), 20, texts(document))
	require.Contains(t, texts(document), "1000 nodes silent (a-0 .. a-999)")
}

func TestTheTableShowsWhatIsWorthIt(t *testing.T) {
	document, _ := play(t, small(scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(1)}))
	var out bytes.Buffer
	require.NoError(t, document.Summary.Write(&out))
	rows := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		if name, rest, ok := strings.Cut(strings.TrimLeft(line, " "), "  "); ok {
			rows[name] = strings.Fields(rest)
		}
	}
	require.Equal(t, []string{"zone", "b", "cluster"}, rows["zone a"])
	require.Equal(t, []string{"12", "12", "24"}, rows["nodes"])
	require.Equal(t, []string{"3", "0", "3"}, rows["nodes declared Unknown"])
	evicted := fmt.Sprint(document.Summary.Cluster.Pods.Evicted)
	require.Equal(t, []string{evicted, "0", evicted}, rows["pods evicted"])
	require.Equal(t, []string{evicted, "0", evicted}, rows["delete pods"])
	require.Equal(t, []string{"3", "-", "-"}, rows["in the busiest minute"], "a rate is a zone's")
	require.NotContains(t, out.String(), "so many times", "each was declared once")
	require.NotContains(t, out.String(), "still to leave")
	require.Equal(t, document.Summary.Zones[0].Drain.Last.String(), rows["the last after"][0])
}

func TestTooManyZonesForATable(t *testing.T) {
	var s report.Summary
	for i := range 20 {
		s.Zones = append(s.Zones,
			report.Zone{Name: fmt.Sprint(i), Nodes: 1, Declared: report.Hits{Nodes: i % 2, Times: i % 2}})
	}
	var out bytes.Buffer
	require.NoError(t, s.Write(&out))
	header, _, _ := strings.Cut(out.String(), "\n")
	require.Equal(t, "zone 1  zone 3  zone 5  zone 7  zone 9  zone 11  zone 13  zone 15  cluster",
		strings.TrimSpace(header))
	require.Contains(t, out.String(), "12 zones not shown; --json has all.")
}

func TestViolationsAreToldOnlyIfTheyWereLookedFor(t *testing.T) {
	told := func(d report.Document) string {
		var out bytes.Buffer
		require.NoError(t, d.WriteViolations(&out))
		return out.String()
	}
	require.Empty(t, told(report.Document{}))
	require.Equal(t, "Every invariant held.\n", told(report.Document{Checked: true}))
	require.Equal(t, "Invariants that did not hold, 1 time:\n0:01:02  never early: pod web-1\n", told(report.Document{
		Checked: true, Violations: []report.Violation{{At: 62, Invariant: "never early", Text: "pod web-1"}},
	}))
}

// At ten times the rate a zone drains faster, and everything else stays.
func TestCompareShowsWhatASettingChanges(t *testing.T) {
	described := small(scenario.Step{At: minutes(3), For: minutes(10), Silence: &scenario.Nodes{Zone: "a"}})
	given, _ := play(t, described)
	faster := described.Clone()
	require.NoError(t, scenario.Set(faster, "node-eviction-rate=1"))
	changed, _ := play(t, faster)
	comparison := report.Compare([]string{"node-eviction-rate=1"}, given, changed)

	found := map[string]report.Difference{}
	for _, d := range comparison.Differences {
		require.NotEqual(t, d.Given, d.Changed)
		found[d.Zone+" "+d.Measure] = d
	}
	require.NotContains(t, found, "a nodes")
	require.NotContains(t, found, "a tainted.nodes")
	last := found["a drain.last"]
	require.InDelta(t, *last.Changed-*last.Given, *last.Change, 1e-9)
	require.InDelta(t, float64(given.Summary.Zones[0].Drain.Last), *last.Given, 1e-9)
	require.Less(t, *last.Change, -60.0)
	require.Contains(t, found, " drain.last", "of the cluster")

	var out bytes.Buffer
	require.NoError(t, comparison.Write(&out))
	require.NotContains(t, out.String(), "zone b", "nothing happened there")
	var row string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "the last after") {
			row = line
			break
		}
	}
	require.Equal(t, []string{
		given.Summary.Zones[0].Drain.Last.String(), changed.Summary.Zones[0].Drain.Last.String(),
		report.Seconds(*last.Change).String(),
	}, strings.Fields(row)[3:])
}

func TestCompareOfWhatIsThereOnlyOnce(t *testing.T) {
	given := &report.Document{Summary: report.Summary{Zones: []report.Zone{{Name: "a", Nodes: 1}}}}
	changed := &report.Document{Summary: report.Summary{Zones: []report.Zone{
		{Name: "a", Nodes: 1, Drain: &report.Drain{First: 1, Last: 2}},
		{Name: "c", Nodes: 3, Declared: report.Hits{Nodes: 2, Times: 2}},
	}}}
	comparison := report.Compare([]string{"x=y"}, given, changed)
	first := comparison.Differences[0]
	require.Equal(t, "a", first.Zone)
	require.Equal(t, "drain.first", first.Measure)
	require.Nil(t, first.Given)
	require.Nil(t, first.Change)
	require.InDelta(t, 1, *first.Changed, 0)
	var out bytes.Buffer
	require.NoError(t, comparison.Write(&out))
	require.Contains(t, out.String(), "zone c")
	require.Contains(t, out.String(), "+2")
}

func TestTheReportOfAnInterruptedRunSaysHowFarItCame(t *testing.T) {
	s, err := simulation.New(small(scenario.Step{At: minutes(3), Silence: rack(1)}))
	require.NoError(t, err)
	recorder := report.Watch(s, nil)
	for s.World().Elapsed() < minutes(4).D() {
		require.True(t, s.Step())
	}
	document := recorder.Document()
	require.Less(t, document.Reached, document.Duration)
	require.Equal(t, 3, document.Summary.Cluster.Declared.Nodes)
	require.NotEmpty(t, lines(document, report.Tainted), "what was held back is told")
}
