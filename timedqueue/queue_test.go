package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

var epoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// at returns the time so long after the test's first moment.
func at(d time.Duration) time.Time { return epoch.Add(d) }

// seconds is at in seconds.
func seconds(s float64) time.Time { return at(time.Duration(s * float64(time.Second))) }

type (
	testConfig = QueueConfig[string, int]
	testBudget = Budget[string, int]
)

// newTestQueue returns a queue that was made at epoch.
func newTestQueue(t testing.TB, config testConfig) *Queue[string, int] {
	t.Helper()
	q, err := NewQueue(config, epoch)
	require.NoError(t, err)
	return q
}

// unlimited is a config for tests that are not about rates.
var unlimited = testConfig{Backoff: Backoff{Initial: time.Second, Max: 8 * time.Second}}

// limited is a config with one budget of all items.
func limited(limit rate.Limit, burst int) testConfig {
	return testConfig{Budgets: []testBudget{{Name: "all", Limit: limit, Burst: burst}}}
}

func withBackoff(config testConfig, backoff Backoff) testConfig {
	config.Backoff = backoff
	return config
}

// setLimit changes the rate of the budget of all items.
func setLimit(q *Queue[string, int], now time.Time, limit rate.Limit) {
	q.SetLimit(now, "all", "", limit)
}

// allOutcomes holds each outcome, and some strings that are none.
var allOutcomes = []Outcome{
	OutcomeDone, OutcomeSkipped, OutcomeFailed, OutcomeRequeued, OutcomePostponed, "", "Unknown",
}

var (
	done    = Result{Outcome: OutcomeDone}
	skipped = Result{Outcome: OutcomeSkipped}
	failed  = Result{Outcome: OutcomeFailed}
)

// mustStart starts the next item, which has to be key.
func mustStart[V any](t *testing.T, q *Queue[string, V], now time.Time, key string) Item[string,
	V] {
	t.Helper()
	item, ok := q.Start(now)
	require.True(t, ok, "nothing started, want %s", key)
	require.Equal(t, key, item.Key)
	return item
}

// mustHold fails when something can be started.
func mustHold[V any](t *testing.T, q *Queue[string, V], now time.Time) {
	t.Helper()
	item, ok := q.Start(now)
	require.False(t, ok, "started %s, want nothing", item.Key)
}

// startAll starts whatever can be started and returns the keys in order.
func startAll[V any](q *Queue[string, V], now time.Time) []string {
	var keys []string
	for {
		item, ok := q.Start(now)
		if !ok {
			return keys
		}
		keys = append(keys, item.Key)
	}
}

// requireNothingLeft checks that an empty queue holds no record of its keys.
func requireNothingLeft[V any](t *testing.T, q *Queue[string, V]) {
	t.Helper()
	require.Zero(t, q.Len())
	require.Zero(t, q.Pending())
	require.Empty(t, q.entries)
	for _, k := range q.kinds {
		require.Zero(t, k.waiting.len())
		require.Zero(t, k.open.len())
	}
	require.Zero(t, q.closed.len())
	require.Empty(t, q.acting)
}

// requireShares checks that a budget has these shares and no others.
func requireShares[V any](t *testing.T, q *Queue[string, V], budget string, want ...string) {
	t.Helper()
	names, lanes := []string{}, 0
	for name, s := range q.budget(budget).shares {
		names = append(names, name)
		lanes += len(s.lanes)
	}
	require.ElementsMatch(t, append([]string{}, want...), names)
	inUse := 0
	for _, l := range q.lanes {
		if l != nil && l.share.budget.Name == budget {
			inUse++
		}
	}
	require.Equal(t, lanes, inUse, "lanes")
}

// dropIdle drops all shares that are like new ones.
func (q *Queue[K, V]) dropIdle() {
	for p := q.idle.first(); p != nil && time.Duration(p.due) <= q.now; p = q.idle.first() {
		q.dropShare(p.element)
	}
}

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
