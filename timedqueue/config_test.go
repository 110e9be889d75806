package timedqueue

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestZeroConfigHasNoLimit(t *testing.T) {
	q := newTestQueue(t, testConfig{})
	for _, key := range manyKeys(1000) {
		q.Add(key, 0, at(0))
	}
	require.Len(t, startAll(q, at(0)), 1000)
}

func TestNewQueueWantsTheTime(t *testing.T) {
	_, err := NewQueue(testConfig{}, time.Time{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "now is zero")
}

func TestInvalidConfigIsRefused(t *testing.T) {
	kindOf := func(string, int) string { return "" }
	budget := func(b testBudget) testConfig {
		return testConfig{Budgets: []testBudget{b}, KindOf: kindOf}
	}
	for _, test := range []struct {
		config testConfig
		want   string
	}{
		{limited(-1, 0), `budget "all": Limit is -1`},
		{limited(rate.Limit(math.NaN()), 0), `budget "all": Limit is NaN`},
		{limited(rate.Limit(math.Inf(-1)), 0), `budget "all": Limit is -Inf`},
		{limited(1, -1), `budget "all": Burst is -1`},
		{budget(testBudget{Reserved: map[string]float64{"a": 0}}), `Reserved["a"] is 0`},
		{budget(testBudget{Reserved: map[string]float64{"a": -1}}),
			`Reserved["a"] is -1`},
		{budget(testBudget{Reserved: map[string]float64{"a": math.NaN()}}),
			`Reserved["a"] is NaN`},
		{budget(testBudget{Reserved: map[string]float64{"a": 0.6, "b": 0.5}}),
			"Reserved adds up to 1.1"},
		{testConfig{Budgets: []testBudget{{Reserved: map[string]float64{"a": 0.5}}}},
			"QueueConfig.KindOf is nil, want a function, since Reserved or Kinds are set"},
		{testConfig{Kinds: []string{"a"}}, "QueueConfig.KindOf is nil"},
		{budget(testBudget{Reserved: map[string]float64{"a": 0.5}, ShareOf: kindOf}),
			"ShareOf and Reserved are set"},
		{testConfig{Budgets: []testBudget{{Name: "a"}, {Name: "a"}}}, `two budgets have the name "a"`},
		{testConfig{Budgets: []testBudget{
			{Name: "a", Reserved: map[string]float64{"a": 1}},
			{Name: "b", Reserved: map[string]float64{"a": 1}},
		}, KindOf: kindOf}, "2 budgets have Reserved"},
		{testConfig{Backoff: Backoff{Initial: -1}}, "Backoff.Initial is -1ns"},
		{testConfig{Backoff: Backoff{Max: -1}}, "Backoff.Max is -1ns"},
		{testConfig{Backoff: Backoff{Initial: 2, Max: 1}}, "Backoff.Max is 1ns, want at least"},
	} {
		_, err := NewQueue(test.config, epoch)
		require.ErrorIs(t, err, ErrInvalidConfig)
		require.ErrorContains(t, err, test.want)
	}
}

func TestValidateJoinsAllProblems(t *testing.T) {
	config := testConfig{
		Budgets: []testBudget{
			{Name: "a", Limit: -1, Burst: -2},
			{Name: "a", Reserved: map[string]float64{"x": 2, "y": -1}},
		},
		Backoff: Backoff{Initial: -3, Max: -4},
	}
	err := config.Validate()
	for _, want := range []string{
		"Limit is -1", "Burst is -2", "two budgets", `Reserved["y"] is -1`, "KindOf is nil",
		"Initial is -3ns", "Max is -4ns",
	} {
		require.ErrorContains(t, err, want)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		require.Equal(t, 1, strings.Count(line, ErrInvalidConfig.Error()), "wrapped once: %s", line)
	}
	for _, valid := range []testConfig{
		{}, unlimited, limited(0, 0), limited(rate.Inf, 0), limited(rate.Limit(math.Inf(1)), 3),
		inParts(1, 1, map[string]float64{"a": 0.1, "b": 0.2, "c": 0.7}), inParts(1, 1,
			map[string]float64{"a": 1}),
	} {
		require.NoError(t, valid.Validate())
	}
}
