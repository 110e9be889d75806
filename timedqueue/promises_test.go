package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestQ1AddingAgainChangesNothing(t *testing.T) {
	q := newTestQueue(t, unlimited)
	require.True(t, q.Add("a", 1, at(time.Second)))
	require.False(t, q.Add("a", 2, at(0)))
	require.Equal(t, 1, q.Len())

	item, ok := q.Get("a")
	require.True(t, ok)
	require.Equal(t, 1, item.Value)
	require.Equal(t, at(time.Second), item.Due)
	mustHold(t, q, at(0))

	item = mustStart(t, q, at(time.Second), "a")
	require.False(t, q.Add("a", 3, at(0)), "it is in the queue while it acts")
	require.Equal(t, 1, q.Len())
	q.Finish(at(time.Second), item, done)
	require.Zero(t, q.Len())
	mustHold(t, q, at(time.Hour))
}

func TestQ1RescheduleMovesEarlierAndLater(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("early", 0, at(10*time.Second))
	q.Add("late", 0, at(20*time.Second))
	require.True(t, q.Reschedule("late", at(5*time.Second)))
	require.True(t, q.Reschedule("early", at(30*time.Second)))
	require.False(t, q.Reschedule("absent", at(0)))

	mustHold(t, q, at(4*time.Second))
	mustStart(t, q, at(5*time.Second), "late")
	mustHold(t, q, at(29*time.Second))
	mustStart(t, q, at(30*time.Second), "early")
}

func TestQ1RescheduleDuringActionWinsOverItsResult(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			require.True(t, q.Reschedule("a", at(time.Minute)))
			mustHold(t, q, at(0))
			q.Finish(at(0), item, Result{Outcome: outcome})
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(59*time.Second))
			mustStart(t, q, at(time.Minute), "a")
		})
	}
}

func TestQ2OrderIsDueThenInsertion(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("third", 0, at(2*time.Second))
	q.Add("fourth", 0, at(2*time.Second))
	q.Add("first", 0, at(time.Second))
	q.Add("second", 0, at(time.Second))
	require.Equal(t, []string{"first", "second", "third", "fourth"}, startAll(q, at(time.Minute)))
}

// kubernetes/kubernetes#96876 and #98851 came from refreshing by removing and
// adding again: each pass over the nodes put all of them back in random order.
func TestQ2SetValueKeepsTheKeysPlace(t *testing.T) {
	q := newTestQueue(t, unlimited)
	keys := []string{"a", "b", "c", "d", "e"}
	for _, key := range keys {
		q.Add(key, 0, at(0))
	}
	for _, key := range []string{"d", "a", "c", "a", "e", "b"} {
		require.True(t, q.SetValue(key, 7))
	}
	require.False(t, q.SetValue("absent", 7))
	require.Equal(t, keys, startAll(q, at(0)))
	item, ok := q.Get("c")
	require.True(t, ok)
	require.Equal(t, 7, item.Value)
}

func TestQ2RescheduleKeepsTheOrderOfInsertion(t *testing.T) {
	q := newTestQueue(t, unlimited)
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key, 0, at(time.Second))
	}
	q.Reschedule("a", at(time.Minute))
	q.Reschedule("a", at(time.Second))
	q.Reschedule("c", at(time.Second))
	require.Equal(t, []string{"a", "b", "c"}, startAll(q, at(time.Minute)))
}

func TestQ2SetValueDuringActionCountsFromTheNextAttempt(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 1, at(0))
	item := mustStart(t, q, at(0), "a")
	require.True(t, q.SetValue("a", 2))
	require.Equal(t, 1, item.Value)
	q.Finish(at(0), item, Result{Outcome: OutcomeFailed})
	require.Equal(t, 2, mustStart(t, q, at(time.Second), "a").Value)
}

// demand.md, timedqueue: upstream calls TryAccept before it checks ProcessAt,
// so a poll of a queue with nothing due spends a token.
func TestQ3NothingDueSpendsNoToken(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for i := range 100 {
		mustHold(t, q, at(time.Duration(i)*time.Millisecond)) // empty
	}
	q.Add("a", 0, at(time.Second))
	q.Add("b", 0, at(time.Second))
	for i := range 900 {
		mustHold(t, q, at(time.Duration(i)*time.Millisecond)) // nothing due
	}
	mustStart(t, q, at(time.Second), "a")
	mustHold(t, q, at(10*time.Second))
	mustStart(t, q, at(11*time.Second), "b")
}

// demand.md, timedqueue: in upstream a node that is gone or ready again costs a
// token, ten seconds at the default rate.
func TestQ3SkippedReturnsTheToken(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for _, key := range []string{"gone", "ready", "failing", "next"} {
		q.Add(key, 0, at(0))
	}
	for _, key := range []string{"gone", "ready"} {
		item := mustStart(t, q, at(0), key)
		mustHold(t, q, at(0))
		q.Finish(at(0), item, Result{Outcome: OutcomeSkipped})
	}
	require.Equal(t, 2, q.Len(), "what had nothing to do has left the queue")
	mustStart(t, q, at(0), "failing")
	mustHold(t, q, at(9*time.Second))
	mustStart(t, q, at(10*time.Second), "next")
}

func TestQ3DoneReturnsNothing(t *testing.T) {
	q := newTestQueue(t, limited(1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: OutcomeDone})
	mustHold(t, q, at(999*time.Millisecond))
	mustStart(t, q, at(time.Second), "b")
}

// A bucket holds its burst and no more, also while the token that would come
// next has been earned in part.
func TestQ3ReturnedTokensNeverExceedBurst(t *testing.T) {
	for _, test := range []struct {
		name  string
		burst int
		after time.Duration // from the start of the actions that do nothing to their end
		early int           // how many may start then
		next  time.Duration // when one more may
	}{
		{"at once", 1, 0, 1, time.Second},
		{"a token is nearly earned again", 1, 900 * time.Millisecond, 1, 1900 * time.Millisecond},
		{"it is earned again", 1, time.Second, 1, 2 * time.Second},
		{"all are earned again", 3, time.Hour, 3, time.Hour + time.Second},
		{"half are earned again", 4, 2500 * time.Millisecond, 4, 3500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := newTestQueue(t, limited(1, test.burst))
			keys := []string{"a", "b", "c", "d"}[:test.burst]
			var items []Item[string, int]
			for _, key := range keys {
				q.Add(key, 0, at(0))
				items = append(items, mustStart(t, q, at(0), key))
			}
			for _, item := range items {
				q.Finish(at(test.after), item, Result{Outcome: OutcomeSkipped})
			}
			for i := range 10 {
				q.Add(string(rune('0'+i)), 0, at(0))
			}
			require.Len(t, startAll(q, at(test.after)), test.early)
			mustHold(t, q, at(test.next-time.Millisecond))
			require.Len(t, startAll(q, at(test.next)), 1)
		})
	}
}

// If the token had stayed, the bucket would have been full, and would not have
// earned the other one.
func TestQ3TokenThatComesBackLateLetsNoMoreThroughThanTheBurst(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key, 0, at(0))
	}
	a := mustStart(t, q, at(0), "a")
	mustStart(t, q, at(10*time.Second), "b")
	q.Finish(at(10*time.Second), a, Result{Outcome: OutcomeSkipped})
	mustHold(t, q, at(19999*time.Millisecond))
	mustStart(t, q, at(20*time.Second), "c")
}

// An action that was started without a limit spent no token and has none to
// return.
func TestQ3SkippedReturnsNoTokenThatItDidNotSpend(t *testing.T) {
	q := newTestQueue(t, limited(1, 2))
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		q.Add(key, 0, at(0))
	}
	setLimit(q, at(0), rate.Inf)
	a, b := mustStart(t, q, at(0), "a"), mustStart(t, q, at(0), "b")
	setLimit(q, at(0), 1)
	c := mustStart(t, q, at(0), "c")
	mustStart(t, q, at(0), "d")
	mustHold(t, q, at(0))
	q.Finish(at(0), a, Result{Outcome: OutcomeSkipped})
	q.Finish(at(0), b, Result{Outcome: OutcomeSkipped})
	mustHold(t, q, at(0))
	q.Finish(at(0), c, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(0), "e")
	mustHold(t, q, at(999*time.Millisecond))
}

func TestQ3FailureSpends(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: OutcomeFailed})
	require.Equal(t, 2, q.Len())
	mustHold(t, q, at(9999*time.Millisecond))
	mustStart(t, q, at(10*time.Second), "b")
	mustHold(t, q, at(19*time.Second))
	mustStart(t, q, at(20*time.Second), "a")
}

// The result for a removed key no longer matters, except for its tokens.
func TestQ3SkippedReturnsTheTokenAlsoAfterRemove(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Remove("a")
	q.Finish(at(0), item, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(0), "b")
}

func TestQ3RateHoldsOverTime(t *testing.T) {
	q := newTestQueue(t, limited(10, 5))
	for i := range 1000 {
		q.Add(string(rune('a'))+time.Duration(i).String(), 0, at(0))
	}
	started := 0
	for now := time.Duration(0); now <= 20*time.Second; now += 7 * time.Millisecond {
		started += len(startAll(q, at(now)))
		require.LessOrEqual(t, float64(started), 5+10*now.Seconds()+1e-6)
		require.Greater(t, float64(started), 4+10*now.Seconds()-1e-6)
	}
}
