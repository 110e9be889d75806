package blast

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// lasting is a context that ends when it has been asked so often whether it has
// ended.
type lasting struct {
	context.Context

	asked, most int
}

func (l *lasting) Err() error {
	if l.asked++; l.asked > l.most {
		return context.Canceled
	}
	return nil
}

// A run that is interrupted says what it has come to and how far it was. The
// report has that, and it is not done. Before the loss nothing is known.
func TestARunThatIsInterruptedIsKnown(t *testing.T) {
	s, err := scenario.Read("", []byte("name: x\nduration: 1h\ncluster:\n  zones:\n  - {name: a, nodes: 40}\n"+
		"  - {name: b, nodes: 40}\n  workloads:\n  - {name: w, replicas: 160}\n"))
	require.NoError(t, err)
	variants, err := Variants(s)
	require.NoError(t, err)
	loss := Losses(s)[1]
	require.Equal(t, "zone a", loss.String())
	play := func(looks int) (*Outcome, *gauge, error) {
		g := newGauge(variants[0].expected(&loss, time.Hour))
		outcome, err := run(&lasting{Context: t.Context(), most: looks}, &variants[0], &loss, time.Hour, g)
		return outcome, g, err
	}
	whole, g, err := play(1 << 30)
	require.NoError(t, err)
	require.True(t, whole.Over)
	require.Equal(t, g.end.Load(), g.now.Load())

	outcome, _, err := play(1)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, outcome)

	var report *Report
	for looks := 2; report == nil; looks++ {
		outcome, g, err := play(looks)
		require.ErrorIs(t, err, context.Canceled)
		require.Positive(t, g.now.Load())
		require.Less(t, g.now.Load(), g.end.Load())
		if outcome == nil {
			continue
		}
		require.Positive(t, outcome.Down, "whether it is noticed yet or not")
		if outcome.Evicted == 0 {
			continue
		}
		require.True(t, outcome.Interrupted)
		require.False(t, outcome.Over)
		require.Positive(t, float64(outcome.Until))
		require.Less(t, outcome.Evicted, whole.Evicted)
		report = &Report{Variants: variants, Of: 4, Losses: []Played{{Loss: loss, Nodes: 40, Outcomes: make([]*Outcome, 4)}}}
		results := make(chan result, 1)
		results <- result{task{}, outcome, err}
		close(results)
		require.ErrorIs(t, report.collect(results, func() {}, func() {}), context.Canceled)
		require.Zero(t, report.Done)
		require.Same(t, outcome, report.Losses[0].Outcomes[0])
	}
	var out strings.Builder
	require.NoError(t, report.Write(&out))
	require.Contains(t, out.String(), "PARTIAL: 0 of 4 runs; + is so far, ? is not known.\n")
	require.Contains(t, out.String(), "\nInterrupted, after the loss:\n  zone a, as given: 0:0")
	require.Regexp(t, `(?m)^zone a +40 +\d+\+ +\d+\+ .* \d+\+ +\d+\+ +\d+\+$`, out.String())
	require.NotContains(t, out.String(), "--longest")
}

// A point is at the time of the last event that it counts, so that no count is
// shown before it was reached. The first event has a point of its own.
func TestPointsAreNotEarly(t *testing.T) {
	var points []point
	for i, seconds := range []int{61, 62, 63, 64, 65, 69, 72} {
		points = counted(points, time.Duration(seconds)*time.Second, i+1)
	}
	want := []point{{61 * time.Second, 1}, {64 * time.Second, 4}, {69 * time.Second, 6}, {72 * time.Second, 7}}
	require.Equal(t, want, points)

	o := &Outcome{Tainted: 4, taintings: points[:2]}
	all := lines([]*Played{{Loss: allNodes(), Nodes: 5, Outcomes: []*Outcome{o}}})
	require.Equal(t, []htmlpage.Line{
		{At: 61 * time.Second, Subject: "all nodes", Text: "the first node is tainted"},
		{At: 64 * time.Second, Subject: "all nodes", Text: "4 of 5 nodes are tainted"},
	}, all)
}

// Each pair is of losses of which the first hurts more. What follows in the
// rule is to the contrary.
func TestWhatHurtsMore(t *testing.T) {
	one, two := []string{"a"}, []string{"a", "b"}
	for name, pair := range map[string][2]Outcome{
		"living pods":   {{EvictedLiving: 1}, {LostForGood: two, Lost: two, Down: 9, Evicted: 9}},
		"lost for good": {{LostForGood: one, Lost: one, Down: 1}, {Lost: two, Down: 9, Evicted: 9}},
		"down":          {{Down: 2}, {Lost: two, Down: 1, Evicted: 9}},
		"lost":          {{Lost: one, Evicted: 1}, {Evicted: 9}},
		"evicted":       {{Evicted: 2}, {Evicted: 1}},
	} {
		more, less := Played{Outcomes: []*Outcome{&pair[0]}}, Played{Nodes: 99, Outcomes: []*Outcome{&pair[1]}}
		require.Negative(t, worse(more, less), name)
		require.Positive(t, worse(less, more), name)
	}
	kept, gone := &Outcome{Down: 3}, &Outcome{Down: 3, Evicted: 3, Tainted: 1}
	require.Negative(t, worse(Played{Nodes: 2, Outcomes: []*Outcome{kept}}, Played{Nodes: 1, Outcomes: []*Outcome{gone}}),
		"what is done does not matter if it is for nothing")
	require.Negative(t, worse(Played{Outcomes: []*Outcome{{}}}, Played{Nodes: 1, Outcomes: []*Outcome{nil}}), "not known")
}

// Runs that go on count with what they have done, longer ones more. Once the
// end of a run is known it counts with that.
func TestTheShareOfRunsThatIsOver(t *testing.T) {
	short, long := newGauge(time.Hour), newGauge(3*time.Hour)
	all := [][]*gauge{{short}, {long}}
	require.Zero(t, shareOf(all))
	short.is(30*time.Minute, 30*time.Minute)
	require.InDelta(t, 0.5/4, shareOf(all), 1e-9, "it was expected to go on for another half hour")
	short.is(time.Hour, 2*time.Hour)
	require.InDelta(t, 1.0/5, shareOf(all), 1e-9, "it takes longer")
	short.over(time.Hour)
	require.InDelta(t, 1.0/4, shareOf(all), 1e-9)
	long.over(2 * time.Hour)
	require.InDelta(t, 1, shareOf(all), 1e-9)
}

// A zone of 60 that is lost as a whole has the normal rate, 0.1/s: 600 s. So
// has a pool of 20 of them, for 200 s. A pool of 40 of 60 has the secondary
// rate, 0.01/s: 4000 s. When all are lost none is tainted.
func TestHowLongARunIsExpectedToTake(t *testing.T) {
	s, err := scenario.Read("", []byte("name: x\nduration: 1h\ncluster:\n  zones:\n  - name: a\n    nodes: 60\n"+
		"    groups: [{name: x, nodes: 20, pool: p}, {name: y, nodes: 40, pool: q}]\n  - {name: b, nodes: 9}\n"))
	require.NoError(t, err)
	variants, err := Variants(s)
	require.NoError(t, err)
	got := map[string]time.Duration{}
	for _, loss := range Losses(s) {
		got[loss.String()] = variants[0].tainting(&loss)
	}
	require.Equal(t, map[string]time.Duration{
		"all nodes": 0, "zone a": 600 * time.Second, "zone b": 90 * time.Second, "pool p": 200 * time.Second,
		"pool q": 4000 * time.Second, "control plane for 1m": 0, "control plane for 5m": 0, "control plane for 30m": 0,
	}, got)
	loss := Losses(s)[1]
	most := variants[0].expected(&loss, time.Minute)
	require.Equal(t, variants[0].begin+time.Minute, most, "no longer than it may be")
}
