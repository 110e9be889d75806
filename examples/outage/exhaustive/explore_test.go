package exhaustive

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/seeds"
)

var (
	deviations = flag.Int("deviations", 0, "how many deviations a schedule has at most; 0 is the tier's")
	schedule   = flag.String("schedule", "", "the schedule to run alone, as a failure prints it")
	only       = flag.String("world", "", "a part of the name of the only world to explore")
	allowed    = flag.String("kinds", "", "the only kinds of deviations, for example crash,lost,late")
)

// bound returns the bound of a world. Each kind deviates at most once, but only
// those that the flag allows.
func bound(t *testing.T, world int) Bound {
	b := Bound{Overtaken: 1, Late: 1, Lost: 1, Crash: 1, All: most(world)}
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

// most is how many deviations a schedule of a world has at most. All pairs of
// all worlds take ten minutes of CPU.
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
		if !strings.Contains(w.Name, *only) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			if *schedule != "" {
				replay(t, w, *schedule)
				return
			}
			began := time.Now()
			total, err := w.Explore(bound(t, i))
			require.NoError(t, err)
			t.Logf("%v schedules by deviations in %v", total.Runs, time.Since(began).Round(time.Millisecond))
			for _, found := range total.Found {
				t.Errorf("%s: %s\nRun it again with -args -world %q -schedule %q", found.Schedule,
					strings.Join(found.Violations, "\n"), w.Name, found.Schedule)
			}
			require.Zero(t, total.Failing)
		})
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
