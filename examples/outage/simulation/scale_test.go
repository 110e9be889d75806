//go:build unix

package simulation_test

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// The script of the story that is measured.
const (
	lossAt   = 5 * time.Minute
	lostFor  = 10 * time.Minute
	duration = 20 * time.Minute
	// zones is how many there are; one of them is lost.
	zones = 3
	// defaultRate is node-eviction-rate of kube-controller-manager, at which a
	// large zone is not tainted in the ten minutes.
	defaultRate = 0.1
)

// lossOfAThird is the story for a cluster of so many nodes, with ten pods a
// node. One of three zones falls silent for ten minutes. The controller has the
// default flags, except for node-eviction-rate and a thousand calls a second.
// With 20, a large zone is not declared in that time.
func lossOfAThird(nodes int, rate float64) *scenario.Scenario {
	s := &scenario.Scenario{
		Name: "scale", Duration: scenario.Duration(duration), Seed: 1,
		Cluster: scenario.Cluster{Workloads: []scenario.Workload{
			{Name: "agent", Kind: scenario.DaemonSet},
			{Name: "database", Kind: scenario.StatefulSet, Replicas: 3 * nodes},
			{Name: "web", Kind: scenario.Deployment, Replicas: 6 * nodes},
		}},
		Controller: scenario.Controller{Flags: map[string]scenario.FlagValue{
			"kube-api-qps": "1000", "kube-api-burst": "1000",
			"node-eviction-rate": scenario.FlagValue(strconv.FormatFloat(rate, 'g', -1, 64)),
		}},
		Script: []scenario.Step{{
			At: scenario.Duration(lossAt), For: scenario.Duration(lostFor), Silence: &scenario.Nodes{Zone: "a"},
		}},
	}
	for i, name := range [zones]string{"a", "b", "c"} {
		s.Cluster.Zones = append(s.Cluster.Zones, scenario.Zone{Name: name, Nodes: (nodes + zones - 1 - i) / zones})
	}
	return s
}

// BenchmarkScale measures what a run costs, for clusters of doubling size. With
// the higher rate all lost nodes are tainted, and their pods leave as far as a
// thousand calls a second allow.
func BenchmarkScale(b *testing.B) {
	for _, rate := range []float64{defaultRate, 100} {
		for _, nodes := range []int{12_500, 25_000, 50_000, 100_000} {
			b.Run(fmt.Sprintf("rate=%v/nodes=%d", rate, nodes), func(b *testing.B) {
				measure(b, lossOfAThird(nodes, rate), nodes)
			})
		}
	}
}

// BenchmarkKubelets measures what the kubelet of examples/hollownode on each
// node costs, next to the few rules that stand for it.
func BenchmarkKubelets(b *testing.B) {
	const nodes = 625
	for _, kubelets := range []bool{false, true} {
		b.Run(fmt.Sprintf("kubelets=%v", kubelets), func(b *testing.B) {
			s := lossOfAThird(nodes, defaultRate)
			s.Cluster.Kubelets = kubelets
			measure(b, s, nodes)
		})
	}
}

// measure plays the story and reports what it cost, from the first node to the
// end of the report. CPU time is that of all threads of the process, with the
// garbage collector. It is the figure to compare on a machine that does other
// things. The live heap is what a forced collection leaves when it is fullest;
// these collections are in neither time.
func measure(b *testing.B, s *scenario.Scenario, nodes int) {
	for b.Loop() {
		m := newMeter()
		cost := play(b, s, nodes, m.measureHeap)
		m.stop()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		const million, mebibyte = 1e6, 1 << 20
		b.ReportMetric(0, "ns/op") // wall-s has no collections that were forced
		b.ReportMetric(float64(cost.pods), "pods")
		b.ReportMetric(float64(cost.came.Declared.Nodes), "declared")
		b.ReportMetric(float64(cost.came.Tainted.Nodes), "tainted")
		b.ReportMetric(float64(cost.came.Pods.Evicted), "evicted")
		b.ReportMetric(m.wall.Seconds(), "wall-s")
		b.ReportMetric(m.cpu.Seconds(), "CPU-s")
		b.ReportMetric(float64(m.live)/mebibyte, "live-MiB")
		b.ReportMetric(float64(memory.Mallocs-m.allocations)/million, "M-allocations")
		b.ReportMetric(float64(memory.TotalAlloc-m.volume)/mebibyte, "MiB-allocated")
	}
}

// played is what came of a run.
type played struct {
	pods int
	came report.Zone // of the whole cluster
}

// play plays the story, and fails if it came out otherwise: what another run
// costs is no measurement. It calls atMoment when the live heap is to be
// measured. That is shortly before the loss and the return, when all that was
// to fill has filled, and a minute after each.
func play(tb testing.TB, story *scenario.Scenario, nodes int, atMoment func()) played {
	tb.Helper()
	s, err := simulation.New(story)
	require.NoError(tb, err)
	world := s.World()
	recorder := report.Watch(s, nil)
	_, pods := world.Count()
	const before, after = time.Second, time.Minute
	moments := []time.Duration{lossAt - before, lossAt + after, lossAt + lostFor - before, lossAt + lostFor + after}
	for s.Step() {
		if len(moments) > 0 && world.Elapsed() >= moments[0] {
			moments = moments[1:]
			atMoment()
		}
	}
	came := recorder.Document().Summary.Cluster
	require.NoError(tb, asTold(world, &came, nodes, pods))
	return played{pods, came}
}

// errOtherStory says that a run came out otherwise than the story.
var errOtherStory = errors.New("the run is not the loss of a third and its return")

// asTold checks that the lost zone was declared and no other node. In the end
// all nodes must be back, and there must be as many pods as before.
func asTold(world *model.World, came *report.Zone, nodes, pods int) error {
	lost := (nodes + zones - 1) / zones
	if came.DeclaredDead.Nodes != lost || came.DeclaredLiving.Nodes != 0 {
		return fmt.Errorf("%w: %d dead nodes and %d living ones were declared, want %d and 0", errOtherStory,
			came.DeclaredDead.Nodes, came.DeclaredLiving.Nodes, lost)
	}
	back := 0
	for _, node := range world.Nodes() {
		if isBack(node) {
			back++
		}
	}
	if _, left := world.Count(); back != nodes || left != pods {
		return fmt.Errorf("%w: in the end %d of %d nodes are ready without a taint, and there are %d of %d pods",
			errOtherStory, back, nodes, left, pods)
	}
	return nil
}

func isBack(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// meter measures what a run takes of time and memory. It stands still while the
// live heap is measured.
type meter struct {
	wall, cpu           time.Duration
	began               time.Time
	cpuAt               time.Duration
	allocations, volume uint64 // when it was made
	live                uint64 // the most that was measured
}

func newMeter() *meter {
	m := &meter{}
	runtime.GC() // what another run has left is not this one's work
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.allocations, m.volume = memory.Mallocs, memory.TotalAlloc
	m.began, m.cpuAt = time.Now(), cpuTime()
	return m
}

func (m *meter) stop() {
	m.wall += time.Since(m.began)
	m.cpu += cpuTime() - m.cpuAt
}

// measureHeap takes what is live now.
func (m *meter) measureHeap() {
	m.stop()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.live = max(m.live, memory.HeapAlloc)
	m.began, m.cpuAt = time.Now(), cpuTime()
}

// cpuTime is what all threads of this process have used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The story comes out as told for small clusters as for those that are
// measured, and the rate decides how many nodes are tainted.
func TestAThirdIsLostAndReturns(t *testing.T) {
	moments := 0
	slow := play(t, lossOfAThird(300, 0.01), 300, func() { moments++ })
	require.Equal(t, 4, moments)
	require.Equal(t, 3000, slow.pods)
	require.Equal(t, 100, slow.came.Declared.Nodes)
	require.LessOrEqual(t, slow.came.Tainted.Nodes, 7, "ten minutes of one each 100 s, and one saved up")
	require.Positive(t, slow.came.Tainted.Nodes)

	fast := play(t, lossOfAThird(300, 10), 300, func() {})
	require.Equal(t, 100, fast.came.Tainted.Nodes)
	require.Greater(t, fast.came.Pods.Evicted, 10*slow.came.Pods.Evicted)
}

func TestAnotherStoryIsAnError(t *testing.T) {
	s, err := simulation.New(lossOfAThird(6, defaultRate))
	require.NoError(t, err)
	all := &report.Zone{DeclaredDead: report.Hits{Nodes: 2}}
	require.NoError(t, asTold(s.World(), all, 6, 60))
	one := report.Hits{Nodes: 1}
	for name, test := range map[string]struct {
		came        report.Zone
		nodes, pods int
	}{
		"a node was not declared":  {report.Zone{DeclaredDead: one}, 6, 60},
		"a living node was":        {report.Zone{DeclaredDead: all.DeclaredDead, DeclaredLiving: one}, 6, 60},
		"a node is missing":        {*all, 5, 60},
		"a pod was not replaced":   {*all, 6, 61},
		"another third was to die": {*all, 9, 60},
	} {
		require.ErrorIs(t, asTold(s.World(), &test.came, test.nodes, test.pods), errOtherStory, name)
	}
	s.World().Machine("b-0").Fail()
	require.ErrorContains(t, asTold(s.World(), all, 6, 60), "in the end 5 of 6 nodes are ready")
}

// A meter keeps the fullest heap, whatever was freed since.
func TestTheFullestHeapCounts(t *testing.T) {
	const size = 16 << 20
	m := newMeter()
	m.measureHeap()
	empty := m.live
	block := make([]byte, size)
	m.measureHeap()
	runtime.KeepAlive(block)
	full := m.live
	require.Greater(t, full, empty+size/2)
	m.measureHeap()
	require.Equal(t, full, m.live)
}
