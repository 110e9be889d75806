package timedqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// The results of the actions in these tests.
var (
	actionDone    = Result{Outcome: OutcomeDone}
	actionSkipped = Result{Outcome: OutcomeSkipped}
	actionFailed  = Result{Outcome: OutcomeFailed}
)

// run starts a dispatcher around core in the bubble of the test and stops it at
// the end of the test. A bubble that still has a goroutine then fails.
func run[T any](
	t *testing.T, core Core[T, Result], workers int, act func(context.Context, T) Result,
) *Dispatcher {
	t.Helper()
	return runAs(t, core, DispatcherConfig{Workers: workers}, act)
}

func runAs[T any](
	t *testing.T, core Core[T, Result], config DispatcherConfig, act func(context.Context, T) Result,
) *Dispatcher {
	t.Helper()
	d, err := NewDispatcher(core, act, config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return d
}

// queueNow returns a queue that was made at the bubble's now.
func queueNow(t *testing.T, config testConfig) *Queue[string, int] {
	t.Helper()
	q, err := NewQueue(config, time.Now())
	require.NoError(t, err)
	return q
}

// sleep lets the bubble's time pass and what becomes due then happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// countingCore counts the dispatcher's polls.
type countingCore struct {
	Core[Item[string, int], Result]
	starts, nexts atomic.Int64
	// next replaces the core's own Next unless it is nil.
	next func(now time.Time) (time.Time, bool)
}

func (c *countingCore) Start(now time.Time) (Item[string, int], bool) {
	c.starts.Add(1)
	return c.Core.Start(now)
}

func (c *countingCore) Next(now time.Time) (time.Time, bool) {
	c.nexts.Add(1)
	if c.next != nil {
		return c.next(now)
	}
	return c.Core.Next(now)
}

func TestQ4ChangesNeverWaitForAnAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		release := make(chan struct{})
		acted := make(chan string, 10)
		d := run(t, q, 1, func(_ context.Context, item Item[string, int]) Result {
			<-release
			acted <- item.Key
			return actionDone
		})
		d.Update(func() {
			q.Add("blocking", 0, time.Now())
			q.Add("gone", 0, time.Now())
		})
		synctest.Wait() // the action blocks

		began := time.Now()
		d.Update(func() {
			require.True(t, q.Add("later", 0, time.Now()))
			require.True(t, q.Remove("gone"))
			require.True(t, q.Remove("blocking"))
			require.True(t, q.Add("blocking", 1, time.Now()))
			setLimit(q, time.Now(), 5)
		})
		synctest.Wait()
		require.Empty(t, acted)
		require.Equal(t, began, time.Now())
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"blocking", "later"}, []string{<-acted, <-acted})
		sleep(time.Minute)
		require.Equal(t, "blocking", <-acted)
		require.Empty(t, acted)
	})
}

func TestDispatcherBoundsItsWorkers(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			const items = 10
			var acting, total atomic.Int64
			q := queueNow(t, unlimited)
			want := max(workers, 1)
			d := run(t, q, workers, func(context.Context, Item[string, int]) Result {
				if now := acting.Add(1); now > int64(want) {
					t.Errorf("%d act at a time, want %d", now, want)
				}
				time.Sleep(time.Second)
				acting.Add(-1)
				total.Add(1)
				return actionDone
			})
			d.Update(func() {
				for i := range items {
					q.Add(fmt.Sprint(i), 0, time.Now())
				}
			})
			took := time.Duration((items+want-1)/want) * time.Second
			sleep(took - 1)
			require.Less(t, total.Load(), int64(items))
			sleep(2)
			require.Equal(t, int64(items), total.Load(), "%d workers need %v", workers, took)
		})
	}
}

// The promise is kept by the queue; here it is seen under concurrency.
func TestQ5NeverTwoActionsForOneKey(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		config := tenShares(1000, 1)
		config.Budgets[0].ShareOf = func(_ string, value int) string { return fmt.Sprint(value % 3) }
		q := queueNow(t, config)
		var acting sync.Map
		var total, twice atomic.Int64
		d := run(t, q, 8, func(_ context.Context, item Item[string, int]) Result {
			if _, also := acting.LoadOrStore(item.Key, true); also {
				twice.Add(1)
			}
			total.Add(1)
			time.Sleep(time.Duration(1+len(item.Key)*item.Value%7) * time.Millisecond)
			acting.Delete(item.Key)
			result := [...]Result{actionDone, actionSkipped, actionFailed}[item.Value%3]
			result.RetryAfter = time.Millisecond
			return result
		})
		var callers sync.WaitGroup
		for caller := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			callers.Go(func() {
				for i := range 3000 {
					key := fmt.Sprint(random.IntN(12))
					d.Update(func() {
						switch random.IntN(4) {
						case 0:
							q.Remove(key)
						case 1:
							q.Set(key, i, time.Now())
						default:
							q.Add(key, i, time.Now())
						}
					})
					time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond)
				}
			})
		}
		callers.Wait()
		require.Zero(t, twice.Load())
		require.Greater(t, total.Load(), int64(1000))
	})
}

func TestQ7NoGoroutineOrTimerPerEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		d := run(t, q, 4, func(context.Context, Item[string, int]) Result { return actionDone })
		synctest.Wait()
		before := runtime.NumGoroutine()
		d.Update(func() {
			for i := range 20_000 {
				q.Add(fmt.Sprint(i), 0, time.Now().Add(time.Hour+time.Duration(i)))
			}
		})
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
		sleep(time.Hour + time.Second)
		require.Zero(t, q.Len())
	})
}

func TestQ8FailingActionDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var order []string
		q := queueNow(t, unlimited)
		d := run(t, q, 1, func(_ context.Context, item Item[string, int]) Result {
			order = append(order, fmt.Sprint(item.Key, " at ", time.Since(began)))
			if item.Key == "failing" && item.Attempts < 3 {
				return actionFailed
			}
			return actionDone
		})
		d.Update(func() {
			q.Add("failing", 0, began)
			q.Add("b", 0, began)
			q.Add("c", 0, began.Add(1500*time.Millisecond))
		})
		sleep(time.Minute)
		require.Equal(t, []string{
			"failing at 0s", "b at 0s", "failing at 1s", "c at 1.5s", "failing at 3s", "failing at 7s",
		}, order)
	})
}

// demand.md, timedqueue: upstream polls every zone's queue each 100 ms.
func TestQ9DispatcherSleepsUntilTheNextThing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted []time.Duration
		began := time.Now()
		q := queueNow(t, limited(0.1, 0))
		core := &countingCore{Core: q}
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
			acted = append(acted, time.Since(began))
			return actionDone
		})
		synctest.Wait()
		require.Equal(t, int64(1), core.starts.Load(), "one poll of the empty queue")
		d.Update(func() {
			q.Add("a", 0, began.Add(37*time.Minute))
			q.Add("b", 0, began.Add(37*time.Minute))
		})
		sleep(38 * time.Minute)
		require.Equal(t, []time.Duration{37 * time.Minute, 37*time.Minute + 10*time.Second}, acted)
		// One poll at the start, one after Update and one each ten seconds. For each
		// item there is one when it starts, one right after and one at its end.
		require.LessOrEqual(t, core.starts.Load(), int64(2+38*6+2*3))
		require.LessOrEqual(t, core.nexts.Load(), core.starts.Load())
	})
}

// A core whose Next promises nothing has a task, and no Update wakes the
// dispatcher.
func TestQ9PollsEveryTenSecondsWhateverNextSays(t *testing.T) {
	for name, next := range map[string]func(now time.Time) (time.Time, bool){
		"never":      func(time.Time) (time.Time, bool) { return time.Time{}, false },
		"far ahead":  func(now time.Time) (time.Time, bool) { return now.Add(1000 * time.Hour), true },
		"wall clock": func(now time.Time) (time.Time, bool) { return now.Round(0).Add(time.Hour), true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queueNow(t, unlimited)
				var acted atomic.Int64
				core := &countingCore{Core: q, next: next}
				d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
					acted.Add(1)
					return actionDone
				})
				sleep(time.Hour + time.Second)
				require.Equal(t, int64(361), core.starts.Load(), "an idle dispatcher does not poll")
				d.View(func() { q.Add("a", 0, time.Now()) })
				sleep(9*time.Second - 1)
				require.Zero(t, acted.Load())
				sleep(1)
				require.Equal(t, int64(1), acted.Load())
			})
		})
	}
}

func TestQ9SleepsThroughATimeWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted atomic.Int64
		q := queueNow(t, held(0))
		core := &countingCore{Core: q}
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
			acted.Add(1)
			return actionDone
		})
		d.Update(func() { q.Add("a", 0, time.Now()) })
		sleep(30 * time.Minute)
		require.Zero(t, acted.Load())
		require.LessOrEqual(t, core.starts.Load(), int64(2+30*6))
		d.Update(func() { setLimit(q, time.Now(), 1) })
		synctest.Wait()
		require.Equal(t, int64(1), acted.Load())
	})
}

func TestQ9DoesNotPollWhileAllWorkersAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		core := &countingCore{Core: q}
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
			time.Sleep(time.Hour)
			return actionDone
		})
		d.Update(func() {
			for i := range 100 {
				q.Add(fmt.Sprint(i), 0, time.Now().Add(time.Duration(i)*time.Second))
			}
		})
		synctest.Wait()
		looks := core.starts.Load()
		sleep(59 * time.Minute)
		require.Equal(t, looks, core.starts.Load())
	})
}

func TestUpdateWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		acted := make(chan string, 10)
		q := queueNow(t, unlimited)
		d := run(t, q, 2, func(_ context.Context, item Item[string, int]) Result {
			acted <- fmt.Sprint(item.Key, " at ", time.Since(began))
			return actionDone
		})
		d.Update(func() { q.Add("late", 0, began.Add(time.Hour)) })
		sleep(time.Second)
		d.Update(func() { q.Add("now", 0, time.Now()) })
		synctest.Wait()
		require.Equal(t, "now at 1s", <-acted)
		d.Update(func() { q.Set("late", 0, began.Add(2*time.Second)) })
		sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "late at 2s", <-acted)
		d.Update(func() {})
		synctest.Wait()
		require.Empty(t, acted)
	})
}

func TestOnlyUpdateMakesTheDispatcherPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		core := &countingCore{Core: q}
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result { return actionDone })
		synctest.Wait()
		require.Equal(t, int64(1), core.starts.Load())
		for range 10 {
			d.View(func() { require.Zero(t, q.Len()) })
			synctest.Wait()
		}
		require.Equal(t, int64(1), core.starts.Load())
		d.Update(func() {})
		synctest.Wait()
		require.Equal(t, int64(2), core.starts.Load())
	})
}

func TestPanicInUpdateOrViewReleasesTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		var acted atomic.Int64
		d := run(t, q, 1, func(context.Context, Item[string, int]) Result {
			acted.Add(1)
			return actionDone
		})
		synctest.Wait()
		require.PanicsWithValue(t, "read", func() { d.View(func() { panic("read") }) })
		require.PanicsWithValue(t, "change", func() {
			d.Update(func() {
				q.Add("a", 0, time.Now())
				panic("change")
			})
		})
		synctest.Wait()
		require.Equal(t, int64(1), acted.Load(), "what has changed before the panic is seen")
	})
}

// The lock is taken for each heartbeat of each node.
func TestUpdateAndViewAllocateNothing(t *testing.T) {
	q := queueNow(t, unlimited)
	act := func(context.Context, Item[string, int]) Result { return actionDone }
	d, err := NewDispatcher(q, act, DispatcherConfig{})
	require.NoError(t, err)
	length := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		d.Update(func() { length += q.Len() })
		d.View(func() { length += q.Len() })
	}))
}

func TestDispatcherReachesRatesAboveItsShortestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted atomic.Int64
		q := queueNow(t, limited(10_000, 0))
		d := run(t, q, 4, func(context.Context, Item[string, int]) Result {
			acted.Add(1)
			return actionDone
		})
		d.Update(func() {
			for i := range 20_000 {
				q.Add(fmt.Sprint(i), 0, time.Now())
			}
		})
		sleep(time.Second)
		require.InDelta(t, 10_000, acted.Load(), 10)
	})
}

func TestQ10EachShareKeepsItsRateUnderADispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := NewQueue(zoneConfig{Budgets: []zoneBudget{perZone(1, 1)}}, time.Now())
		require.NoError(t, err)
		acted := map[string]int{}
		d := run(t, q, 1, func(_ context.Context, item zoneItem) Result {
			acted[item.Key[:1]]++
			return actionDone
		})
		d.Update(func() {
			q.SetLimit(time.Now(), "zone", "fast", 7)
			q.SetLimit(time.Now(), "zone", "held", 0)
			q.SetLimit(time.Now(), "zone", "open", rate.Inf)
			for i := range 200 {
				for _, zone := range []string{"held", "slow", "fast", "open"} {
					q.Add(fmt.Sprint(zone, i), in(zone), time.Now())
				}
			}
		})
		sleep(10*time.Second + time.Millisecond)
		require.Equal(t, map[string]int{"s": 11, "f": 71, "o": 200}, acted)
	})
}

// UpdateIf wakes the dispatcher only when the change asks for that.
func TestUpdateIfWakesWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &countingCore{Core: queueNow(t, unlimited)}
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result { return actionDone })
		synctest.Wait()
		looks := core.nexts.Load()
		changed := 0
		for range 100 {
			d.UpdateIf(func() bool {
				changed++
				return false
			})
			synctest.Wait()
		}
		require.Equal(t, 100, changed)
		require.Equal(t, looks, core.nexts.Load())
		d.UpdateIf(func() bool { return true })
		synctest.Wait()
		require.Equal(t, looks+1, core.nexts.Load())
	})
}
