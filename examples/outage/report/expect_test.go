package report_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

func seconds(n float64) scenario.Duration { return scenario.Duration(n * float64(time.Second)) }

func TestExpectationsAreComparedWithTheSummary(t *testing.T) {
	summary := &report.Summary{
		Cluster: report.Zone{
			DeclaredLiving: report.Hits{Nodes: 1, Times: 2}, DeclaredDead: report.Hits{Nodes: 10, Times: 12},
			Tainted: report.Hits{Nodes: 8, Times: 9}, Pods: report.Pods{Evicted: 30},
			Calls: []report.Calls{{Kind: "get leases", Sent: 4}, {Kind: "patch nodes", Sent: 6, Failed: 2}},
		},
		Workloads: []report.Workload{{Name: "web", Evicted: 28}, {Name: "db", Evicted: 2}, {Name: "agent"}},
		Departures: []report.Departure{
			{Step: 1, Workload: "db", Pods: 2, Earliest: 60, Latest: 70},
			{Step: 1, Workload: "web", Pods: 28, Earliest: 61.5, Latest: 90},
		},
		Suspended: true,
		Paused:    true,
	}
	exactly := func(n int) *scenario.Count { return ptr.To(scenario.Exactly(n)) }
	got := report.Expectations(&scenario.Expect{
		Declared: &scenario.ExpectDeclared{Living: exactly(0), Dead: exactly(10)},
		Tainted: &scenario.ExpectTainted{
			Nodes: &scenario.Count{AtMost: ptr.To(7)}, Times: &scenario.Count{AtLeast: ptr.To(9)},
		},
		Evicted: &scenario.ExpectEvicted{Pods: exactly(30),
			Workloads: map[string]scenario.Count{"agent": scenario.Exactly(0), "db": {AtLeast: ptr.To(3), AtMost: ptr.To(4)}}},
		Departures: []scenario.ExpectDepartures{
			{Step: 1, Pods: exactly(30), Earliest: &scenario.Time{AtLeast: ptr.To(seconds(60))},
				Latest: &scenario.Time{AtMost: ptr.To(seconds(89.9))}},
			{Step: 1, Workload: "web", Earliest: ptr.To(scenario.Exactly(seconds(61.5)))},
			{Step: 0, Pods: exactly(0), Earliest: &scenario.Time{AtLeast: ptr.To(seconds(5))}},
		},
		Suspended: ptr.To(true),
		Paused:    ptr.To(false),
		Calls:     &scenario.Count{AtMost: ptr.To(9)},

		FailedCalls: exactly(2),
	}, summary)
	require.Equal(t, []report.Expectation{
		{"expect.declared.living", "0", "1", false},
		{"expect.declared.dead", "10", "10", true},
		{"expect.tainted.nodes", "at most 7", "8", false},
		{"expect.tainted.times", "at least 9", "9", true},
		{"expect.evicted.pods", "30", "30", true},
		{"expect.evicted.workloads.db", "3 to 4", "2", false},
		{"expect.evicted.workloads.agent", "0", "0", true},
		{"expect.departures[0].pods", "30", "30", true},
		{"expect.departures[0].earliest", "at least 1m", "1m0s", true},
		{"expect.departures[0].latest", "at most 1m29.9s", "1m30s", false},
		{"expect.departures[1].earliest", "1m1.5s", "1m1.5s", true},
		{"expect.departures[2].pods", "0", "0", true},
		{"expect.departures[2].earliest", "at least 5s", "-", true},
		{"expect.suspended", "true", "true", true},
		{"expect.paused", "false", "true", false},
		{"expect.calls", "at most 9", "10", false},
		{"expect.failedCalls", "2", "2", true},
	}, got)
	require.Empty(t, report.Expectations(nil, summary))

	document := &report.Document{Expectations: got}
	require.Len(t, document.Unmet(), 6)
	var out bytes.Buffer
	require.NoError(t, document.WriteExpectations(&out))
	require.Contains(t, out.String(), "expect.declared.living                        0         1  NO\n")
	require.Contains(t, out.String(), "expect.declared.dead                         10        10\n")
	out.Reset()
	require.NoError(t, (&report.Document{ExpectationsSkipped: true}).WriteExpectations(&out))
	require.Contains(t, out.String(), "was not compared")
	out.Reset()
	require.NoError(t, (&report.Document{}).WriteExpectations(&out))
	require.Empty(t, out.String())
}

// An API server that refuses the kubelets alone makes all nodes look dead,
// whose kubelets were up all the time. Those of a rack that was cut off were
// not.
func TestNodesAreLivingByTheTruthNotByWhatTheControllerKnew(t *testing.T) {
	down := scenario.Step{At: minutes(3), For: minutes(3), APIDown: &scenario.APIDown{For: scenario.Kubelets}}
	silence := scenario.Step{At: minutes(10), For: minutes(4), Silence: rack(0)}
	s := small(down, silence)
	document, _ := play(t, s)
	cluster := document.Summary.Cluster
	require.Equal(t, report.Hits{Nodes: 24, Times: 24}, cluster.DeclaredLiving)
	require.Equal(t, report.Hits{Nodes: 3, Times: 3}, cluster.DeclaredDead)
	require.Equal(t, report.Hits{Nodes: 24, Times: 27}, cluster.Declared)
	require.True(t, document.Summary.Suspended)

	document, _ = play(t, small(silence))
	require.Zero(t, document.Summary.Cluster.DeclaredLiving)
	require.False(t, document.Summary.Suspended)
}

// Departures count for the steps that have hit the node by then, and are
// measured from when the step begins.
func TestDeparturesBelongToTheStepsThatHitTheNode(t *testing.T) {
	s := small(
		scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(0)},
		scenario.Step{At: minutes(4), For: minutes(5), Silence: rack(1)},
		scenario.Step{At: minutes(12), For: minutes(3),
			Taint: &scenario.Taint{Nodes: scenario.Nodes{Zone: "b"}, Key: "x", Effect: "NoSchedule"}},
		scenario.Step{At: minutes(10), Crash: &scenario.Process{}},
	)
	document, c := play(t, s)
	byStep := map[int]int{}
	for _, d := range document.Summary.Departures {
		require.Equal(t, "web", d.Workload)
		byStep[d.Step] += d.Pods
		require.GreaterOrEqual(t, d.Earliest.D(), 39*time.Second+time.Minute)
		require.LessOrEqual(t, d.Earliest, d.Latest)
	}
	require.Len(t, byStep, 2)
	require.Equal(t, c.evicted[""], byStep[0]+byStep[1])
	require.Equal(t, []report.Workload{{Name: "web", Evicted: c.evicted[""]}, {Name: "agent"}}, document.Summary.Workloads)

	run, err := simulation.New(s)
	require.NoError(t, err)
	_, struck := run.Struck(0, "a-0")
	require.False(t, struck, "not yet")
	run.Run()
	since, struck := run.Struck(0, "a-0")
	require.True(t, struck)
	require.Equal(t, 3*time.Minute, since)
	_, struck = run.Struck(0, "a-1")
	require.False(t, struck, "of another rack")
	require.Equal(t, "web", model.WorkloadOf(run.World().Workload("web").Pods()[0]))
}

func TestWhatIsExpectedIsPartOfTheJSON(t *testing.T) {
	document, _ := play(t, small(scenario.Step{At: minutes(3), For: minutes(3), Silence: rack(0)}))
	text, err := json.Marshal(document)
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, []any{}, read["expectations"])
	summary, _ := read["summary"].(map[string]any)
	require.Contains(t, summary, "departures")
	require.Equal(t, false, summary["suspended"])
}
