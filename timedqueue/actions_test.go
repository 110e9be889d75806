package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// demand.md, timedqueue: upstream runs the action and then removes its key by
// name, whatever has happened to it in between.
func TestQ5RemoveDuringActionWins(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			require.True(t, q.Remove("a"))
			require.False(t, q.Remove("a"))
			require.False(t, q.Retry("a"))
			_, ok := q.Get("a")
			require.False(t, ok)
			require.Zero(t, q.Len())

			q.Finish(at(0), item, Result{Outcome: outcome})
			require.Zero(t, q.Len())
			mustHold(t, q, at(time.Hour))
			requireNothingLeft(t, q)
		})
	}
}

func TestQ5ReAddDuringActionWaitsForItsEnd(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(-time.Minute))
			q.Finish(at(-time.Minute), mustStart(t, q, at(-time.Minute), "a"),
				Result{Outcome: OutcomeFailed})
			old := mustStart(t, q, at(time.Second), "a")
			require.Equal(t, 1, old.Attempts)
			q.Remove("a")
			require.True(t, q.Add("a", 2, at(time.Second)))
			require.False(t, q.Add("a", 3, at(0)))
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(time.Hour)) // never two actions for one key
			_, ok := q.Next(at(time.Hour))
			require.False(t, ok)

			q.Finish(at(time.Hour), old, Result{Outcome: outcome})
			require.Equal(t, 1, q.Len(), "the old result does not touch the new entry")
			item := mustStart(t, q, at(time.Hour), "a")
			require.Equal(t, 2, item.Value)
			require.Equal(t, at(time.Second), item.Due)
			require.Zero(t, item.Attempts)
			q.Finish(at(time.Hour), item, done)
			requireNothingLeft(t, q)
		})
	}
}

func TestQ5RemoveOfTheReAddedKeyHolds(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 1, at(0))
	item := mustStart(t, q, at(0), "a")
	for range 3 {
		require.True(t, q.Remove("a"))
		require.True(t, q.Add("a", 2, at(0)))
	}
	require.True(t, q.Remove("a"))
	q.Finish(at(0), item, Result{Outcome: OutcomeFailed})
	mustHold(t, q, at(time.Hour))
	requireNothingLeft(t, q)
}

func TestQ5ReAddedKeyGoesBehindThoseThatWaited(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Add("b", 0, at(0))
	q.Remove("a")
	q.Add("a", 0, at(0))
	q.Finish(at(0), item, done)
	require.Equal(t, []string{"b", "a"}, startAll(q, at(0)))
}

func TestQ5ReAddedKeyGoesBeforeThoseAddedLater(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Remove("a")
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), item, done)
	require.Equal(t, []string{"a", "b"}, startAll(q, at(0)))
}

func TestQ5SecondFinishChangesNothing(t *testing.T) {
	q := newTestQueue(t, withBackoff(limited(1, 1), unlimited.Backoff))
	q.Add("a", 0, at(0))
	first := mustStart(t, q, at(0), "a")
	q.Finish(at(0), first, Result{Outcome: OutcomeFailed})
	for range 3 {
		q.Finish(at(0), first, Result{Outcome: OutcomeSkipped}) // neither leaves nor gives a token
	}
	require.Equal(t, 1, q.Len())
	second := mustStart(t, q, at(time.Second), "a")
	require.Equal(t, 1, second.Attempts)

	q.Finish(at(time.Second), first, Result{Outcome: OutcomeDone}) // late
	require.Equal(t, 1, q.Len())
	mustHold(t, q, at(time.Hour)) // the second action is still under way
	q.Finish(at(time.Hour), second, done)
	require.Zero(t, q.Len())
	q.Finish(at(time.Hour), second, Result{Outcome: OutcomeFailed})
	requireNothingLeft(t, q)
}

func TestQ5FinishOfAnotherQueuesItemChangesNothing(t *testing.T) {
	mine, theirs := newTestQueue(t, unlimited), newTestQueue(t, unlimited)
	for _, q := range []*Queue[string, int]{mine, theirs} {
		q.Add("a", 0, at(0))
	}
	item, foreign := mustStart(t, mine, at(0), "a"), mustStart(t, theirs, at(0), "a")
	mine.Finish(at(0), foreign, done)
	mine.Finish(at(0), Item[string, int]{Key: "a"}, done)
	mine.Finish(at(0), Item[string, int]{Key: "b"}, done)
	require.Equal(t, 1, mine.Len())
	mine.Finish(at(0), item, done)
	require.Zero(t, mine.Len())
}

func TestQ5FinishOfAnItemThatGetShowedChangesNothing(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	mustStart(t, q, at(0), "a")
	shown, ok := q.Get("a")
	require.True(t, ok)
	q.Finish(at(0), shown, Result{Outcome: OutcomeFailed})
	mustHold(t, q, at(time.Hour)) // the action is still under way
}

func TestActionsKnowTheStartThatTheyAreOf(t *testing.T) {
	var s actions[string, int]
	a, b, c := new(Entry[string, int]), new(Entry[string, int]), new(Entry[string, int])
	grants := map[*Entry[string, int]]*grant[string, int]{a: {}, b: {}, c: nil}
	for _, e := range []*Entry[string, int]{a, b, c} {
		s.begin(e, grants[e])
		require.Equal(t, acting, e.state)
		require.True(t, s.has(e, e.link))
		require.False(t, s.has(e, e.link+1))
	}
	require.False(t, s.has(nil, 1))
	var others actions[string, int]
	require.False(t, others.has(a, a.link), "it is of another queue")

	former := a.link
	require.Same(t, grants[a], s.end(a))
	a.state = idle // the queue's part
	require.False(t, s.has(a, former))
	s.begin(a, nil)
	require.False(t, s.has(a, former), "it was started again")
	s.shrink()
	var left []*Entry[string, int]
	s.all(func(e *Entry[string, int]) bool { left = append(left, e); return true })
	require.ElementsMatch(t, []*Entry[string, int]{a, b, c}, left)
	require.Same(t, grants[b], s.end(b))
	require.Nil(t, s.end(c))
}
