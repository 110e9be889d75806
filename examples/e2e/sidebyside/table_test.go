package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faults are counts in their smallest form.
type faults int

func (f faults) Clean() bool { return f == 0 }

func newTable() *Table[faults] {
	return &Table[faults]{
		Corner:    "while it rains",
		Scenarios: []Heading{{"a", "a drizzle"}, {"b", "a shower"}},
		Subjects:  []Heading{{Ours, "umbrella"}, {"upstream", "newspaper"}},
		Show:      func(f faults) string { return fmt.Sprintf("%d drops", int(f)) },
		Legend:    "Drops are counted below.",
	}
}

func written(t *testing.T, table *Table[faults]) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, table.Write(&out))
	return out.String()
}

func TestACellThatCannotBeJudgedSaysSoAndTheOthersAreShown(t *testing.T) {
	table := newTable()
	var progress strings.Builder
	table.Play(t.Context(), 1, &progress, func(_ context.Context, scenario, subject int) (faults, error) {
		if scenario == 0 && subject == 1 {
			return 7, errors.New("pod web | is gone\nlast lines of a log")
		}
		return faults(10*scenario*subject + 1 - scenario), nil
	})
	require.Equal(t, `| while it rains | umbrella | newspaper |
| --- | --- | --- |
| a drizzle | 1 drops | not judged [1] |
| a shower | 0 drops | 10 drops |

[1] pod web | is gone

Drops are counted below.
`, written(t, table))
	require.Contains(t, progress.String(), "a, upstream: not judged: pod web | is gone\nlast lines of a log")

	err := table.Err()
	require.ErrorIs(t, err, ErrOursFailed)
	require.ErrorIs(t, err, ErrIncomplete)
	require.EqualError(t, err, "ours has failed: a\nthe table is incomplete: a of upstream")
}

func TestAReasonThatCellsShareIsGivenOnce(t *testing.T) {
	table := newTable()
	table.Play(t.Context(), 2, io.Discard, func(_ context.Context, scenario, subject int) (faults, error) {
		if subject == 1 {
			return 0, errors.New("no such compiler")
		}
		return 0, fmt.Errorf("no etcd for %d", scenario)
	})
	require.Contains(t, written(t, table), `
| a drizzle | not judged [1] | not judged [2] |
| a shower | not judged [3] | not judged [2] |

[1] no etcd for 0

[2] no such compiler

[3] no etcd for 1
`)
	require.ErrorContains(t, table.Err(), "ours has failed: a, b")
}

func TestOnlyFaultsOfOursAndMissingCellsAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		ours, upstream verdict[faults]
		want           string
	}{
		"none":              {},
		"upstream's":        {upstream: verdict[faults]{counts: 1}},
		"ours":              {ours: verdict[faults]{counts: 1}, want: "ours has failed: a"},
		"upstream unjudged": {upstream: verdict[faults]{err: io.EOF}, want: "the table is incomplete: a of upstream"},
		"ours unjudged": {
			ours: verdict[faults]{err: io.EOF},
			want: "ours has failed: a\nthe table is incomplete: a of ours",
		},
		"ours interrupted": {
			ours: verdict[faults]{err: errInterrupted}, want: "the table is incomplete: a of ours",
		},
		"ours not played": {
			ours: verdict[faults]{err: errNotPlayed}, want: "the table is incomplete: a of ours",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable()
			table.Scenarios = table.Scenarios[:1]
			table.set(cell{0, 0}, test.ours)
			table.set(cell{0, 1}, test.upstream)
			err := table.Err()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestAnInterruptionLeavesWhatIsKnown(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	table := newTable()
	table.Play(ctx, 1, io.Discard, func(ctx context.Context, scenario, subject int) (faults, error) {
		if subject == 1 {
			interrupt()
			return 0, fmt.Errorf("waiting for the end: %w", ctx.Err())
		}
		require.Zero(t, scenario, "nothing begins after the interruption")
		return 0, nil
	})
	require.Contains(t, written(t, table), `
| a drizzle | 0 drops | interrupted |
| a shower | not played | not played |

Drops are counted below.
`)
	require.EqualError(t, table.Err(),
		"the table is incomplete: a of upstream, b of ours, b of upstream")
}
