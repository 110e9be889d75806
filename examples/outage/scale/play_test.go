package scale

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

func TestEachSizeIsPlayedAndComparedWithTheOneBefore(t *testing.T) {
	var told []float64
	r, err := Play(t.Context(), Config{Least: 30, Most: 119, Seed: 1, Progress: func(nodes int, done float64) {
		require.Contains(t, []int{30, 60}, nodes)
		told = append(told, done)
	}})
	require.NoError(t, err)
	require.Equal(t, 2, r.Of)
	require.Len(t, r.Rows, 2)
	require.IsNonDecreasing(t, told)
	require.InDelta(t, 0, told[0], 0.01)
	require.InDelta(t, 1, told[len(told)-1], 0.01)

	first, second := &r.Rows[0], &r.Rows[1]
	require.Equal(t, []int{30, 300, 10}, []int{first.Nodes, first.Pods, first.Declared})
	require.Equal(t, []int{60, 600, 20}, []int{second.Nodes, second.Pods, second.Declared})
	require.Positive(t, first.Evicted)
	require.Nil(t, first.ToBefore)
	// Twice the nodes are twice the heartbeats, and what is set up once is small.
	require.Greater(t, second.ToBefore.Allocations, 1.3)
	require.InDelta(t, float64(second.Allocations)/float64(first.Allocations), second.ToBefore.Allocations, 1e-9)
	require.InDelta(t, float64(second.LiveHeap)/float64(first.LiveHeap), second.ToBefore.LiveHeap, 1e-9)
	require.InDelta(t, second.Wall/first.Wall, second.ToBefore.Wall, 1e-9)
	if _, known := cpuTime(); known {
		require.Positive(t, *first.CPU)
		require.InDelta(t, *second.CPU / *first.CPU, *second.ToBefore.CPU, 1e-9)
	}
	require.Greater(t, first.Allocated, uint64(mebibyte))

	var text strings.Builder
	require.NoError(t, r.Write(&text))
	require.Contains(t, text.String(), "eviction rate 0.1/s, seed 1.\n")
	require.NotContains(t, text.String(), "PARTIAL")
	require.Regexp(t, `(?m)^30 +300 +10 +10 +\d+ +\d+\.\d +- `, text.String())
	require.Regexp(t, `(?m)^60 +600 +20 +20 +\d+ +\d+\.\d +\d+\.\d\d `, text.String())
}

func TestTheEvictionRateDecidesHowManyNodesAreTainted(t *testing.T) {
	r, err := Play(t.Context(), Config{Least: 300, Most: 300, Seed: 1, EvictionRate: 0.01})
	require.NoError(t, err)
	slow := &r.Rows[0]
	require.Equal(t, 100, slow.Declared)
	require.LessOrEqual(t, slow.Tainted, 7, "ten minutes of one each 100 s, and one saved up")
	require.Positive(t, slow.Tainted)

	r, err = Play(t.Context(), Config{Least: 300, Most: 300, Seed: 1, EvictionRate: 10})
	require.NoError(t, err)
	fast := &r.Rows[0]
	require.Equal(t, 100, fast.Tainted)
	require.Greater(t, fast.Evicted, 10*slow.Evicted)
}

func TestAnInterruptedReportHasTheSizesThatAreComplete(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, err := Play(ctx, Config{Least: 3, Most: 6, Progress: func(nodes int, _ float64) {
		if nodes == 6 {
			stop()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, r.Of)
	require.Len(t, r.Rows, 1)
	require.Equal(t, 3, r.Rows[0].Nodes)
	var text strings.Builder
	require.NoError(t, r.Write(&text))
	require.Contains(t, text.String(), "PARTIAL: 1 of 2 sizes.\n")
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	for text, config := range map[string]Config{
		"Least is 2 nodes":     {Least: 2},
		"Least is -1 nodes":    {Least: -1},
		"Most is 6 nodes":      {Least: 7, Most: 6},
		"Most is 100 nodes":    {Most: 100},
		"Most is -1 nodes":     {Most: -1},
		"which is 200000":      {Least: 200_000},
		"want 0 for 12500, or": {Least: 1, Most: 9},
		"EvictionRate is -1, ": {EvictionRate: -1},
		"EvictionRate is NaN,": {EvictionRate: math.NaN()},
		"EvictionRate is +Inf": {EvictionRate: math.Inf(1)},
	} {
		r, err := Play(t.Context(), config)
		require.ErrorIs(t, err, ErrInvalidConfig, text)
		require.ErrorContains(t, err, text)
		require.Nil(t, r)
	}
	d := (&Config{}).withDefaults()
	require.Equal(t, []int{12_500, 25_000, 50_000, 100_000}, d.sizes())
}

// A meter keeps the fullest heap, whatever was freed since.
func TestTheFullestHeapCounts(t *testing.T) {
	const size = 16 * mebibyte
	m := newMeter()
	m.measureHeap()
	empty := m.live
	block := make([]byte, size)
	m.measureHeap()
	runtime.KeepAlive(block)
	full := m.live
	require.Greater(t, full, empty+size/2)
	m.measureHeap()
	require.Equal(t, full, m.row().LiveHeap)
}

// What a run costs that did not go as told is no measurement.
func TestAnotherStoryIsAnError(t *testing.T) {
	s, err := simulation.New(Scenario(6, Config{Seed: 1}))
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
