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
	parts := inParts(1000, 10, map[string]float64{"node": 0.5, "0": 0.2})
	parts.KindOf = func(key string, value int) string {
		if value%2 == 0 {
			return key[:4]
		}
		return key[len(key)-1:]
	}
	partsAndShares := parts
	partsAndShares.Budgets = append(partsAndShares.Budgets, byLast, scarce)
	for name, config := range map[string]testConfig{
		"no budget":        {},
		"a gate":           limited(1000, 1000),
		"shares":           {Budgets: []testBudget{byLast}},
		"two shares a key": {Budgets: []testBudget{byLast, byValue}},
		"scarce shares":    {Budgets: []testBudget{{Name: "all", Limit: 1000}, byValue, scarce}},
		"parts":            parts,
		"parts and shares": partsAndShares,
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
			q.Reschedule(key, at(time.Duration(i)))
			q.SetValue(key, i+1)
			q.Get(key)
			q.SetLimit(now, "all", "", rate.Limit(1000+i%2))
			q.SetLimit(now, "share", "3", rate.Limit(1000+i%2))
			if item, ok := q.Start(now); ok {
				q.SetValue(item.Key, i)
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
		"parts":   inParts(1, 1, map[string]float64{"a": 0.5}),
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
