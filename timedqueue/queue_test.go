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

// held is a config with one budget of all items that holds until it is given a
// limit.
func held(burst int) testConfig {
	return testConfig{Budgets: []testBudget{{Name: "all", Held: true, Burst: burst}}}
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
	OutcomeDone, OutcomeSkipped, OutcomeFailed, OutcomeContinued, OutcomePostponed, "", "Unknown",
}

var (
	done    = Result{Outcome: OutcomeDone}
	skipped = Result{Outcome: OutcomeSkipped}
	failed  = Result{Outcome: OutcomeFailed}
)

// mustStart starts the next item, which has to be key.
func mustStart[V any](
	t *testing.T, q *Queue[string, V], now time.Time, key string,
) Item[string, V] {
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

// pendingKeys returns the keys that have a due time or are acted on.
func pendingKeys[V any](q *Queue[string, V]) []string {
	var keys []string
	for e := range q.all {
		if e.state.member() {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// requireNothingLeft checks that an empty queue holds no record of its keys.
func requireNothingLeft[V any](t *testing.T, q *Queue[string, V]) {
	t.Helper()
	require.Zero(t, q.Len())
	require.Empty(t, pendingKeys(q))
	require.Empty(t, q.entries.byKey)
	for i := range q.waiting.byKind {
		require.Zero(t, q.waiting.byKind[i].len())
	}
	require.Zero(t, q.limits.open.len())
	require.Zero(t, q.limits.closed.len())
	require.Empty(t, q.actions.underWay)
	require.Empty(t, q.failures.of)
}

// requireShares checks that a budget has these shares and no others.
func requireShares[V any](t *testing.T, q *Queue[string, V], budget string, want ...string) {
	t.Helper()
	names, lanes := []string{}, 0
	for name, s := range q.limits.budget(budget).shares {
		names = append(names, name)
		lanes += len(s.lanes)
		if s.lane != nil {
			lanes++
		}
	}
	require.ElementsMatch(t, append([]string{}, want...), names)
	inUse := 0
	for _, l := range q.limits.lanes {
		if l.share != nil && l.share.budget.Name == budget {
			inUse++
		}
	}
	require.Equal(t, lanes, inUse, "lanes")
}

// dropIdle drops all shares that are like new ones.
func (q *Queue[K, V]) dropIdle() {
	idle := &q.limits.idle
	for p := idle.first(); p != nil && time.Duration(p.due) <= q.clock.now; p = idle.first() {
		q.limits.drop(p.element)
	}
}

// setValue changes the value of a key where the queue keeps it, and reports
// whether the key is in the queue.
func setValue[V any](q *Queue[string, V], key string, value V) bool {
	e, ok := q.Find(key)
	if ok {
		*e.Value() = value
		q.Refile(e)
	}
	return ok
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

func TestQ1SetMovesEarlierAndLater(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("early", 0, at(10*time.Second))
	q.Add("late", 0, at(20*time.Second))
	require.False(t, q.Set("late", 1, at(5*time.Second)))
	require.False(t, q.Set("early", 2, at(30*time.Second)))
	require.Equal(t, 2, q.Len())
	require.True(t, q.Set("absent", 3, at(time.Hour)))

	mustHold(t, q, at(4*time.Second))
	require.Equal(t, 1, mustStart(t, q, at(5*time.Second), "late").Value)
	mustHold(t, q, at(29*time.Second))
	require.Equal(t, 2, mustStart(t, q, at(30*time.Second), "early").Value)
	mustHold(t, q, at(time.Hour-1))
	require.Equal(t, 3, mustStart(t, q, at(time.Hour), "absent").Value)
}

// Whatever the result, the key stays, due as Set says. A backoff that ends
// earlier makes no difference.
func TestQ1SetDuringActionWinsOverItsResult(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			require.False(t, q.Set("a", 2, at(time.Minute)))
			mustHold(t, q, at(0))
			q.Finish(at(0), item, Result{Outcome: outcome, At: at(time.Second)})
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(59*time.Second))
			require.Equal(t, 2, mustStart(t, q, at(time.Minute), "a").Value)
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
func TestQ2SetKeepsTheKeysPlace(t *testing.T) {
	for name, set := range map[string]func(q *Queue[string, int], key string){
		"Set":    func(q *Queue[string, int], key string) { q.Set(key, 7, at(0)) },
		"Refile": func(q *Queue[string, int], key string) { setValue(q, key, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			keys := []string{"a", "b", "c", "d", "e"}
			for _, key := range keys {
				q.Add(key, 0, at(0))
			}
			for _, key := range []string{"d", "a", "c", "a", "e", "b"} {
				set(q, key)
			}
			require.Equal(t, keys, startAll(q, at(0)))
			item, ok := q.Get("c")
			require.True(t, ok)
			require.Equal(t, 7, item.Value)
		})
	}
}

func TestQ2AnotherDueTimeKeepsTheOrderOfInsertion(t *testing.T) {
	q := newTestQueue(t, unlimited)
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key, 0, at(time.Second))
	}
	q.Set("a", 0, at(time.Minute))
	q.Set("a", 0, at(time.Second))
	q.Set("c", 0, at(time.Second))
	require.Equal(t, []string{"a", "b", "c"}, startAll(q, at(time.Minute)))
}

func TestQ2ValueChangedDuringActionCountsFromTheNextAttempt(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 1, at(0))
	item := mustStart(t, q, at(0), "a")
	require.True(t, setValue(q, "a", 2))
	require.Equal(t, 1, item.Value)
	q.Finish(at(0), item, Result{Outcome: OutcomeFailed})
	require.Equal(t, 2, mustStart(t, q, at(time.Second), "a").Value)
}
