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

type (
	dispatcher = Dispatcher[Item[string, int], Result]
	action     = func(context.Context, Item[string, int]) Result
)

// run starts a dispatcher around core in the bubble of the test and stops it at
// the test's end; a bubble that still has a goroutine then fails.
func run(t *testing.T, core Core[Item[string, int], Result], workers int, act action) *dispatcher {
	t.Helper()
	d, err := NewDispatcher(DispatcherConfig[Item[string, int], Result]{Core: core, Act: act, Workers: workers})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return d
}

// queueNow returns a queue that was made at the bubble's now.
func queueNow(t *testing.T, config Config) *Queue[string, int] {
	t.Helper()
	q, err := New[string, int](config, time.Now())
	require.NoError(t, err)
	return q
}

// sleep lets the bubble's time pass and what becomes due then happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// countingCore counts how often the dispatcher looks.
type countingCore struct {
	Core[Item[string, int], Result]
	starts, nexts atomic.Int64
}

func (c *countingCore) Start(now time.Time) (Item[string, int], bool) {
	c.starts.Add(1)
	return c.Core.Start(now)
}

func (c *countingCore) Next(now time.Time) (time.Time, bool) {
	c.nexts.Add(1)
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
			return Result{}
		})
		d.Lock()
		q.Add("blocking", 0, time.Now())
		q.Add("gone", 0, time.Now())
		d.Unlock()
		synctest.Wait() // the action blocks

		began := time.Now()
		d.Lock()
		require.True(t, q.Add("later", 0, time.Now()))
		require.True(t, q.Remove("gone"))
		require.True(t, q.Remove("blocking"))
		require.True(t, q.Add("blocking", 1, time.Now()))
		q.SetLimit(time.Now(), 5)
		d.Unlock()
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
				return Result{}
			})
			d.Lock()
			for i := range items {
				q.Add(fmt.Sprint(i), 0, time.Now())
			}
			d.Unlock()
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
		g, err := NewGroup[int, string, int](unlimited, time.Now())
		require.NoError(t, err)
		var acting sync.Map
		var total, twice atomic.Int64
		d := run(t, g, 8, func(_ context.Context, item Item[string, int]) Result {
			if _, also := acting.LoadOrStore(item.Key, true); also {
				twice.Add(1)
			}
			total.Add(1)
			time.Sleep(time.Duration(1+len(item.Key)*item.Value%7) * time.Millisecond)
			acting.Delete(item.Key)
			return Result{Outcome: Outcome(item.Value % 3), Wait: time.Millisecond}
		})
		var callers sync.WaitGroup
		for caller := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			callers.Go(func() {
				for i := range 3000 {
					key := fmt.Sprint(random.IntN(12))
					d.Lock()
					switch random.IntN(4) {
					case 0:
						g.Remove(key)
					case 1:
						g.Move(key, random.IntN(3))
					default:
						g.Add(random.IntN(3), key, i, time.Now())
					}
					d.Unlock()
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
		d := run(t, q, 4, func(context.Context, Item[string, int]) Result { return Result{} })
		synctest.Wait()
		before := runtime.NumGoroutine()
		d.Lock()
		for i := range 20_000 {
			q.Add(fmt.Sprint(i), 0, time.Now().Add(time.Hour+time.Duration(i)))
		}
		d.Unlock()
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
			if item.Key == "failing" && item.Tries < 3 {
				return Result{Outcome: Failed}
			}
			return Result{}
		})
		d.Lock()
		q.Add("failing", 0, began)
		q.Add("b", 0, began)
		q.Add("c", 0, began.Add(1500*time.Millisecond))
		d.Unlock()
		sleep(time.Minute)
		require.Equal(t, []string{
			"failing at 0s", "b at 0s", "failing at 1s", "c at 1.5s", "failing at 3s", "failing at 7s",
		}, order)
	})
}

// demand.md, timedqueue: upstream looks at every zone's queue each 100 ms.
func TestQ9DispatcherSleepsUntilTheNextThing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted []time.Duration
		began := time.Now()
		core := &countingCore{Core: nil}
		q := queueNow(t, Config{Limit: 0.1})
		core.Core = q
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
			acted = append(acted, time.Since(began))
			return Result{}
		})
		synctest.Wait()
		require.Equal(t, int64(1), core.starts.Load(), "one look at the empty queue")
		d.Lock()
		q.Add("a", 0, began.Add(37*time.Minute))
		q.Add("b", 0, began.Add(37*time.Minute))
		d.Unlock()
		sleep(38 * time.Minute)
		require.Equal(t, []time.Duration{37 * time.Minute, 37*time.Minute + 10*time.Second}, acted)
		// At the start, after Unlock, and for each item when it starts, right after
		// while the worker is busy or has just ended, and at its end.
		require.LessOrEqual(t, core.starts.Load(), int64(2+2*3))
		require.LessOrEqual(t, core.nexts.Load(), core.starts.Load())

		looks := core.starts.Load()
		sleep(24 * time.Hour)
		require.LessOrEqual(t, core.starts.Load()-looks, int64(24), "an idle dispatcher does not poll")
	})
}

func TestQ9SleepsThroughATimeWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted atomic.Int64
		core := &countingCore{}
		q := queueNow(t, Config{})
		core.Core = q
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result { acted.Add(1); return Result{} })
		d.Lock()
		q.Add("a", 0, time.Now())
		d.Unlock()
		sleep(30 * time.Minute)
		require.Zero(t, acted.Load())
		require.LessOrEqual(t, core.starts.Load(), int64(2))
		d.Lock()
		q.SetLimit(time.Now(), 1)
		d.Unlock()
		synctest.Wait()
		require.Equal(t, int64(1), acted.Load())
	})
}

func TestQ9DoesNotLookWhileAllWorkersAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &countingCore{}
		q := queueNow(t, unlimited)
		core.Core = q
		d := run(t, core, 1, func(context.Context, Item[string, int]) Result {
			time.Sleep(time.Hour)
			return Result{}
		})
		d.Lock()
		for i := range 100 {
			q.Add(fmt.Sprint(i), 0, time.Now().Add(time.Duration(i)*time.Second))
		}
		d.Unlock()
		synctest.Wait()
		looks := core.starts.Load()
		sleep(59 * time.Minute)
		require.Equal(t, looks, core.starts.Load())
	})
}

func TestUnlockWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		acted := make(chan string, 10)
		q := queueNow(t, unlimited)
		d := run(t, q, 2, func(_ context.Context, item Item[string, int]) Result {
			acted <- fmt.Sprint(item.Key, " at ", time.Since(began))
			return Result{}
		})
		d.Lock()
		q.Add("late", 0, began.Add(time.Hour))
		d.Unlock()
		sleep(time.Second)
		d.Lock()
		q.Add("now", 0, time.Now())
		d.Unlock()
		synctest.Wait()
		require.Equal(t, "now at 1s", <-acted)
		d.Lock()
		q.Reschedule("late", began.Add(2*time.Second))
		d.Unlock()
		sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "late at 2s", <-acted)
		d.Lock()
		d.Unlock() //nolint:staticcheck // an Unlock without a change only makes it look
		synctest.Wait()
		require.Empty(t, acted)
	})
}

func TestDispatcherReachesRatesAboveItsShortestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted atomic.Int64
		q := queueNow(t, Config{Limit: 10_000})
		d := run(t, q, 4, func(context.Context, Item[string, int]) Result { acted.Add(1); return Result{} })
		d.Lock()
		for i := range 20_000 {
			q.Add(fmt.Sprint(i), 0, time.Now())
		}
		d.Unlock()
		sleep(time.Second)
		require.InDelta(t, 10_000, acted.Load(), 10)
	})
}

func TestGroupUnderADispatcherKeepsEachRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := NewGroup[string, string, int](Config{Limit: 1}, time.Now())
		require.NoError(t, err)
		acted := map[string]int{}
		d := run(t, g, 1, func(_ context.Context, item Item[string, int]) Result {
			acted[item.Key[:1]]++
			return Result{}
		})
		d.Lock()
		g.SetLimit(time.Now(), "fast", 7)
		g.SetLimit(time.Now(), "held", 0)
		g.SetLimit(time.Now(), "open", rate.Inf)
		for i := range 200 {
			for _, zone := range []string{"held", "slow", "fast", "open"} {
				g.Add(zone, fmt.Sprint(zone, i), 0, time.Now())
			}
		}
		d.Unlock()
		sleep(10*time.Second + time.Millisecond)
		require.Equal(t, map[string]int{"s": 11, "f": 71, "o": 200}, acted)
	})
}
