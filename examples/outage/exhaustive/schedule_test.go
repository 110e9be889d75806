package exhaustive

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

func TestSchedulesAreReadAsTheyArePrinted(t *testing.T) {
	for _, s := range []Schedule{nil, {{Crash, 0}}, {{Lost, 3}, {Overtaken, 17}, {Late, 18}}} {
		read, err := Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s, read)
	}
	for _, text := range []string{
		"crash", "crash x", "crash -1", "sleep 3", "crash 3,", "crash 3, late 3", "late 4, lost 2",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrSchedule, text)
	}
}

// Every schedule within the bound comes once, and no other.
func TestNextEnumeratesEverySchedule(t *testing.T) {
	messages := []message{
		{kind: network.MessageCall}, {kind: network.MessageAnswer}, {kind: network.MessageAnswer, begins: true},
		{kind: network.MessageEvent},
	}
	bound := Bound{Overtaken: 2, Late: 1, Lost: 1, Crash: 1, All: 3}
	reached := map[string]int{}
	level := []Schedule{nil}
	for len(level) > 0 {
		var next []Schedule
		for _, s := range level {
			reached[s.String()]++
			next = append(next, s.next(messages, bound)...)
		}
		level = next
	}
	want := map[string]int{}
	var choose func(n int, s Schedule)
	choose = func(n int, s Schedule) {
		if n == len(messages) {
			if len(s) <= 3 && s.count(Overtaken) <= 2 && s.count(Late) <= 1 && s.count(Lost) <= 1 && s.count(Crash) <= 1 {
				want[s.String()]++
			}
			return
		}
		choose(n+1, s)
		for _, kind := range kinds {
			if kind == Late && n != 3 || kind == Lost && n != 1 {
				continue
			}
			choose(n+1, append(slices.Clip(s), Deviation{kind, n}))
		}
	}
	choose(0, nil)
	require.Equal(t, want, reached)
}

// The same schedule gives the same run.
func TestRunsAreDeterministic(t *testing.T) {
	for _, w := range Worlds() {
		plain, err := w.Run(nil)
		require.NoError(t, err)
		require.Empty(t, plain.Violations)
		for _, kind := range kinds {
			n := slices.IndexFunc(plain.messages, func(m message) bool { return m.allows(kind) })
			once, err := w.Run(Schedule{{kind, n}})
			require.NoError(t, err)
			require.True(t, once.disturbed)
			again, err := w.Run(Schedule{{kind, n}})
			require.NoError(t, err)
			require.Equal(t, once, again)
		}
		run, err := w.Run(Schedule{{Crash, 10_000}})
		require.NoError(t, err)
		require.False(t, run.disturbed)
	}
}

// Where a fault lasts for good, a controller that does nothing is found.
func TestGoalsWantWork(t *testing.T) {
	lasting := 0
	for _, w := range Worlds() {
		if !slices.ContainsFunc(w.scenario.Script, func(s scenario.Step) bool { return s.For == forGood }) {
			continue
		}
		lasting++
		w.scenario.Controller.RestartAfter = w.scenario.Duration
		run, err := w.Run(Schedule{{Crash, 0}})
		require.NoError(t, err)
		require.True(t, run.disturbed)
		require.Contains(t, strings.Join(run.Violations, "\n"), "goal: node a-0 is", w.Name)
	}
	require.Equal(t, 6, lasting)
}
