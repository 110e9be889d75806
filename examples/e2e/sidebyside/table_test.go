package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

func TestAColumnThatCannotBeJudgedSaysSoAndTheOthersAreShown(t *testing.T) {
	r := played(t, rain(), func(name, subject string, _ int) (*Record, error) {
		switch {
		case name == "a" && subject == "upstream":
			return nil, errors.New("pod web is gone\nlast lines of a log")
		case name == "a":
			return counted(11), nil
		}
		return counted(0), nil
	})
	for _, c := range r.Columns {
		c.loads = []string{"0.50"}
	}
	require.Equal(t, `| a drizzle | umbrella | newspaper | ours to upstream's |
| --- | --- | --- | --- |
| repetitions | 1 | 0 | |
| drops | 11.0 s | – | – |
| holes | **1** | – | – |
| depth | 1.0 | – | – |
| load average before | 0.50 | 0.50 | |

| a shower | umbrella | newspaper | ours to upstream's |
| --- | --- | --- | --- |
| repetitions | 1 | 1 | |
| drops | 0.0 s | 0.0 s | – |
| holes | 0 | 0 | – |
| depth | 1.0 | 1.0 | 1.00 |
| load average before | 0.50 | 0.50 | |

Drops are counted below.

- a of upstream is not complete: pod web is gone
`, written(t, r))
	require.ErrorIs(t, r.Err(), ErrOursFailed)
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.ErrorContains(t, r.Err(), "ours has failed: a, repetition 1: holes: 1\n")
	require.ErrorContains(t, r.Err(), "the table is incomplete: a of upstream: pod web is gone")
}

func TestOnlyFaultsOfOursAndMissingCellsAreErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		ours, upstream         float64
		oursErr, upstreamErr   error
		wantFault, wantMissing bool
	}{
		"none":              {},
		"upstream's":        {upstream: 11},
		"ours":              {ours: 11, wantFault: true},
		"upstream unjudged": {upstreamErr: broken, wantMissing: true},
		"ours unjudged":     {oursErr: broken, wantFault: true, wantMissing: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := played(t, rain(), func(_, subject string, _ int) (*Record, error) {
				if subject == Ours {
					return counted(test.ours), test.oursErr
				}
				return counted(test.upstream), test.upstreamErr
			})
			require.Equal(t, test.wantFault, errors.Is(r.Err(), ErrOursFailed))
			require.Equal(t, test.wantMissing, errors.Is(r.Err(), ErrIncomplete))
		})
	}
}

func TestOneFaultInAnyRepetitionIsAnError(t *testing.T) {
	m := rain()
	m.Repetitions = 3
	second := func(of string) func(name, subject string, n int) (*Record, error) {
		return func(name, subject string, n int) (*Record, error) {
			if name == "a" && subject == of && n == 1 {
				return counted(15), nil
			}
			return counted(0), nil
		}
	}
	r := played(t, m, second(Ours))
	require.ErrorContains(t, r.Err(), "ours has failed: a, repetition 2: holes: 5")
	require.Contains(t, written(t, r), "| holes | **0** (0–5) | 0 | – |\n")
	require.NoError(t, played(t, m, second("upstream")).Err(), "upstream's faults are its own")
}

func TestAnInterruptionLeavesWhatIsKnown(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	r := playedUntil(ctx, t, rain(), func(name, subject string, _ int) (*Record, error) {
		if subject == "upstream" {
			interrupt()
			return nil, fmt.Errorf("waiting for the end: %w", ctx.Err())
		}
		require.Equal(t, "a", name, "nothing begins after the interruption")
		return counted(0), nil
	})
	require.Contains(t, written(t, r), `
Drops are counted below.

- a of upstream is not complete: interrupted
- b of ours is not complete: not played
- b of upstream is not complete: not played
`)
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.NotErrorIs(t, r.Err(), ErrOursFailed)
}

// A play that did not get to its end says nothing, and those before stay.
func TestAnInterruptedPlayLeavesThoseBefore(t *testing.T) {
	m := rain()
	m.Repetitions = 2
	m.Subjects = m.Subjects[:1]
	ctx, interrupt := context.WithCancel(t.Context())
	r := playedUntil(ctx, t, m, func(_, _ string, n int) (*Record, error) {
		if n == 0 {
			return counted(0), nil
		}
		interrupt()
		return counted(12), ctx.Err()
	})
	text := written(t, r)
	require.Contains(t, text, "| repetitions | 1 |\n")
	require.Contains(t, text, "| drops | 0.0 s |\n")
	require.Contains(t, text, "\n- a of ours is not complete: interrupted\n")
	require.Contains(t, text, "| repetitions | 0 |\n", "the next scenario")
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.NotErrorIs(t, r.Err(), ErrOursFailed)
}

// A machine that was too busy for heartbeats says nothing of a subject.
func TestADisturbedPlayIsPlayedAgain(t *testing.T) {
	plays := func(errs ...error) (*Results, int) {
		m := rain()
		m.Scenarios, m.Subjects = m.Scenarios[:1], m.Subjects[:1]
		m.Repetitions = 2
		n := 0
		r := played(t, m, func(string, string, int) (*Record, error) {
			n++
			return counted(0), errs[min(n, len(errs))-1]
		})
		return r, n
	}
	disturbed := fmt.Errorf("%w: a-1", errWind)
	r, n := plays(disturbed, disturbed, nil)
	require.Equal(t, 4, n)
	require.NoError(t, r.Err())
	require.Len(t, r.Columns[0].Records, 2)
	require.Contains(t, written(t, r), "| played again, because the machine had spoilt it | 2 |\n")

	r, n = plays(disturbed)
	require.Equal(t, mostDisturbed+1, n, "not for ever")
	require.ErrorIs(t, r.Err(), errWind)
	require.NotErrorIs(t, r.Err(), ErrOursFailed, "the machine's fault")
	r, n = plays(errors.New("it has ended"))
	require.Equal(t, 1, n, "the reason would be the same again")
	require.ErrorIs(t, r.Err(), ErrOursFailed, "the subject's fault")
}

func TestTheTableHasMediansAndSpread(t *testing.T) {
	m := rain()
	m.Repetitions = 3
	m.Scenarios = m.Scenarios[:1]
	r := played(t, m, func(_, subject string, n int) (*Record, error) {
		if subject == Ours {
			return counted([]float64{12, 10, 20}[n]), nil
		}
		return counted(8), nil
	})
	for i, load := range []string{"0.50", "0.75", "1.00"} {
		r.Columns[0].loads[i], r.Columns[1].loads[i] = load, "0.25"
	}
	require.Equal(t, `| a drizzle | umbrella | newspaper | ours to upstream's |
| --- | --- | --- | --- |
| repetitions | 3 | 3 | |
| drops | 12.0 s (10.0–20.0 s) | 8.0 s | 1.50 |
| holes | **2** (0–10) | 0 | – |
| depth | 1.0 | 1.0 | 1.00 |
| load average before | 0.50, 0.75, 1.00 | 0.25, 0.25, 0.25 | |

Drops are counted below.
`, written(t, r))
}

func TestSubjectsMayShareAPlay(t *testing.T) {
	m := rain()
	m.Scenarios = []Scenario{weather("together", "under one roof")}
	m.Scenarios[0].Together = "both"
	r := played(t, m, func(string, string, int) (*Record, error) {
		return &Record{Told: []string{"a hole"}, rows: counted(13).rows}, nil
	})
	text := written(t, r)
	require.Contains(t, text, "| under one roof | both |\n| --- | --- |\n")
	require.Contains(t, text, "\n- together of all: a hole\n")
	require.ErrorContains(t, r.Err(), "ours has failed: together, repetition 1: holes: 3")
}

// Rows that only some records have stand where they stand there.
func TestRowsAndCallsOfAllRecords(t *testing.T) {
	m := rain()
	m.Scenarios = m.Scenarios[:1]
	r := played(t, m, func(_, subject string, _ int) (*Record, error) {
		r := &Record{}
		r.Add("first", Count, 1)
		call := controlplane.Request{Verb: "get", Resource: "pods"}
		if subject != Ours {
			call = controlplane.Request{Verb: "delete", Resource: "pods", Subresource: "eviction"}
			r.Add("second", Count, 2)
		}
		r.Add("third", Count, 3)
		r.AddCalls("API calls", slices.Repeat([]controlplane.Request{call}, 1200))
		return r, nil
	})
	require.Contains(t, written(t, r), `| first | 1 | 1 | 1.00 |
| second | – | 2 | – |
| third | 3 | 3 | 1.00 |
| API calls: delete pods/eviction | – | 1,200 | – |
| API calls: get pods | 1,200 | – | – |
| load average before |`)
}

func TestOursMayHaveNoMoreThanTheOther(t *testing.T) {
	m := rain()
	m.Scenarios = m.Scenarios[:1]
	ratios := func(ours, other float64) *Results {
		return played(t, m, func(_, subject string, _ int) (*Record, error) {
			r := &Record{}
			value := ours
			if subject != Ours {
				value = other
			}
			r.Add("drops", Count, value).NoMoreThan(1)
			r.Add("growth", Count, value).NoRatio()
			return r, nil
		})
	}
	require.NoError(t, ratios(2, 4).Err())
	require.Contains(t, written(t, ratios(2, 4)), "| drops | 2 | 4 | 0.50 |\n| growth | 2 | 4 | – |\n")
	require.ErrorIs(t, ratios(5, 4).Err(), ErrOursFailed)
	require.ErrorContains(t, ratios(5, 4).Err(), "drops: 1.25 times upstream's")
	require.Contains(t, written(t, ratios(5, 4)), "| **1.25** |\n")
	require.Contains(t, written(t, ratios(5, 0)), "| drops | 5 | 0 | **+Inf** |\n| growth | 5 | 0 | – |\n")
	require.ErrorIs(t, ratios(5, 0).Err(), ErrOursFailed, "the other does without")
	require.Contains(t, written(t, ratios(0, 0)), "| drops | 0 | 0 | – |\n")
	m.Ratios = false
	require.NoError(t, ratios(5, 4).Err())
	require.Contains(t, written(t, ratios(5, 4)), "| drops | 5 | 4 |\n")
	m.Ratios, m.Subjects = true, m.Subjects[:1]
	require.NoError(t, ratios(5, 4).Err(), "alone there is nothing to compare with")
}

// The subjects of a scenario must come to the same states.
func TestDifferencesAreNamedAndAreAnError(t *testing.T) {
	differing := func(facts map[string]map[string]string) *Results {
		return played(t, rain(), func(name, subject string, _ int) (*Record, error) {
			return &Record{States: []State{{"first", nil}, {"second", facts[name+" of "+subject]}}}, nil
		})
	}
	r := differing(map[string]map[string]string{
		"a of ours": {"pods on a": "1", "generation": "1"}, "a of upstream": {"pods on a": "2", "generation": "1"},
	})
	require.Contains(t, written(t, r), "\n- a, second: pods on a: \"1\" with ours, \"2\" with upstream\n")
	require.ErrorIs(t, r.Err(), ErrOursFailed)
	require.ErrorContains(t, r.Err(), "the subjects differ (differences: 1)")

	many := map[string]string{}
	for i := range mostDifferences + 3 {
		many[fmt.Sprintf("pods on node-%03d", i)] = "1"
	}
	r = differing(map[string]map[string]string{"a of ours": many})
	require.Contains(t, written(t, r),
		"\n- a, second: pods on node-019: \"1\" with ours, none with upstream\n- a, second: 3 more\n")
	require.ErrorContains(t, r.Err(), "the subjects differ (differences: 23)")

	one, two := map[string]string{"pods": "1"}, map[string]string{"pods": "2"}
	r = differing(map[string]map[string]string{
		"a of ours": one, "a of upstream": one, "b of ours": two, "b of upstream": two,
	})
	require.NoError(t, r.Err(), "scenarios are compared apart")
}

func TestSpread(t *testing.T) {
	require.Equal(t, spread{median: 2, least: 1, most: 9, n: 3}, spreadOf([]float64{9, 1, 2}))
	require.Equal(t, spread{median: 3, least: 1, most: 9, n: 4}, spreadOf([]float64{4, 9, 1, 2}))
	require.Equal(t, spread{median: 7, least: 7, most: 7, n: 1}, spreadOf([]float64{7}))
	require.Zero(t, spreadOf(nil))
}
