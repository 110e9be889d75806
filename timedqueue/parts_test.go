package timedqueue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// inParts is a config whose budget reserves parts. The kind of a key is its
// text before the dash.
func inParts(limit rate.Limit, burst int, reserved map[string]float64) testConfig {
	config := limited(limit, burst)
	config.Budgets[0].Reserved = reserved
	config.KindOf = func(key string, _ int) string {
		kind, _, _ := strings.Cut(key, "-")
		return kind
	}
	return config
}

func addOfKind(q *Queue[string, int], kind string, items int, due time.Time) {
	for i := range items {
		q.Add(fmt.Sprintf("%s-%d", kind, i), i, due)
	}
}

// startKinds starts whatever can be started and counts the kinds.
func startKinds(q *Queue[string, int], now time.Time) map[string]int {
	started := map[string]int{}
	for _, key := range startAll(q, now) {
		kind, _, _ := strings.Cut(key, "-")
		started[kind]++
	}
	return started
}

// The work of one kind is far ahead in the order, and would have all tokens.
func TestQ12ReservedPartsAreKeptWhileOthersHaveMoreWork(t *testing.T) {
	q := newTestQueue(t, inParts(10, 100, map[string]float64{"small": 0.1, "middle": 0.3}))
	addOfKind(q, "flood", 1000, at(-time.Hour))
	addOfKind(q, "small", 1000, at(0))
	addOfKind(q, "middle", 1000, at(0))
	require.Equal(t, map[string]int{"small": 10, "middle": 30, "flood": 60}, startKinds(q, at(0)))
}

// What no part is reserved for gets the rest.
func TestQ12KindWithoutAPartGetsTheRest(t *testing.T) {
	q := newTestQueue(t, inParts(10, 100, map[string]float64{"a": 0.5, "b": 0.25}))
	addOfKind(q, "a", 1000, at(0))
	addOfKind(q, "b", 1000, at(0))
	addOfKind(q, "c", 1000, at(-2))
	addOfKind(q, "d", 15, at(-1))
	require.Equal(t, map[string]int{"a": 50, "b": 25, "c": 25}, startKinds(q, at(0)))
}

// The rest goes by order, also to a kind that has a part.
func TestQ12TheRestGoesByOrder(t *testing.T) {
	q := newTestQueue(t, inParts(10, 100, map[string]float64{"a": 0.5, "b": 0.25}))
	addOfKind(q, "a", 1000, at(0))
	addOfKind(q, "b", 1000, at(-1))
	addOfKind(q, "c", 1000, at(0))
	require.Equal(t, map[string]int{"a": 50, "b": 50}, startKinds(q, at(0)))
}

func TestQ12NoTokenIdlesForAKindWithoutWork(t *testing.T) {
	q := newTestQueue(t, inParts(1, 100, map[string]float64{"absent": 0.9, "present": 0.1}))
	addOfKind(q, "present", 30, at(0))
	addOfKind(q, "other", 30, at(0))
	require.Equal(t, map[string]int{"present": 30, "other": 30}, startKinds(q, at(0)))
	addOfKind(q, "other", 100, at(0))
	require.Equal(t, map[string]int{"other": 40}, startKinds(q, at(0)))
}

// A kind that was alone for an hour does not wait for an hour when others come.
func TestQ12KindThatUsedTokensOfOthersDoesNotOweThem(t *testing.T) {
	q := newTestQueue(t, inParts(10, 10_000, map[string]float64{"a": 0.5, "b": 0.5}))
	addOfKind(q, "a", 1000, at(0))
	startKinds(q, at(0))
	addOfKind(q, "a-more", 1000, at(0))
	addOfKind(q, "b", 1000, at(0))
	a, b := 0, 0
	for range 20 {
		item, ok := q.Start(at(0))
		require.True(t, ok)
		if strings.HasPrefix(item.Key, "a") {
			a++
		} else {
			b++
		}
	}
	require.InDelta(t, a, b, 2)
}

// Items that cannot start since another budget holds them have no part.
func TestQ12HeldItemsKeepNoTokens(t *testing.T) {
	config := inParts(10, 10, map[string]float64{"a": 0.5})
	config.Budgets = append(config.Budgets, testBudget{
		Name: "kind", Limit: rate.Inf, ShareOf: func(key string, _ int) string { return key[:1] },
	})
	q := newTestQueue(t, config)
	q.SetLimit(at(0), "kind", "a", 0)
	addOfKind(q, "a", 100, at(0))
	addOfKind(q, "b", 100, at(0))
	require.Equal(t, map[string]int{"b": 10}, startKinds(q, at(0)))
	q.SetLimit(at(0), "kind", "a", rate.Inf)
	require.Equal(t, map[string]int{"a": 10}, startKinds(q, at(time.Second)))
}

// Items that waited for a share have their part from the time at which the
// share has a token, also if others come before them.
func TestQ12ItemsThatWaitedForAShareHaveTheirPart(t *testing.T) {
	config := inParts(10, 10, map[string]float64{"a": 0.5})
	config.Budgets = append(config.Budgets, testBudget{
		Name: "kind", Limit: rate.Inf, ShareOf: func(key string, _ int) string { return key[:1] },
	})
	q := newTestQueue(t, config)
	q.SetLimit(at(0), "kind", "a", 0)
	addOfKind(q, "b", 1000, at(-time.Hour))
	addOfKind(q, "a", 1000, at(0))
	require.Equal(t, map[string]int{"b": 10}, startKinds(q, at(0)))
	q.SetLimit(at(0), "kind", "a", rate.Inf)
	require.Equal(t, map[string]int{"a": 5, "b": 5}, startKinds(q, at(time.Second)))
}

// Each kind has its part of the tokens at any time, less one. With a rule that
// serves the kind that is furthest behind, a would lack 1.1 after 150 of these
// tokens.
func TestQ12NoPartIsEverMoreThanATokenBehind(t *testing.T) {
	parts := map[string]float64{"a": 0.214, "b": 0.059, "c": 0.721, "d": 0.003, "e": 0.003}
	q := newTestQueue(t, inParts(rate.Limit(1), 300, parts))
	for kind := range parts {
		addOfKind(q, kind, 300, at(0))
	}
	started := map[string]int{}
	for tokens := 1; tokens <= 300; tokens++ {
		item, ok := q.Start(at(0))
		require.True(t, ok)
		started[item.Key[:1]]++
		for kind, part := range parts {
			require.GreaterOrEqual(t, float64(started[kind]), part*float64(tokens)-1-1e-9,
				"kind %s after %d tokens", kind, tokens)
		}
	}
}
