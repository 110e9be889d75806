package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Random schedules of a Scheduler with budgets against the reference. One that fails
// is replayed with -run TestSchedulerAgainstReference/seed=N, and tells its steps.
//
// In every second seed times and rates are fractions of two, which add up without loss:
// what is handed out is known exactly. In the others they are odd, and what has a
// token to within a millionth may go or stay.
func TestSchedulerAgainstReference(t *testing.T) {
	seeds := 4000
	if testing.Short() {
		seeds = 500
	}
	reached, ran := map[string]int{}, 0
	for seed := range seeds {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			b := newBusiness(t, uint64(seed), reached)
			for range 80 {
				b.step()
				b.check()
			}
			b.end()
			ran++
		})
		if !ok {
			return
		}
	}
	t.Log(reached)
	if ran < seeds {
		return // a replay
	}
	for _, what := range []string{
		"Evicted", "AlreadyGone", "NotDue", "Failed", "Blocked", "Unmarked", "Outcome(99)",
		"set", "set while it waits", "set during the action", "set again during the action", "earlier", "later",
		"value changes without a token", "removed", "removed during the action", "second finish", "retry", "CalledOff",
		"held", "released", "no token", "overtaken for want of a token", "by rank", "by place",
		"restart", "clock set back", "slept", "window",
	} {
		require.Greater(t, reached[what], seeds/6, what)
	}
}

// A business is a Scheduler, the reference, and what has happened to both.
type business struct {
	*testing.T
	random    *rand.Rand
	scheduler *eviction.Scheduler[string, workload]
	naive     *naive
	epoch     time.Time
	now       time.Time
	odd       bool
	unit      time.Duration
	tasks     map[int]eviction.Task[string, workload] // by their number in the reference
	done      []eviction.Task[string, workload]
	log       []string
	reached   map[string]int
}

func newBusiness(t *testing.T, seed uint64, reached map[string]int) *business {
	b := &business{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), now: at(0), odd: seed%2 == 1, unit: 125 * time.Millisecond, reached: reached,
	}
	if b.odd {
		b.unit = 123_456_789
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range b.log {
				t.Log(line)
			}
		}
	})
	b.restart()
	return b
}

func (b *business) say(format string, args ...any) {
	b.log = append(b.log, fmt.Sprintf("%8.3f ", b.now.Sub(at(0)).Seconds())+fmt.Sprintf(format, args...))
}

func (b *business) chance(percent int) bool { return b.random.IntN(100) < percent }

func choose[T any](b *business, from ...T) T { return from[b.random.IntN(len(from))] }

func (b *business) rate() rate.Limit {
	if b.odd {
		return choose[rate.Limit](b, 0.3, 0.7, 1.1, 3.3, rate.Inf)
	}
	return choose[rate.Limit](b, 0.25, 0.5, 1, 2, rate.Inf)
}

// restart begins anew, with the keys that were known.
func (b *business) restart() {
	b.epoch = b.now
	ranked := b.chance(60)
	next := &naive{ranked: ranked, retry: 250 * time.Millisecond, now: b.now}
	config := eviction.SchedulerConfig[workload]{Retry: timedqueue.Backoff{First: next.retry, Max: naiveMax}}
	if ranked {
		config.First = byRank
	}
	for _, budget := range []eviction.BudgetOf[workload]{{Name: "overall"}, {Name: "cap"}, byCluster(0, 0), byTeam(0, 0)} {
		if b.chance(30) {
			continue
		}
		budget.Limit, budget.Burst = b.rate(), b.random.IntN(4)
		config.Budgets = append(config.Budgets, budget)
		next.budgets = append(next.budgets, &naiveBudget{
			name: budget.Name, of: budget.Of, limit: budget.Limit, burst: max(budget.Burst, 1), shares: map[string]*naiveShare{},
		})
	}
	scheduler, err := eviction.NewScheduler[string](config, b.now)
	require.NoError(b, err)
	b.say("restart: ranked=%v", ranked)
	for _, budget := range config.Budgets {
		b.say("    budget %s: %v a second, burst %d", budget.Name, budget.Limit, budget.Burst)
	}
	if b.naive != nil {
		b.window()
		for _, k := range b.naive.keys {
			next.set(k.name, k.value, k.due)
			scheduler.Set(b.now, k.name, k.value, k.due)
		}
	}
	b.naive, b.scheduler, b.tasks, b.done = next, scheduler, map[int]eviction.Task[string, workload]{}, nil
	b.reached["restart"]++
}

func (b *business) step() {
	switch n := b.random.IntN(100); {
	case n < 15:
		b.pass()
	case n < 40:
		b.set()
	case n < 46:
		b.remove()
	case n < 66:
		b.start()
	case n < 84:
		b.finish()
	case n < 90:
		b.setLimit()
	case n < 98:
		b.sleep()
	case n < 99:
		b.restart()
	default:
		b.reached["clock set back"]++
		_, _ = b.scheduler.Next(b.now.Add(-time.Duration(b.random.IntN(100)) * time.Second))
	}
}

func (b *business) pass() {
	b.now = b.now.Add(time.Duration(b.random.IntN(12)) * b.unit)
	b.naive.now = b.now
	_, _ = b.scheduler.Next(b.now)
}

func (b *business) name() string { return fmt.Sprintf("k%d", b.random.IntN(9)) }

func (b *business) set() {
	name := b.name()
	if i := slices.IndexFunc(b.naive.keys, func(k *naiveKey) bool { return k.removed }); i >= 0 && b.chance(35) {
		name = b.naive.keys[i].name
	}
	value := workload{cluster: choose(b, "x", "y", "z"), team: choose(b, "t", "u"), rank: b.random.IntN(3)}
	due := b.now.Add(time.Duration(b.random.IntN(16)-8) * b.unit).Truncate(choose(b, b.unit, 8*b.unit))
	k := b.naive.find(name)
	if k != nil && b.chance(50) {
		due = k.due
	}
	switch {
	case k == nil:
		b.reached["set"]++
	case k.acting != 0 && k.removed:
		b.reached["set again during the action"]++
	case k.acting != 0:
		b.reached["set during the action"]++
	default:
		b.reached["set while it waits"]++
		if due.Before(k.due) {
			b.reached["earlier"]++
		}
		if due.After(k.due) {
			b.reached["later"]++
		}
		if value != k.value && !k.at().After(b.now) {
			b.reached["value changes without a token"]++
		}
	}
	b.say("set %s %v at %v", name, value, due.Sub(at(0)))
	b.naive.set(name, value, due)
	b.scheduler.Set(b.now, name, value, due)
}

func (b *business) remove() {
	name := b.name()
	b.say("remove %s", name)
	if k := b.naive.find(name); k != nil && k.acting != 0 && !k.removed {
		b.reached["removed during the action"]++
	}
	was := b.naive.remove(name)
	if was {
		b.reached["removed"]++
	}
	require.Equal(b, was, b.scheduler.Remove(name))
}

// start hands out some or all that can go now.
func (b *business) start() {
	for range choose(b, 1, 2, 100) {
		if !b.startOne() {
			return
		}
	}
}

const tolerance = 1e-6

func (b *business) startOne() bool {
	sure := b.naive.ready(b.epoch, 1)
	possible := sure
	if b.odd {
		sure, possible = b.naive.ready(b.epoch, 1+tolerance), b.naive.ready(b.epoch, 1-tolerance)
	}
	task, ok := b.scheduler.Start(b.now)
	if !ok {
		if len(sure) > 0 {
			require.Fail(b, "starved", "%s can go", sure[0].name)
		}
		b.countWaiting()
		return false
	}
	b.say("start %s", task.Key)
	i := slices.IndexFunc(possible, func(k *naiveKey) bool { return k.name == task.Key })
	require.GreaterOrEqual(b, i, 0, "%s was handed out, and should not be", task.Key)
	k := possible[i]
	for _, other := range sure {
		if b.naive.goesBefore(other, k) {
			require.Fail(b, "out of order", "%s goes before %s", other.name, k.name)
		}
	}
	b.countOrder(k, sure)
	if k.value != task.Value || k.tries != task.Tries || !task.Due.Equal(k.at()) || !task.At.Equal(b.now) {
		require.Fail(b, "another task", "%+v, want %+v", task, k)
	}
	if !k.retryAt.IsZero() {
		b.reached["retry"]++
	}
	b.naive.start(k, b.epoch)
	b.tasks[k.acting] = task
	return true
}

func (b *business) countOrder(k *naiveKey, ready []*naiveKey) {
	for _, other := range ready {
		switch {
		case other == k || !other.at().Equal(k.at()):
		case b.naive.ranked && other.value.rank != k.value.rank:
			b.reached["by rank"]++
		default:
			b.reached["by place"]++
		}
	}
	for _, other := range b.naive.keys {
		if other.acting == 0 && b.naive.goesBefore(other, k) {
			b.reached["overtaken for want of a token"]++
			return
		}
	}
}

func (b *business) countWaiting() {
	for _, k := range b.naive.keys {
		if k.acting == 0 && !k.at().After(b.now) {
			b.reached["no token"]++
			return
		}
	}
}

func (b *business) finish() {
	outcomes := []eviction.Outcome{
		eviction.Evicted, eviction.Evicted, eviction.AlreadyGone, eviction.NotDue, eviction.Failed, eviction.Failed,
		eviction.Blocked, eviction.Blocked, eviction.Unmarked, 99,
	}
	report := eviction.Report{Outcome: choose(b, outcomes...), Wait: choose(b, 0, 0, 0, -time.Second, 3*b.unit, 20*b.unit)}
	if len(b.done) > 0 && b.chance(20) {
		b.reached["second finish"]++
		b.scheduler.Finish(b.now, choose(b, b.done...), report)
	}
	var acting []*naiveKey
	for _, k := range b.naive.keys {
		if k.acting != 0 {
			acting = append(acting, k)
		}
	}
	if len(acting) == 0 {
		return
	}
	k := choose(b, acting...)
	task := b.tasks[k.acting]
	b.say("finish %s: %v", k.name, report)
	b.reached[report.Outcome.String()]++
	b.naive.finish(k, report)
	b.scheduler.Finish(b.now, task, report)
	b.done = append(b.done, task)
}

func (b *business) setLimit() {
	if len(b.naive.budgets) == 0 {
		require.False(b, b.scheduler.SetLimit(b.now, "overall", "", 1))
		return
	}
	budget := choose(b, b.naive.budgets...)
	key := choose(b, "x", "y", "z", "t", "u")
	share := budget.share(key, b.epoch)
	limit := b.rate()
	if share.limit() != 0 && b.chance(60) {
		limit = 0
	}
	switch {
	case limit == 0:
		b.reached["held"]++
	case share.limit() == 0:
		b.reached["released"]++
	}
	b.say("limit %s of %s: %v", key, budget.name, limit)
	share.events = append(share.events, naiveEvent{at: b.now, limit: limit})
	require.True(b, b.scheduler.SetLimit(b.now, budget.name, key, limit))
}

// sleep does as a dispatcher does until something is handed out: it looks again when
// the scheduler says. It must not have to look often.
func (b *business) sleep() {
	for range len(b.naive.keys) + 3 {
		if b.startOne() {
			b.reached["slept"]++
			return
		}
		due, some := b.naive.next(b.epoch)
		next, ok := b.scheduler.Next(b.now)
		if !ok {
			require.False(b, some, "it sleeps for ever, and something is due at %v", due)
			return
		}
		require.True(b, next.After(b.now), "it does not sleep")
		if some {
			require.False(b, next.After(due.Add(time.Microsecond)), "it sleeps until %v, and something is due at %v", next, due)
		}
		for b.now.Before(next) {
			b.now = b.now.Add(b.unit)
			if b.now.Sub(at(0)) > 1000*time.Hour {
				require.Fail(b, "it sleeps too long", "%v", next)
			}
		}
		b.naive.now = b.now
		b.say("slept")
	}
	if _, some := b.naive.next(b.epoch); some {
		require.Fail(b, "it wakes up again and again, and starts nothing")
	}
}

// check compares all that the scheduler says with the reference.
func (b *business) check() {
	want := map[string]time.Time{}
	for _, k := range b.naive.keys {
		if k.acting != 0 {
			off := b.tasks[k.acting].CalledOff()
			if k.off != off {
				require.Equal(b, k.off, off, "%s is called off", k.name)
			}
			if off {
				b.reached["CalledOff"]++
			}
		}
		if !k.removed {
			want[k.name] = k.at()
		}
	}
	require.Equal(b, len(want), b.scheduler.Len())
	for key, due := range b.scheduler.All() {
		if at, known := want[key]; !known || !at.Equal(due) {
			require.Fail(b, "another list", "%s at %v, want %v", key, due, at)
		}
		delete(want, key)
	}
	require.Empty(b, want)
}

// window checks that no share had more starts in any window than it may.
func (b *business) window() {
	for _, budget := range b.naive.budgets {
		for key, share := range budget.shares {
			checked, excess := share.windows()
			require.LessOrEqual(b, excess, tolerance, "more starts of %s of %s in a window than its burst and its rate", key, budget.name)
			b.reached["window"] += checked
		}
	}
}

// end finishes and removes everything.
func (b *business) end() {
	b.window()
	for _, k := range slices.Clone(b.naive.keys) {
		if k.acting != 0 {
			b.scheduler.Finish(b.now, b.tasks[k.acting], eviction.Report{Outcome: choose(b, eviction.Evicted, eviction.Failed, eviction.Blocked)})
		}
		b.scheduler.Remove(k.name)
	}
	_, ok := b.scheduler.Next(b.now.Add(1e6 * time.Hour))
	require.False(b, ok)
	require.Zero(b, b.scheduler.Len())
}
