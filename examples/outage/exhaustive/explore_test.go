package exhaustive

import (
	"cmp"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var (
	deviations = flag.Int("deviations", 0, "how many deviations a schedule has at most; 0 is the tier's")
	schedule   = flag.String("schedule", "", "the schedule to run alone, as a failure prints it")
	only       = flag.String("world", "", "a part of the name of the only world to explore")
	worlds     = flag.Int("worlds", seeds.Sized(1, 0), "how many worlds a test explores, the first ones; 0 is all")
	allowed    = flag.String("kinds", "", "the only kinds of deviations, for example crash,lost,late")
	each       = flag.Int("each", 0, "how many deviations of one kind a schedule has at most; 0 is as many as of all")
	from       = flag.Duration("from", 0, "when deviations begin, if later than the world's own")
	to         = flag.Duration("to", 0, "when deviations end, if earlier than the world's own")
)

// bound returns the bound of a world, with the kinds that the flag allows.
func bound(t *testing.T, world int) Bound {
	all := most(world)
	n := cmp.Or(*each, all)
	b := Bound{Overtaken: n, Late: n, Lost: n, Crash: n, All: all}
	if *allowed == "" {
		return b
	}
	given := strings.Split(*allowed, ",")
	for _, kind := range given {
		require.Contains(t, kinds, Kind(kind), "-kinds")
	}
	for kind, count := range map[Kind]*int{Overtaken: &b.Overtaken, Late: &b.Late, Lost: &b.Lost, Crash: &b.Crash} {
		if !slices.Contains(given, string(kind)) {
			*count = 0
		}
	}
	return b
}

// most is how many deviations a schedule of a world has at most.
func most(world int) int {
	switch {
	case *deviations > 0:
		return *deviations
	case world == 0:
		return seeds.Sized(1, 2)
	}
	return 1
}

func TestEverySchedule(t *testing.T) {
	for i, w := range Worlds() {
		if !strings.Contains(w.Name, *only) || *only == "" && beyond(i) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			w.narrow(*from, *to)
			if *schedule != "" {
				replay(t, w, *schedule)
				return
			}
			explore(t, w, bound(t, i))
		})
	}
}

func explore(t *testing.T, w *World, bound Bound) {
	began := time.Now()
	total, err := w.Explore(bound)
	require.NoError(t, err)
	t.Logf("%v schedules by deviations in %v", total.Runs, time.Since(began).Round(time.Millisecond))
	for _, found := range total.Found {
		t.Errorf("%s: %s\nRun it again with -args -world %q -from %v -to %v -schedule %q", found.Schedule,
			strings.Join(found.Violations, "\n"), w.Name, w.from, w.to, found.Schedule)
	}
	require.Zero(t, total.Failing)
}

// beyond reports whether so many worlds are enough.
func beyond(explored int) bool { return *worlds > 0 && explored >= *worlds }

// A crash, a lost answer and a late event meet where pods are made to leave.
// Two of them are in a run, and all three with LIFECYCLE_TESTS=all.
func TestDeviationsMeetWherePodsLeave(t *testing.T) {
	around := map[string][2]time.Duration{
		"a node dies and comes back":                                {79 * time.Second, 90 * time.Second},
		"an administrator drains a node":                            {60 * time.Second, 70 * time.Second},
		"an administrator drains a node for good":                   {60 * time.Second, 70 * time.Second},
		"a node dies for good, and a budget keeps its pod at first": {79 * time.Second, 92 * time.Second},
	}
	explored := 0
	for _, w := range Worlds() {
		span, ok := around[w.Name]
		if !ok {
			continue
		}
		delete(around, w.Name)
		if beyond(explored) {
			continue
		}
		explored++
		t.Run(w.Name, func(t *testing.T) {
			w.narrow(span[0], span[1])
			require.True(t, w.evicts(t), "no pod is made to leave then")
			explore(t, w, Bound{Late: 1, Lost: 1, Crash: 1, All: seeds.Sized(2, 3)})
		})
	}
	require.Empty(t, around, "there are no such worlds")
}

// evicts reports whether the undisturbed controller makes a pod leave while
// messages may deviate.
func (w *World) evicts(t *testing.T) bool {
	s, err := simulation.New(w.scenario.Clone())
	require.NoError(t, err)
	e := &evictions{world: w}
	s.World().Watch(e)
	s.Run()
	return e.seen
}

type evictions struct {
	model.Unimpressed
	world *World
	seen  bool
}

// Sent looks for an eviction in time.
func (e *evictions) Sent(call *network.Call) {
	evicts := call.Verb == network.Delete || call.Verb == network.Evict
	e.seen = e.seen || evicts && e.world.from <= call.SentAt && call.SentAt < e.world.to
}

// narrow limits when deviations happen. A time of zero leaves the world's own.
func (w *World) narrow(from, to time.Duration) {
	w.from = max(w.from, from)
	if to > 0 {
		w.to = min(w.to, to)
	}
}

func replay(t *testing.T, w *World, text string) {
	s, err := Parse(text)
	require.NoError(t, err)
	run, err := w.Run(s)
	require.NoError(t, err)
	require.True(t, run.disturbed, "the run has only %d messages", len(run.messages))
	require.Empty(t, run.Violations)
}
