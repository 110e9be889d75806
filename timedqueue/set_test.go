package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// attemptsInAnHour counts the attempts of a key that always fails. Its caller
// sets it during each attempt, right after it, and every second.
func attemptsInAnHour(
	t *testing.T, during, after, everySecond func(q *Queue[string, int], now time.Time),
) (attempts int) {
	t.Helper()
	q := newTestQueue(t, testConfig{Backoff: Backoff{Initial: time.Second, Max: 5 * time.Minute}})
	q.Add("a", 0, at(0))
	for second := range 3600 {
		now := seconds(float64(second))
		everySecond(q, now)
		now = now.Add(time.Second / 2)
		for item, ok := q.Start(now); ok && attempts < 1000; item, ok = q.Start(now) {
			attempts++
			during(q, now)
			q.Finish(now, item, Result{Outcome: OutcomeFailed, Err: errTest})
			after(q, now)
		}
	}
	return attempts
}

// A failing key writes its failure into its own object, so its caller sees the
// object change and says again what is due. That ended the backoff once: 300
// attempts in place of 9.
func TestQ13SetEndsNoBackoff(t *testing.T) {
	setAt := func(later time.Duration) func(q *Queue[string, int], now time.Time) {
		return func(q *Queue[string, int], now time.Time) { q.Set("a", 1, now.Add(later)) }
	}
	nothing := func(*Queue[string, int], time.Time) {}
	zero := func(q *Queue[string, int], _ time.Time) { q.Set("a", 1, time.Time{}) }
	refile := func(q *Queue[string, int], _ time.Time) { setValue(q, "a", 2) }
	schedule := func(q *Queue[string, int], now time.Time) {
		e, _ := q.Find("a")
		q.Schedule(e, now)
	}
	// 1 + 2 + 4 + ... + 256 s, then every five minutes.
	const allowed = 1 + 9 + (3600-511)/300
	for name, set := range map[string]func(q *Queue[string, int], now time.Time){
		"not at all": nothing, "now": setAt(0), "zero": zero, "earlier": setAt(-time.Hour),
		"soon": setAt(time.Millisecond), "refiled": refile, "scheduled": schedule,
	} {
		require.Equal(t, allowed, attemptsInAnHour(t, set, nothing, nothing), "%s, during", name)
		require.Equal(t, allowed, attemptsInAnHour(t, nothing, set, nothing), "%s, after", name)
		require.Equal(t, allowed, attemptsInAnHour(t, nothing, nothing, set), "%s, often", name)
		require.Equal(t, allowed, attemptsInAnHour(t, set, set, set), "%s, each time", name)
	}
}

// A key acts at the later of what Set says and the end of its backoff.
func TestQ13KeyActsAtTheLaterOfDueAndBackoff(t *testing.T) {
	for _, test := range []struct{ due, acts float64 }{{0, 8}, {7, 8}, {8, 8}, {9, 9}, {100, 100}} {
		for _, during := range []bool{false, true} {
			q := newTestQueue(t, unlimited)
			q.Add("a", 0, at(0))
			item := mustStart(t, q, at(0), "a")
			if during {
				q.Set("a", 1, seconds(test.due))
			}
			q.Finish(at(0), item, Result{Outcome: OutcomeFailed, RetryAfter: 8 * time.Second})
			if !during {
				q.Set("a", 1, seconds(test.due))
			}
			shown, _ := q.Get("a")
			require.Equal(t, seconds(test.acts), shown.Due)
			mustHold(t, q, seconds(test.acts-0.001))
			item = mustStart(t, q, seconds(test.acts), "a")
			require.Equal(t, 1, item.Attempts)
			q.Finish(seconds(test.acts), item, done)
			requireNothingLeft(t, q)
		}
	}
}

// A backoff that Set delayed beyond its end does not come back with another
// Set.
func TestQ13LastSetCounts(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), failed)
	for _, due := range []float64{100, 0, 50, 3} {
		q.Set("a", 0, seconds(due))
	}
	mustHold(t, q, seconds(2.999))
	mustStart(t, q, seconds(3), "a")
}

// What Set says during an action is not lost with a result that says that
// nothing is left to do.
func TestQ13SetDuringAnActionThatIsDoneActsAgain(t *testing.T) {
	for outcome, attempts := range map[Outcome]int{
		OutcomeDone: 0, OutcomeSkipped: 0, OutcomeContinued: 0, OutcomePostponed: 1,
	} {
		for _, idle := range []bool{false, true} {
			q := newTestQueue(t, unlimited)
			q.Add("a", 0, at(0))
			q.Finish(at(0), mustStart(t, q, at(0), "a"), failed)
			item := mustStart(t, q, seconds(1), "a")
			q.Set("a", 7, seconds(5))
			result := Result{Outcome: outcome, Idle: idle}
			if !idle {
				result.At = seconds(2)
			}
			q.Finish(seconds(1), item, result)
			mustHold(t, q, seconds(4.999))
			item = mustStart(t, q, seconds(5), "a")
			require.Equal(t, 7, item.Value)
			require.Equal(t, attempts, item.Attempts)
			q.Finish(seconds(5), item, done)
			requireNothingLeft(t, q)
		}
	}
}

// A key that is removed and added again during an action that fails has no
// backoff: it is another one.
func TestQ13ReAddedKeyHasNoBackoff(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Remove("a")
	require.True(t, q.Set("a", 1, at(0)))
	q.Finish(at(0), item, failed)
	require.False(t, q.Retry("a"))
	require.Zero(t, mustStart(t, q, at(0), "a").Attempts)
}

func TestQ13RetryEndsABackoff(t *testing.T) {
	start := func() *Queue[string, int] {
		q := newTestQueue(t, unlimited)
		q.Add("a", 0, at(0))
		q.Finish(at(0), mustStart(t, q, at(0), "a"),
			Result{Outcome: OutcomeFailed, RetryAfter: 100 * time.Second})
		return q
	}
	q := start()
	mustHold(t, q, seconds(5))
	require.True(t, q.Retry("a"))
	require.False(t, q.Retry("a"), "it has ended")
	item := mustStart(t, q, seconds(5), "a")
	require.Equal(t, 1, item.Attempts, "it has failed all the same")
	require.False(t, q.Retry("a"), "it is acted on")
	q.Finish(seconds(5), item, failed)
	mustHold(t, q, seconds(6.999))
	mustStart(t, q, seconds(7), "a")

	q = start()
	q.Set("a", 0, seconds(50))
	require.True(t, q.Retry("a"))
	mustHold(t, q, seconds(49.999)) // when Set said
	mustStart(t, q, seconds(50), "a")

	q = start()
	q.Set("a", 0, seconds(200))
	require.True(t, q.Retry("a"))
	mustHold(t, q, seconds(199.999))
	mustStart(t, q, seconds(200), "a")

	q = start()
	q.Add("waits", 0, at(time.Hour))
	require.False(t, q.Retry("waits"), "it has not failed")
	require.False(t, q.Retry("absent"))
	e, _ := q.Find("a")
	q.Unschedule(e)
	require.False(t, q.Retry("a"), "it has no due time")
	mustHold(t, q, seconds(200))
}

// No zero value acts by accident, as an item of the year one would: it comes
// before all others.
func TestQ13ZeroDueIsNow(t *testing.T) {
	for name, add := range map[string]func(q *Queue[string, int]){
		"Add":         func(q *Queue[string, int]) { q.Add("a", 0, time.Time{}) },
		"Set, new":    func(q *Queue[string, int]) { q.Set("a", 0, time.Time{}) },
		"Set, waited": func(q *Queue[string, int]) { q.Add("a", 0, at(9)); q.Set("a", 0, time.Time{}) },
		"Schedule": func(q *Queue[string, int]) {
			e, _ := q.Keep("a", 0)
			q.Schedule(e, time.Time{})
		},
	} {
		q := newTestQueue(t, unlimited)
		q.Add("earlier", 0, seconds(9))
		q.Add("later", 0, seconds(11))
		q.Advance(seconds(10))
		add(q)
		shown, _ := q.Get("a")
		require.Equal(t, seconds(10), shown.Due, name)
		require.Equal(t, []string{"earlier", "a", "later"}, startAll(q, seconds(12)), name)
	}
}
