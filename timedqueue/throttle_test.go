package timedqueue

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// kindOf is a kind whose tasks are its name.
func kindOf(
	name string, reserved float64, cost, tasks int, due time.Time,
) (Kind, *supply) {
	source := &supply{name, tasks, due}
	return Kind{Name: name, Source: jobsOf(source), Reserved: reserved, Cost: cost}, source
}

// jobsOf are the tasks of a source, as jobs that end makes spend less.
func jobsOf[T any](source Source[T]) Source[Job] {
	return Jobs(unheeding[T]{source}, func(ctx context.Context, _ T) unspent {
		unused, _ := ctx.Value(unusedKey{}).(int)
		return unspent(unused)
	})
}

// unheeding is a core that takes no results.
type unheeding[T any] struct{ Source[T] }

func (unheeding[T]) Finish(time.Time, T, unspent) {}

// unspent is how many tokens a task has not spent.
type unspent int

func (u unspent) Unspent(int) int { return int(u) }

type unusedKey struct{}

// end ends a job that has not spent so many tokens.
func end(job Job, now time.Time, unused int) {
	job.Perform(context.WithValue(context.Background(), unusedKey{}, unused))
	job.Finish(now)
}

func newTestThrottle(t *testing.T, limit rate.Limit, burst int, kinds ...Kind) *Throttle {
	t.Helper()
	config := ThrottleConfig{Limit: limit, Burst: burst, Kinds: kinds}
	throttle, err := NewThrottle(config, seconds(0))
	require.NoError(t, err)
	return throttle
}

// startTasks starts all that can start now, each of which spends what it may.
func startTasks(throttle *Throttle, now time.Time) (names string, jobs []Job) {
	for job, ok := throttle.Start(now); ok; job, ok = throttle.Start(now) {
		names, jobs = names+job.Task().(string), append(jobs, job)
	}
	return names, jobs
}

func TestThrottleLimitsWhatItsSourcesSpendTogether(t *testing.T) {
	a, _ := kindOf("a", 0, 0, 3, seconds(0))
	b, _ := kindOf("b", 0, 0, 9, seconds(0))
	throttle := newTestThrottle(t, 2, 5, a, b)
	names, _ := startTasks(throttle, seconds(0))
	require.Equal(t, "aaabb", names)
	next, ok := throttle.Next(seconds(0))
	require.True(t, ok)
	require.Equal(t, seconds(0.5), next)
	names, _ = startTasks(throttle, seconds(0.4))
	require.Empty(t, names)
	names, _ = startTasks(throttle, seconds(1))
	require.Equal(t, "bb", names)
}

// Issue 13: after a suspension sources were told a time of day that was late,
// and wrote it to objects. A time zone stands for what arithmetic loses.
func TestThrottleTellsItsSourcesTheTimeThatItIsTold(t *testing.T) {
	zone := time.FixedZone("elsewhere", 3600)
	var told []string
	source := SourceOf(func(now time.Time) (string, bool) {
		told = append(told, now.String())
		return "task", true
	}, func(now time.Time) (time.Time, bool) { return now, true })
	throttle := newTestThrottle(t, 1, 10, Kind{Name: "a", Source: jobsOf(source)})
	now := seconds(5).In(zone)
	for _, at := range []time.Time{now, now, seconds(4).In(zone)} {
		_, ok := throttle.Start(at)
		require.True(t, ok)
	}
	require.Equal(t, []string{now.String(), now.String(), seconds(5).String()}, told)
}

func TestQ12ThrottleKeepsReservedParts(t *testing.T) {
	flood, _ := kindOf("f", 0, 0, 1000, seconds(0))
	small, _ := kindOf("s", 0.1, 0, 1000, seconds(0))
	middle, _ := kindOf("m", 0.3, 0, 1000, seconds(0))
	names, _ := startTasks(newTestThrottle(t, 1, 100, flood, small, middle), seconds(0))
	counts := map[rune]int{}
	for _, name := range names {
		counts[name]++
	}
	require.Equal(t, map[rune]int{'f': 60, 's': 10, 'm': 30}, counts)
}

// What is reserved for no kind goes to the first kinds that have a task, also if
// they have parts.
func TestQ12TheRestGoesByTheOrderOfTheKinds(t *testing.T) {
	for want, kinds := range map[string]struct{ a, b, c, d int }{
		"a50 b25 c25 ":     {a: 1000, b: 1000, c: 1000, d: 1000},
		"a50 b25 c15 d10 ": {a: 1000, b: 1000, c: 15, d: 1000},
		"a75 b25 ":         {a: 1000, b: 1000},
		"b60 d40 ":         {b: 60, d: 1000}, // no token idles for a, which has no task
	} {
		a, _ := kindOf("a", 0.5, 0, kinds.a, seconds(0))
		b, _ := kindOf("b", 0.25, 0, kinds.b, seconds(0))
		c, _ := kindOf("c", 0, 0, kinds.c, seconds(0))
		d, _ := kindOf("d", 0, 0, kinds.d, seconds(0))
		order := []Kind{c, d, a, b}
		if kinds.c == 0 {
			order = []Kind{a, b, c, d}
		}
		if kinds.a == 0 {
			order = []Kind{b, a, d, c}
		}
		names, _ := startTasks(newTestThrottle(t, 1, 100, order...), seconds(0))
		got := ""
		for _, name := range "abcd" {
			if n := strings.Count(names, string(name)); n > 0 {
				got += fmt.Sprintf("%c%d ", name, n)
			}
		}
		require.Equal(t, want, got)
	}
}

// A kind that was alone for an hour does not wait for an hour when others come.
func TestQ12KindThatUsedTokensOfOthersDoesNotOweThem(t *testing.T) {
	a, first := kindOf("a", 0.5, 0, 1000, seconds(0))
	b, second := kindOf("b", 0.5, 0, 0, seconds(0))
	throttle := newTestThrottle(t, 10, 10_000, a, b)
	names, _ := startTasks(throttle, seconds(0))
	require.Len(t, names, 1000)
	first.left, second.left = 1000, 1000
	names = ""
	for range 20 {
		job, ok := throttle.Start(seconds(0))
		require.True(t, ok)
		names += job.Task().(string)
	}
	require.InDelta(t, 10, strings.Count(names, "a"), 1)
}

// Each kind has its part of the tokens at any time, less one. With a rule that
// serves the kind that is furthest behind, a would lack 1.1 after 150 of these
// tokens.
func TestQ12NoPartIsEverMoreThanATokenBehind(t *testing.T) {
	parts := map[string]float64{"a": 0.214, "b": 0.059, "c": 0.721, "d": 0.003, "e": 0.003}
	var kinds []Kind
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		kind, _ := kindOf(name, parts[name], 0, 300, seconds(0))
		kinds = append(kinds, kind)
	}
	throttle := newTestThrottle(t, 1, 300, kinds...)
	started := map[string]int{}
	for tokens := 1; tokens <= 300; tokens++ {
		job, ok := throttle.Start(seconds(0))
		require.True(t, ok)
		started[job.Task().(string)]++
		for kind, part := range parts {
			require.GreaterOrEqual(t, float64(started[kind]), part*float64(tokens)-1-1e-9,
				"kind %s after %d tokens", kind, tokens)
		}
	}
}

// The items of a queue that its own budget holds have no part of the tokens.
// From the time at which they can start, they have it.
func TestQ12WorkThatABudgetHoldsHasNoPart(t *testing.T) {
	config := testConfig{Budgets: []testBudget{{Name: "share", Limit: rate.Inf,
		ShareOf: func(string, int) string { return "s" }}}}
	reserved := newTestQueue(t, config)
	others := newTestQueue(t, testConfig{})
	for _, key := range manyKeys(100) {
		reserved.Add("a "+key, 0, at(0))
		others.Add("b "+key, 0, at(0))
	}
	throttle, err := NewThrottle(ThrottleConfig{
		Limit: 10, Burst: 10, Kinds: []Kind{
			{Name: "others", Source: jobsOf(others)},
			{Name: "reserved", Source: jobsOf(reserved), Reserved: 0.5},
		},
	}, epoch)
	require.NoError(t, err)
	started := func(now time.Time) map[string]int {
		kinds := map[string]int{}
		for job, ok := throttle.Start(now); ok; job, ok = throttle.Start(now) {
			kinds[job.Task().(Item[string, int]).Key[:1]]++
		}
		return kinds
	}
	reserved.SetLimit(at(0), "share", "s", 0)
	require.Equal(t, map[string]int{"b": 10}, started(at(0)))
	reserved.SetLimit(at(0), "share", "s", rate.Inf)
	require.Equal(t, map[string]int{"a": 5, "b": 5}, started(at(time.Second)))
}

// Cheap tasks of another kind take each token as soon as it is earned. Each
// second token, from the first on, is saved up for the expensive task.
func TestQ12ThrottleSavesUpForAnExpensiveTask(t *testing.T) {
	cheap, _ := kindOf("c", 0, 0, 1000, seconds(0))
	expensive, _ := kindOf("E", 0.5, 4, 1000, seconds(0))
	throttle := newTestThrottle(t, 1, 1, cheap, expensive)
	names := ""
	for second := range 33 {
		started, _ := startTasks(throttle, seconds(float64(second)))
		names += started
	}
	require.Equal(t, "cccEccccEccccEccccE", names[:19])
}

func TestThrottleReturnsWhatATaskDidNotSpend(t *testing.T) {
	expensive, source := kindOf("E", 0, 3, 2, seconds(0))
	throttle := newTestThrottle(t, 0.001, 6, expensive)
	names, jobs := startTasks(throttle, seconds(0))
	require.Equal(t, "EE", names)
	source.left = 9
	end(jobs[0], seconds(1), 2)
	names, _ = startTasks(throttle, seconds(1))
	require.Empty(t, names, "two tokens came back, three are needed")
	end(jobs[1], seconds(2), -1)
	names, _ = startTasks(throttle, seconds(999))
	require.Empty(t, names)
	names, jobs = startTasks(throttle, seconds(1000))
	require.Equal(t, "E", names)
	end(jobs[0], seconds(1000), 4) // more than it had
	names, _ = startTasks(throttle, seconds(1000))
	require.Equal(t, "E", names, "all came back")
}

// What a kind has saved up is not lost with its last task.
func TestThrottleReturnsWhatIsSavedUpForATaskThatIsGone(t *testing.T) {
	expensive, source := kindOf("E", 1, 3, 1, seconds(0))
	cheap, _ := kindOf("c", 0, 0, 5, seconds(1))
	throttle := newTestThrottle(t, 0.001, 2, expensive, cheap)
	names, _ := startTasks(throttle, seconds(0))
	require.Empty(t, names)
	source.left = 0
	names, _ = startTasks(throttle, seconds(1))
	require.Equal(t, "cc", names)
}

// Work that comes after its kind has given up savings starts as early as under
// a new throttle: it does not owe them.
func TestQ12ThrottleBeginsAgainAfterSavingsAreReturned(t *testing.T) {
	expensive, source := kindOf("E", 0.1, 2, 1, seconds(0))
	cheap, others := kindOf("c", 0, 0, 1000, seconds(0))
	untilStarted := func(throttle *Throttle) (before int) {
		for task := any(""); task != "E"; before++ {
			job, ok := throttle.Start(seconds(0))
			require.True(t, ok)
			task = job.Task()
		}
		return before - 1
	}
	fresh := untilStarted(newTestThrottle(t, 1, 100, cheap, expensive))
	source.left = 1
	throttle := newTestThrottle(t, 1, 100, cheap, expensive)
	throttle.Start(seconds(0)) // one token is saved up, then another kind starts
	source.left, others.left = 0, 0
	throttle.Start(seconds(0))
	source.left, others.left = 1, 1000
	require.Equal(t, fresh, untilStarted(throttle))
}

// A source's Next may be too early.
func TestThrottleTakesNothingForASourceWithoutATask(t *testing.T) {
	vain := Kind{Name: "vain", Reserved: 1, Source: jobsOf(SourceOf(
		func(now time.Time) (string, bool) { return "v", now.After(seconds(1000)) },
		func(now time.Time) (time.Time, bool) { return now, true },
	))}
	cheap, _ := kindOf("c", 0, 0, 5, seconds(0))
	throttle := newTestThrottle(t, 0.001, 2, vain, cheap)
	names, _ := startTasks(throttle, seconds(0))
	require.Equal(t, "cc", names)
	for at, want := range map[float64]string{1000: "c", 2000: "v"} {
		job, ok := newTestThrottle(t, 0.001, 2, vain, cheap).Start(seconds(at))
		require.True(t, ok)
		require.Equal(t, want, job.Task())
	}
	job, ok := throttle.Start(seconds(2000))
	require.True(t, ok)
	require.Equal(t, "v", job.Task(), "it is asked again")
}

// The Start of a source may give another one a task: a core may compute its
// tasks only then.
func TestThrottleAsksAgainAfterASourceWithoutATask(t *testing.T) {
	cheap, supplied := kindOf("c", 0, 0, 0, seconds(0))
	asked := 0
	finder := Kind{Name: "finder", Source: jobsOf(SourceOf(
		func(time.Time) (string, bool) {
			asked++
			supplied.left = 2
			return "not a task", false
		},
		func(now time.Time) (time.Time, bool) { return now, asked == 0 },
	))}
	names, _ := startTasks(newTestThrottle(t, 0.001, 2, finder, cheap), seconds(0))
	require.Equal(t, "cc", names)
}

func TestThrottleNext(t *testing.T) {
	a, _ := kindOf("a", 0, 2, 1, seconds(10))
	throttle := newTestThrottle(t, 1, 1, a)
	next, ok := throttle.Next(seconds(0))
	require.True(t, ok)
	require.Equal(t, seconds(10), next)
	names, _ := startTasks(throttle, seconds(10))
	require.Empty(t, names, "it has one token and needs two")
	next, ok = throttle.Next(seconds(10))
	require.True(t, ok)
	require.Equal(t, seconds(11), next)
	names, _ = startTasks(throttle, seconds(11))
	require.Equal(t, "a", names)
	_, ok = throttle.Next(seconds(11))
	require.False(t, ok, "no source has a task")
}

func TestThrottleWithoutALimit(t *testing.T) {
	a, _ := kindOf("a", 0.5, 3, 5, seconds(0))
	b, _ := kindOf("b", 0, 0, 5, seconds(0))
	names, _ := startTasks(newTestThrottle(t, rate.Inf, 1, b, a), seconds(0))
	require.Len(t, names, 10)
}

func TestThrottleTimeThatGoesBackEarnsNothingTwice(t *testing.T) {
	a, _ := kindOf("a", 0, 0, 100, seconds(-1000))
	latest, supply := seconds(0), a.Source
	a.Source = SourceOf(supply.Start, func(now time.Time) (time.Time, bool) {
		require.False(t, now.Before(latest), "it is passed on")
		latest = now
		return supply.Next(now)
	})
	throttle := newTestThrottle(t, 1, 1, a)
	started := 0
	for _, second := range []float64{0, 1, 0, 1, -5, 1, 2} {
		names, _ := startTasks(throttle, seconds(second))
		started += len(names)
	}
	require.Equal(t, 3, started)
}

func TestThrottleConfigErrors(t *testing.T) {
	a, _ := kindOf("a", 0.7, -1, 0, seconds(0))
	again, _ := kindOf("a", 0.7, 0, 0, seconds(0))
	config := ThrottleConfig{Limit: -1, Burst: -1, Kinds: []Kind{
		a, again, {Name: "none"}, {Name: "no number", Source: a.Source, Reserved: math.NaN()},
	}}
	_, err := NewThrottle(config, seconds(0))
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, problem := range []string{
		"ThrottleConfig.Limit is -1, want more than zero, or rate.Inf for no limit",
		"ThrottleConfig.Burst is -1, want zero or more",
		`two kinds have the name "a", want one of each`,
		`kind "a": Cost is -1, want zero or more`,
		`kind "none": Source is nil, want a source`,
		`kind "no number": Reserved is NaN, want zero or more`,
	} {
		require.ErrorContains(t, err, problem)
	}
	_, err = NewThrottle(ThrottleConfig{Kinds: []Kind{again, {
		Name: "b", Source: a.Source, Reserved: 0.31,
	}}}, seconds(0))
	require.ErrorContains(t, err, "Reserved adds up to 1.01, want at most 1")
	_, err = NewThrottle(ThrottleConfig{Limit: 1}, time.Time{})
	require.ErrorContains(t, err, "now is zero, want the present time")
	_, err = NewThrottle(ThrottleConfig{}, seconds(0))
	require.ErrorContains(t, err, "ThrottleConfig.Limit is 0, want more than zero")
	throttle, err := NewThrottle(ThrottleConfig{Limit: rate.Inf}, seconds(0))
	require.NoError(t, err)
	_, ok := throttle.Start(seconds(0))
	require.False(t, ok)
}

// Q12: a kind whose tasks spend less than their Cost has its part all the same:
// of what is spent, not of what is taken.
func TestQ12ReturnedTokensStayWithTheirKind(t *testing.T) {
	dear, cheap := &tasks{kind: 0, left: 1000}, &tasks{kind: 1, left: 1000}
	throttle, err := NewThrottle(ThrottleConfig{Limit: 10, Kinds: []Kind{
		{Name: "dear", Source: jobsOf(dear), Reserved: 0.5, Cost: 3},
		{Name: "cheap", Source: jobsOf(cheap), Reserved: 0.5},
	}}, seconds(0))
	require.NoError(t, err)
	for tenth := range 300 {
		now := seconds(0).Add(time.Duration(tenth) * 100 * time.Millisecond)
		job, ok := throttle.Start(now)
		switch {
		case !ok:
		case job.Task() == 0:
			end(job, now, 1)
		default:
			end(job, now, 0)
		}
	}
	require.InDelta(t, 150/2, 1000-dear.left, 2, "half of the tokens, two for each")
	require.InDelta(t, 150, 1000-cheap.left, 2)

	dear.left = 1
	var job Job
	for i, task := 0, any(1); task != 0; i++ {
		var ok bool
		if job, ok = throttle.Start(seconds(float64(31 + i))); ok {
			task = job.Task()
		}
	}
	end(job, seconds(1000), 1)
	require.Zero(t, throttle.kinds[0].tokens, "it has no task for which to save")
	_, ok := throttle.Start(seconds(1001))
	require.True(t, ok)
}
