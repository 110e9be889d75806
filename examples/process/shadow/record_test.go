package shadow

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newRecord(t *testing.T, config RecordConfig) *Record {
	t.Helper()
	r, err := NewRecord(config)
	require.NoError(t, err)
	return r
}

func taintOn(name string) Fact {
	return Fact{Object: Object{Name: name, UID: "u"}, Kind: FactKindNoExecute, Detail: "unreachable"}
}

func TestC7TheTwoSidesOfAnActionAreComparedInTime(t *testing.T) {
	for _, test := range []struct {
		shadow, cluster int
		verdict         Verdict
		by              time.Duration
	}{
		{10, 10, VerdictSame, 0},
		{10, 15, VerdictSame, -5 * time.Second},
		{15, 10, VerdictSame, 5 * time.Second},
		{10, 16, VerdictEarlier, -6 * time.Second},
		{16, 10, VerdictLater, 6 * time.Second},
	} {
		r := newRecord(t, RecordConfig{Tolerance: 5 * time.Second})
		if test.shadow <= test.cluster {
			r.Shadow(after(test.shadow), taintOn("n"), true)
			r.Cluster(after(test.cluster), taintOn("n"), true)
		} else {
			r.Cluster(after(test.cluster), taintOn("n"), true)
			r.Shadow(after(test.shadow), taintOn("n"), true)
		}
		require.Equal(t, []Tally{{
			Action: ActionAddNoExecute, Verdict: test.verdict, Count: 1, Most: test.by.Abs(),
		}}, r.Tallies())
		if test.verdict == VerdictSame {
			require.Empty(t, r.Differences(10), "what agrees is dropped")
			continue
		}
		require.Equal(t, []Difference{{
			Object: Object{Name: "n", UID: "u"}, Action: ActionAddNoExecute, Detail: "unreachable",
			Verdict: test.verdict, Shadow: after(test.shadow), Cluster: after(test.cluster),
		}}, r.Differences(10))
		require.Equal(t, test.by, r.Differences(10)[0].By())
		require.Empty(t, r.open)
	}
}

func TestC7AnActionOfOneSideIsOpenUntilItIsOver(t *testing.T) {
	r := newRecord(t, RecordConfig{})
	r.Shadow(after(1), taintOn("a"), true)
	r.Cluster(after(2), taintOn("b"), true)
	r.Shadow(after(3), taintOn("a"), true) // decided again: the same decision
	require.Equal(t, []Tally{{Action: ActionAddNoExecute, Verdict: VerdictOpen, Count: 2}}, r.Tallies())
	require.Equal(t, 1, r.Waiting(ActionAddNoExecute, true))
	require.Equal(t, 1, r.Waiting(ActionAddNoExecute, false))
	open := r.Differences(10)
	require.Len(t, open, 2)
	require.Equal(t, after(1), open[0].Shadow)
	require.Equal(t, VerdictOpen, open[0].Verdict)
	require.Len(t, r.Differences(1), 1)

	r.Shadow(after(4), taintOn("a"), false) // taken back
	r.End(after(5), taintOn("b"))
	r.End(after(6), taintOn("c"))
	require.Equal(t, []Tally{
		{Action: ActionAddNoExecute, Verdict: VerdictOnlyShadow, Count: 1},
		{Action: ActionAddNoExecute, Verdict: VerdictOnlyCluster, Count: 1},
	}, r.Tallies())
	over := r.Differences(10)
	require.Equal(t, []time.Time{after(4), after(5)}, []time.Time{over[0].Ended, over[1].Ended})
	require.Zero(t, over[0].By())
	require.Empty(t, r.open)
	require.Zero(t, r.Waiting(ActionAddNoExecute, true))
	require.Zero(t, r.Waiting(ActionAddNoExecute, false))
}

func TestC7RemovalsAreActions(t *testing.T) {
	r := newRecord(t, RecordConfig{})
	r.Shadow(after(1), taintOn("a"), false)
	r.Cluster(after(1), taintOn("a"), false)
	require.Equal(t, []Tally{{Action: ActionRemoveNoExecute, Verdict: VerdictSame, Count: 1}}, r.Tallies())
}

func TestC7MemoryIsBounded(t *testing.T) {
	r := newRecord(t, RecordConfig{MostKept: 3})
	for i := range 10 {
		fact := taintOn(fmt.Sprint(i))
		r.Shadow(after(i), fact, true)
		r.End(after(i+1), fact)
		same := taintOn(fmt.Sprint("same", i))
		r.Shadow(after(i), same, true)
		r.Cluster(after(i), same, true)
	}
	require.Equal(t, []Tally{
		{Action: ActionAddNoExecute, Verdict: VerdictSame, Count: 10},
		{Action: ActionAddNoExecute, Verdict: VerdictOnlyShadow, Count: 10, Dropped: 7},
	}, r.Tallies())
	kept := r.Differences(10)
	require.Len(t, kept, 3)
	require.Equal(t, "0", kept[0].Object.Name, "the first ones are kept")
	require.Empty(t, r.open)
}

func TestEachKindOfFactHasItsActions(t *testing.T) {
	seen := map[Action]bool{}
	for _, kind := range []FactKind{
		FactKindUnknown, FactKindNoSchedule, FactKindNoExecute, FactKindLabel, FactKindPodNotReady, FactKindEvicted,
	} {
		seen[actionOf(kind, true)], seen[actionOf(kind, false)] = true, true
	}
	require.Len(t, seen, len(actions))
	for _, action := range actions {
		require.True(t, seen[action], action)
	}
	require.Empty(t, actionOf("", true))
}

func TestConfigIsChecked(t *testing.T) {
	_, err := NewRecord(RecordConfig{Tolerance: -1, MostKept: -2})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "RecordConfig.Tolerance is -1ns, want zero or more")
	require.ErrorContains(t, err, "RecordConfig.MostKept is -2, want zero or more")
	_, err = New(RecordConfig{MostKept: -2})
	require.ErrorIs(t, err, ErrInvalidConfig)
}
