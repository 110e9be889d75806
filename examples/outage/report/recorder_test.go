package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

func minutes(n float64) scenario.Duration { return scenario.Duration(n * float64(time.Minute)) }

// small is twelve nodes in each of two zones, in racks of three. It has 48 pods
// that tolerate for a minute that their node is ill, and a DaemonSet.
func small(steps ...scenario.Step) *scenario.Scenario {
	seconds := int64(60)
	return &scenario.Scenario{
		Name: "small", Duration: minutes(20), Seed: 7,
		Cluster: scenario.Cluster{
			Zones: []scenario.Zone{{Name: "a", Nodes: 12, Racks: 4}, {Name: "b", Nodes: 12, Racks: 4}},
			Workloads: []scenario.Workload{
				{Name: "web", Replicas: 48, TolerationSeconds: &seconds},
				{Name: "agent", Kind: scenario.DaemonSet},
			},
		},
		Script: steps,
	}
}

func rack(number int) *scenario.Nodes { return &scenario.Nodes{Zone: "a", Rack: &number} }

// play runs a scenario and returns its report and what an independent witness
// has counted.
func play(t testing.TB, description *scenario.Scenario) (*report.Document, *census) {
	t.Helper()
	s, err := simulation.New(description)
	require.NoError(t, err)
	recorder := report.Watch(s, nil)
	c := newCensus(s.World())
	s.World().Watch(c)
	s.Run()
	return recorder.Document(), c
}

// census counts what happens, plainly, by zone label; "" is the whole cluster.
type census struct {
	model.Unimpressed
	world             *model.World
	evicted, declared map[string]int
	tainted           map[string]int
	sent, failed      map[string]int
}

func newCensus(world *model.World) *census {
	return &census{
		world: world, evicted: map[string]int{}, declared: map[string]int{}, tainted: map[string]int{},
		sent: map[string]int{}, failed: map[string]int{},
	}
}

func (c *census) zone(node string) string {
	if object := c.world.Node(node); object != nil {
		return object.Labels[corev1.LabelTopologyZone]
	}
	return c.world.Machine(node).Zone
}

func (c *census) WrotePod(w model.PodWrite) {
	if w.Call != nil && w.Before.DeletionTimestamp == nil && (w.After == nil || w.After.DeletionTimestamp != nil) {
		c.evicted[""]++
		c.evicted[c.zone(w.Before.Spec.NodeName)]++
	}
}

func (c *census) WroteNode(w model.NodeWrite) {
	if w.Call == nil || w.Before == nil || w.After == nil {
		return
	}
	show := func(node *corev1.Node) (unknown, tainted bool) {
		for _, condition := range node.Status.Conditions {
			unknown = unknown || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown
		}
		for _, taint := range node.Spec.Taints {
			tainted = tainted || taint.Effect == corev1.TaintEffectNoExecute &&
				strings.HasPrefix(taint.Key, "node.kubernetes.io/")
		}
		return unknown, tainted
	}
	wasUnknown, wasTainted := show(w.Before)
	isUnknown, isTainted := show(w.After)
	if isUnknown && !wasUnknown {
		c.declared[c.zone(w.After.Name)]++
	}
	if isTainted && !wasTainted {
		c.tainted[c.zone(w.After.Name)]++
	}
}

func (c *census) Sent(call *network.Call) { c.sent[kind(call)]++ }

func (c *census) Answered(call *network.Call) {
	if call.Err != nil {
		c.failed[kind(call)]++
	}
}

func kind(call *network.Call) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s/%s", call.Verb, call.Kind, call.Subresource), "/")
}

// A rack of three nodes falls silent for six minutes. The timeline is what an
// operator expects to read, in order, with times that the settings give. There
// are 50 s of grace since the last of heartbeats 10 s apart. An interval and a
// tenth pass until the extent is known. One node follows each 10 s, and a
// toleration lasts a minute.
func TestTheTimelineOfARackLoss(t *testing.T) {
	document, counted := play(t, small(scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(1)}))
	nodes := []string{"a-1", "a-5", "a-9"}
	at := func(m, s float64) float64 { return m*60 + s }
	expected := []struct {
		kind         report.Kind
		from, to     float64 // of when it begins, in seconds
		zone, says   string
		count        int
		firstToLast  float64 // at most
		aboutTheRack bool
	}{
		{report.ProcessStarted, 0, 0, "", "starts", 0, 0, false},
		{report.ProcessLeads, 0, 1, "", "leads", 0, 0, false},
		{report.PhaseChanged, 0, 1, "", "Recovering: no node is acted against for 50s", 0, 0, false},
		{report.PhaseChanged, 50, 52, "", "Active: nodes are acted against at the rates of their zones", 0, 0, false},
		{report.FaultBegan, at(3, 0), at(3, 0), "", "begins: silence zone: a, rack: 1, for 6m", 0, 0, false},
		{report.Silent, at(3, 0), at(3, 0), "a", "3 nodes silent (a-1, a-5, a-9)", 3, 0, true},
		{report.Declared, at(3, 39), at(3, 51), "a", "3 nodes declared Unknown", 3, 11, true},
		{report.Tainted, at(3, 50), at(4, 3), "a", "3 nodes tainted NoExecute over 20s", 3, 21, true},
		{report.PodsEvicted, at(4, 50), at(5, 4), "a", fmt.Sprintf("%d pods evicted from 3 nodes", counted.evicted[""]),
			counted.evicted[""], 22, true},
		{report.FaultEnded, at(9, 0), at(9, 0), "", "ends: silence zone: a, rack: 1, for 6m", 0, 0, false},
		{report.Recovered, at(9, 0), at(9, 1), "a", "3 nodes ready again", 3, 1, true},
		{report.Untainted, at(9, 0), at(9, 1.5), "a", "3 nodes untainted NoExecute", 3, 1.5, true},
	}
	require.Positive(t, counted.evicted[""])
	require.Len(t, document.Timeline, len(expected), "%s", texts(document))
	for i, want := range expected {
		line := document.Timeline[i]
		require.Equal(t, want.kind, line.Kind, "%s", texts(document))
		require.Equal(t, want.zone, line.Zone, line.Text)
		require.GreaterOrEqual(t, float64(line.At), want.from, line.Text)
		require.LessOrEqual(t, float64(line.At), want.to, line.Text)
		require.Contains(t, line.Text, want.says)
		require.Equal(t, want.count, line.Count, line.Text)
		if line.Until != 0 {
			require.LessOrEqual(t, float64(line.Until-line.At), want.firstToLast, line.Text)
		}
		if want.aboutTheRack {
			require.Equal(t, nodes, line.Nodes, line.Text)
		}
	}
	require.Equal(t, "0:03:00  zone a   3 nodes silent (a-1, a-5, a-9)", document.Timeline[5].Format(7))
	require.Equal(t, "0:03:00  fault    begins: silence zone: a, rack: 1, for 6m", document.Timeline[4].Format(7))

	a, b := document.Summary.Zones[0], document.Summary.Zones[1]
	require.Equal(t, report.Hits{Nodes: 3, Times: 3}, a.Declared)
	require.Equal(t, report.Hits{Nodes: 3, Times: 3}, a.Tainted)
	require.Equal(t, report.Pods{Evicted: counted.evicted["a"]}, a.Pods)
	evicted := document.Timeline[8]
	require.InDelta(t, float64(evicted.At-180), float64(a.Drain.First), 0.001)
	require.InDelta(t, float64(evicted.Until-180), float64(a.Drain.Last), 0.001)
	require.Equal(t, a.Pods.Evicted, a.Late.Of)
	require.Greater(t, a.Late.Median, report.Seconds(0))
	require.Less(t, a.Late.Worst, report.Seconds(1.5), "the second by which a taint's time is rounded up, and calls")
	require.Equal(t, 3, a.Peak.Tainted)
	require.Equal(t, report.Zone{Name: "b", Nodes: 12, Calls: []report.Calls{}}, b)
}

func texts(document *report.Document) string {
	var b strings.Builder
	for _, line := range document.Timeline {
		b.WriteString(line.Format(12) + "\n")
	}
	return b.String()
}

// kinds returns the lines of some kinds.
func lines(document *report.Document, kinds ...report.Kind) []report.Line {
	return slices.DeleteFunc(slices.Clone(document.Timeline),
		func(line report.Line) bool { return !slices.Contains(kinds, line.Kind) })
}

// Every scenario that ships, against a witness that counts by itself.
func TestSumsAgreeWithTheWorldsOwnCounts(t *testing.T) {
	all := scenarios.Names()
	for _, name := range all[:seeds.Sized(5, len(all))] {
		t.Run(name, func(t *testing.T) {
			description, err := scenarios.Read(name)
			require.NoError(t, err)
			document, counted := play(t, description)
			evicted, tainted, declared := 0, 0, 0
			for _, line := range lines(document, report.PodsEvicted) {
				evicted += line.Count
			}
			for _, line := range lines(document, report.Tainted) {
				tainted += line.Count
			}
			for _, line := range lines(document, report.Declared) {
				declared += line.Count
			}
			cluster := document.Summary.Cluster
			require.Equal(t, counted.evicted[""], cluster.Pods.Evicted)
			require.Equal(t, counted.evicted[""], evicted)
			require.Equal(t, cluster.Tainted.Times, tainted)
			require.Equal(t, cluster.Declared.Times, declared)
			for _, z := range document.Summary.Zones {
				require.Equal(t, counted.evicted[z.Name], z.Pods.Evicted, z.Name)
				require.Equal(t, counted.declared[z.Name], z.Declared.Times, z.Name)
				require.Equal(t, counted.tainted[z.Name], z.Tainted.Times, z.Name)
				if z.Peak != nil {
					require.LessOrEqual(t, float64(z.Peak.Tainted), z.Peak.Limit, z.Name)
				}
			}
			sent, failed := map[string]int{}, map[string]int{}
			for _, c := range cluster.Calls {
				sent[c.Kind] = c.Sent
				if c.Failed > 0 {
					failed[c.Kind] = c.Failed
				}
			}
			require.Equal(t, counted.sent, sent)
			require.Equal(t, counted.failed, failed)
			require.Equal(t, document.Duration, document.Reached)
			require.True(t, slices.IsSortedFunc(document.Timeline, func(a, b report.Line) int {
				return int(1000 * (a.At - b.At))
			}), texts(document))
		})
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	described := func(seed uint64) *scenario.Scenario {
		s := small(
			scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(1)},
			scenario.Step{At: minutes(4), For: minutes(10),
				Flap: &scenario.Flap{Nodes: scenario.Nodes{Zone: "b", Count: 5}, Down: minutes(1), Up: minutes(1)}},
			scenario.Step{At: minutes(5), Crash: &scenario.Process{}},
		)
		s.Controller.Replicas, s.Seed = 2, seed
		return s
	}
	encoded := func(seed uint64) string {
		document, _ := play(t, described(seed))
		data, err := json.Marshal(document)
		require.NoError(t, err)
		return string(data)
	}
	first := encoded(1)
	require.Equal(t, first, encoded(1))
	require.NotEqual(t, first, encoded(2))
}

// course is a fingerprint of all that is written.
type course struct {
	model.Unimpressed
	world  *model.World
	writes []string
}

func (c *course) WroteNode(w model.NodeWrite) { c.note(w.Before == nil, w.After == nil, w.Call) }
func (c *course) WrotePod(w model.PodWrite)   { c.note(w.Before == nil, w.After == nil, w.Call) }
func (c *course) Sent(call *network.Call)     { c.note(true, true, call) }
func (c *course) note(created, deleted bool, call *network.Call) {
	text := fmt.Sprint(c.world.Elapsed(), created, deleted)
	if call != nil {
		hash := fnv.New64a()
		hash.Write(call.Data)
		text += fmt.Sprint(kind(call), call.Name, hash.Sum64())
	}
	c.writes = append(c.writes, text)
}

func TestARunGoesTheSameWayWithAndWithoutARecorder(t *testing.T) {
	run := func(watch bool) []string {
		s, err := simulation.New(small(scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(1)}))
		require.NoError(t, err)
		c := &course{world: s.World()}
		if watch {
			report.Watch(s, nil)
		}
		s.World().Watch(c)
		s.Run()
		return c.writes
	}
	alone := run(false)
	require.NotEmpty(t, alone)
	require.Equal(t, alone, run(true))
}

// A tenth of a second after the first line is complete it is told, not at the
// end.
func TestLinesAreToldWhileTheSimulationRuns(t *testing.T) {
	s, err := simulation.New(small(scenario.Step{At: minutes(3), For: minutes(6), Silence: rack(1)}))
	require.NoError(t, err)
	var all []report.Line
	var late time.Duration
	recorder := report.Watch(s, func(line report.Line) {
		all = append(all, line)
		late = max(late, s.World().Elapsed()-max(line.At, line.Until).D())
	})
	for s.Step() {
	}
	before := len(all)
	document := recorder.Document()
	require.Equal(t, document.Timeline, all)
	require.Len(t, all, before, "nothing was left for the end")
	require.Less(t, late, time.Minute)
}

func TestJSONDecodesToTheSame(t *testing.T) {
	document, _ := play(t, small(
		scenario.Step{At: minutes(3), For: minutes(6), Silence: &scenario.Nodes{Zone: "a"}},
	))
	document.Violations = append(document.Violations, report.Violation{At: 1.5, Invariant: "never early", Text: "pod"})
	var data bytes.Buffer
	require.NoError(t, json.NewEncoder(&data).Encode(document))
	require.Contains(t, data.String(), `"settings":[]`, "no list is null")
	decoded := &report.Document{}
	decoder := json.NewDecoder(&data)
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(decoded))
	require.Equal(t, document, decoded)
	changes := lines(document, report.ZoneChanged)
	require.NotEmpty(t, changes)
	require.NotNil(t, changes[0].Rate, "also if it is 0")
}
