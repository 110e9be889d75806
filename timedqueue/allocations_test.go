package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestQ7OperationsAllocateNothing(t *testing.T) {
	byLast := testBudget{Name: "share", Limit: 1000, Burst: 1000,
		ShareOf: func(key string, _ int) string { return key[len(key)-1:] }}
	byValue := testBudget{Name: "value", Limit: 1000, Burst: 1000,
		ShareOf: func(_ string, value int) string { return "0123"[value%4 : value%4+1] }}
	scarce := testBudget{Name: "scarce", Limit: 100, Burst: 3, ShareOf: byLast.ShareOf}
	oneATime := testBudget{Name: "slots", Limit: 1000, Burst: 1000, MaxActing: 1,
		ShareOf: byLast.ShareOf, HolderOf: func(key string, _ int) string { return key[len(key)-3:] }}
	kinds := limited(1000, 1000)
	kinds.Kinds, kinds.KindOf = []string{"0", "1"}, byValue.ShareOf
	for name, config := range map[string]testConfig{
		"no budget":        {},
		"a gate":           limited(1000, 1000),
		"shares":           {Budgets: []testBudget{byLast}},
		"two shares a key": {Budgets: []testBudget{byLast, byValue}},
		"scarce shares":    {Budgets: []testBudget{{Name: "all", Limit: 1000}, byValue, scarce}},
		"kinds":            kinds,
		"holders":          {Budgets: []testBudget{oneATime, scarce}},
		"less, and a share": {Budgets: []testBudget{byLast},
			Less: func(a, b int) bool { return a%3 < b%3 }},
	} {
		keys := manyKeys(10_000)
		q := newTestQueue(t, config)
		for i, key := range keys {
			q.Add(key, i, at(time.Duration(i)))
		}
		now, i := at(time.Second), 0
		round := func() {
			i++
			now = now.Add(time.Millisecond)
			key := keys[i*7919%len(keys)]
			q.Remove(key)
			q.Add(key, i, now)
			q.Set(key, i+1, at(time.Duration(i)))
			q.Retry(key)
			q.Get(key)
			q.SetLimit(now, "all", "", rate.Limit(1000+i%2))
			q.SetLimit(now, "share", "3", rate.Limit(1000+i%2))
			if item, ok := q.Start(now); ok {
				if i%3 == 0 {
					q.Set(item.Key, i, now)
				}
				q.Finish(now, item, Result{Outcome: []Outcome{OutcomeFailed, OutcomePostponed}[i%2], At: now})
			}
			q.Next(now)
		}
		for range 20_000 {
			round()
		}
		allocations := testing.AllocsPerRun(1, func() {
			for range 20_000 {
				round()
			}
		})
		// the runtime itself may make some
		require.LessOrEqual(t, allocations, 5.0, "%s, in 20,000 rounds", name)
		require.NoError(t, soundness(q))
	}
}

// A share that is empty most of the time does not allocate for each item.
func TestQ7SharesThatEmptyAllocateNothing(t *testing.T) {
	for name, config := range map[string]testConfig{
		"a share": {Budgets: []testBudget{{Limit: 1, ShareOf: func(string, int) string { return "" }}}},
		"holders": {Budgets: []testBudget{{Limit: 1, MaxActing: 1,
			HolderOf: func(key string, _ int) string { return key }}}},
	} {
		q := newTestQueue(t, config)
		now := at(0)
		started := 0
		round := func() {
			q.Add("a", 0, now)
			q.Add("b", 0, now)
			for range 4 { // the second has to wait for a token
				if item, ok := q.Start(now); ok {
					q.Finish(now, item, done)
					started++
				}
				now = now.Add(time.Second / 2)
			}
		}
		for range 100 {
			round()
		}
		require.Zero(t, testing.AllocsPerRun(1000, round), name)
		require.Equal(t, 2202, started)
	}
}
