package eviction_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A workload is something that is evicted and is no pod.
type workload struct {
	cluster, team string
	rank          int
}

type workloads struct {
	*testing.T
	*eviction.Scheduler[string, workload]
}

func newWorkloads(t *testing.T, config eviction.SchedulerConfig[workload]) workloads {
	t.Helper()
	scheduler, err := eviction.NewScheduler[string](config, at(0))
	require.NoError(t, err)
	return workloads{t, scheduler}
}

func byCluster(limit rate.Limit, burst int) eviction.BudgetOf[workload] {
	return eviction.BudgetOf[workload]{Name: "cluster", Of: func(w workload) string { return w.cluster }, Limit: limit, Burst: burst}
}

func byTeam(limit rate.Limit, burst int) eviction.BudgetOf[workload] {
	return eviction.BudgetOf[workload]{Name: "team", Of: func(w workload) string { return w.team }, Limit: limit, Burst: burst}
}

// start checks that exactly these keys are handed out at that time, in that order.
func (w workloads) start(seconds float64, want ...string) []eviction.Task[string, workload] {
	w.Helper()
	var tasks []eviction.Task[string, workload]
	got := []string{}
	for {
		task, ok := w.Start(at(seconds))
		if !ok {
			break
		}
		tasks, got = append(tasks, task), append(got, task.Key)
		require.LessOrEqual(w, len(got), len(want)+10, "no end: %v", got)
	}
	require.Equal(w, append([]string{}, want...), got, "handed out at %v", seconds)
	return tasks
}

func (w workloads) finish(seconds float64, task eviction.Task[string, workload], outcome eviction.Outcome) {
	w.Finish(at(seconds), task, eviction.Report{Outcome: outcome})
}

// next checks that nothing is handed out before that time.
func (w workloads) next(now, seconds float64) {
	w.Helper()
	next, ok := w.Next(at(now))
	require.True(w, ok)
	require.Equal(w, seconds, next.Sub(at(0)).Seconds(), "next, in seconds")
}

func byRank(a, b workload) bool { return a.rank < b.rank }

// A value that changes moves its key among those that are due with it, whether they
// wait for their time or for a token.
func TestSchedulerOrdersByTheNewestValue(t *testing.T) {
	t.Run("waiting", func(t *testing.T) {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{First: byRank})
		for i, key := range []string{"a", "b", "c", "d", "e"} {
			w.Set(at(0), key, workload{rank: i}, at(10))
		}
		w.Set(at(1), "a", workload{rank: 9}, at(10))
		w.Set(at(1), "e", workload{rank: -1}, at(10))
		w.start(10, "e", "b", "c", "d", "a")
	})
	t.Run("for a token", func(t *testing.T) {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{First: byRank, Budgets: []eviction.BudgetOf[workload]{byCluster(1, 1)}})
		for i, key := range []string{"a", "b", "c", "d", "e"} {
			w.Set(at(0), key, workload{rank: i}, at(10))
		}
		w.start(10, "a")
		w.Set(at(10), "b", workload{rank: 9}, at(10))
		w.Set(at(10), "e", workload{rank: -1}, at(10))
		for i, key := range []string{"e", "c", "d", "b"} {
			w.start(11+float64(i), key)
		}
	})
}

// Its deadline stays, so its place stays.
func TestSchedulerRefreshedKeyKeepsItsPlace(t *testing.T) {
	w := newWorkloads(t, eviction.SchedulerConfig[workload]{Budgets: []eviction.BudgetOf[workload]{byCluster(1, 1)}})
	for _, key := range []string{"a", "b", "c"} {
		w.Set(at(0), key, workload{}, at(-5)) // before the scheduler was there
	}
	w.start(0, "a")
	w.Set(at(0.5), "b", workload{}, at(-5))
	w.start(1, "b")
	w.Set(at(1), "c", workload{}, at(-5))
	w.start(2, "c")
}

// demand.md #102993: a deadline is moved, to later or to earlier.
func TestSchedulerDeadlineThatIsMovedCounts(t *testing.T) {
	w := newWorkloads(t, eviction.SchedulerConfig[workload]{})
	w.Set(at(0), "a", workload{}, at(10))
	w.Set(at(0), "b", workload{}, at(20))
	w.Set(at(5), "a", workload{}, at(30))
	w.Set(at(5), "b", workload{}, at(6))
	w.next(5, 6)
	w.start(6, "b")
	w.next(6, 30)
	w.start(30, "a")
}

// demand.md PR #113607: what was scheduled can be called off, before its time and
// during its action.
func TestSchedulerRemovedKeyIsCalledOff(t *testing.T) {
	for _, outcome := range outcomes {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{})
		w.Set(at(0), "a", workload{}, at(10))
		require.True(t, w.Remove("a"))
		require.False(t, w.Remove("a"))
		w.start(100)
		require.Zero(t, w.Len())

		w.Set(at(100), "b", workload{}, at(100))
		task := w.start(100, "b")[0]
		require.False(t, task.CalledOff())
		require.True(t, w.Remove("b"))
		require.False(t, w.Remove("b"))
		require.True(t, task.CalledOff())
		require.Zero(t, w.Len())
		w.finish(101, task, outcome)
		w.start(1000)
		_, ok := w.Next(at(1000))
		require.False(t, ok)
	}
	require.False(t, eviction.Task[string, workload]{}.CalledOff())
}

// A key that comes again during the action of the one before it is due anew, never
// twice at a time, and what comes of the action is not about it.
func TestSchedulerKeyThatComesAgainDuringItsAction(t *testing.T) {
	for _, outcome := range outcomes {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{})
		w.Set(at(0), "a", workload{rank: 1}, at(0))
		task := w.start(0, "a")[0]
		w.Remove("a")
		w.Set(at(1), "a", workload{rank: 2}, at(5))
		require.True(t, task.CalledOff())
		require.Equal(t, 1, w.Len())
		w.start(6)
		w.finish(7, task, outcome)
		again := w.start(7, "a")[0]
		require.Equal(t, 2, again.Value.rank)
		require.Zero(t, again.Tries)
		w.finish(8, task, eviction.Evicted) // a second time
		require.Equal(t, 1, w.Len())
		w.finish(8, again, eviction.Evicted)
		require.Zero(t, w.Len())
	}
}

// A deadline that is given during the action is not lost with it.
func TestSchedulerDeadlineGivenDuringTheActionCounts(t *testing.T) {
	for _, outcome := range outcomes {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{Retry: timedqueue.Backoff{First: 2 * time.Second, Max: 2 * time.Second}})
		w.Set(at(0), "a", workload{}, at(0))
		task := w.start(0, "a")[0]
		w.Set(at(1), "a", workload{}, at(30))
		require.True(t, task.CalledOff())
		w.finish(2, task, outcome)
		w.next(2, 30)
		w.start(30, "a")
	}
}

// Who is told of a key again and again while it fails does not try it again and again.
func TestSchedulerKeyThatIsSetDuringAFailedActionKeepsItsWait(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.Failed, eviction.Blocked, eviction.NotDue} {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{Retry: timedqueue.Backoff{First: time.Second, Max: 8 * time.Second}})
		w.Set(at(0), "a", workload{}, at(0))
		now := 0.0
		for i := range 6 {
			task := w.start(now, "a")[0]
			w.Set(at(now), "a", workload{}, at(0))
			require.False(t, task.CalledOff())
			w.finish(now, task, outcome)
			w.Set(at(now), "a", workload{}, at(0))
			w.start(now)
			now++
			if outcome != eviction.NotDue {
				now += min(math.Ldexp(1, i), 8) - 1
			}
			w.next(now-0.5, now)
			w.start(now - 0.001)
		}
	}
}

// No wait is so long that it ends before it has begun.
func TestSchedulerWaitsThatAreTooLongDoNotOverflow(t *testing.T) {
	const endless = time.Duration(math.MaxInt64)
	for _, outcome := range []eviction.Outcome{eviction.Failed, eviction.Blocked, eviction.NotDue} {
		for _, retry := range []timedqueue.Backoff{{}, {First: endless, Max: endless}} {
			for _, wait := range []time.Duration{endless, 0} {
				if wait == 0 && (retry.First == 0 || outcome == eviction.NotDue) {
					continue
				}
				w := newWorkloads(t, eviction.SchedulerConfig[workload]{Retry: retry})
				w.Set(at(0), "a", workload{}, at(0))
				w.Finish(at(1), w.start(1, "a")[0], eviction.Report{Outcome: outcome, Wait: wait})
				w.start(1e8)
			}
		}
	}
}

// An outcome that does not fit is no reason to forget a key, or to try at once.
func TestSchedulerOutcomeThatDoesNotFitIsAFailure(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.Unmarked, 99, -1} {
		w := newWorkloads(t, eviction.SchedulerConfig[workload]{})
		w.Set(at(0), "a", workload{}, at(0))
		w.finish(0, w.start(0, "a")[0], outcome)
		w.start(0.499)
		require.Equal(t, 1, w.start(0.5, "a")[0].Tries)
	}
}

// A clock that is set back does not hand anything out early, and does not stop it.
func TestSchedulerTimeThatGoesBackwardsIsClamped(t *testing.T) {
	w := newWorkloads(t, eviction.SchedulerConfig[workload]{Budgets: []eviction.BudgetOf[workload]{byCluster(1, 1)}})
	for _, key := range []string{"a", "b"} {
		w.Set(at(100), key, workload{}, at(50))
	}
	require.Equal(t, at(100), w.start(0, "a")[0].At)
	w.start(50)
	next, ok := w.Next(at(-1000))
	require.True(t, ok)
	require.Equal(t, at(101), next)
	w.start(101, "b")
}

func TestSchedulerTellsWhatWaits(t *testing.T) {
	w := newWorkloads(t, eviction.SchedulerConfig[workload]{Budgets: []eviction.BudgetOf[workload]{byCluster(0.1, 1)}})
	w.Set(at(0), "acting", workload{}, at(0))
	w.Set(at(0), "without a token", workload{}, at(1))
	w.Set(at(0), "later", workload{}, at(9))
	w.start(0, "acting")
	require.Equal(t, 3, w.Len())
	w.Set(at(1), "another", workload{cluster: "x"}, at(1))
	w.start(1, "another")
	want := map[string]float64{"acting": 0, "without a token": 1, "later": 9, "another": 1}
	for key, due := range w.All() {
		require.Equal(t, want[key], due.Sub(at(0)).Seconds(), key)
		delete(want, key)
	}
	require.Empty(t, want)
	for range w.All() {
		break // is heeded
	}
}

func TestSchedulerConfigIsValidated(t *testing.T) {
	for message, config := range map[string]eviction.SchedulerConfig[workload]{
		"a budget has no name":           {Budgets: []eviction.BudgetOf[workload]{{Limit: 1}}},
		`budget "cluster": Limit is -1`:  {Budgets: []eviction.BudgetOf[workload]{byCluster(-1, 1)}},
		`budget "cluster": Limit is NaN`: {Budgets: []eviction.BudgetOf[workload]{byCluster(rate.Limit(math.NaN()), 1)}},
		`budget "team": Burst is -1`:     {Budgets: []eviction.BudgetOf[workload]{byTeam(1, -1)}},
		`two budgets are named "team"`:   {Budgets: []eviction.BudgetOf[workload]{byTeam(1, 1), byTeam(2, 1)}},
		"Backoff is -1ns":                {Retry: timedqueue.Backoff{First: -1}},
	} {
		_, err := eviction.NewScheduler[string](config, at(0))
		require.ErrorIs(t, err, eviction.ErrInvalidConfig)
		require.ErrorContains(t, err, message)
	}
}

// What is not a scheduler's task is not finished by it.
func TestSchedulerForeignTaskChangesNothing(t *testing.T) {
	w, other := newWorkloads(t, eviction.SchedulerConfig[workload]{}), newWorkloads(t, eviction.SchedulerConfig[workload]{})
	for _, s := range []workloads{w, other} {
		s.Set(at(0), "a", workload{}, at(0))
	}
	task := w.start(0, "a")[0]
	other.finish(0, task, eviction.Evicted)
	other.finish(0, eviction.Task[string, workload]{Key: "a"}, eviction.Evicted)
	require.Equal(t, 1, other.Len())
	require.Len(t, slices.Collect(func(yield func(string) bool) {
		for key := range other.All() {
			if !yield(key) {
				return
			}
		}
	}), 1)
}
