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
	nameOf := func(string, int) string { return "" }
	for _, test := range []struct {
		config testConfig
		want   string
	}{
		{limited(-1, 0), `budget "all": Limit is -1`},
		{limited(rate.Limit(math.NaN()), 0), `budget "all": Limit is NaN`},
		{limited(rate.Limit(math.Inf(-1)), 0), `budget "all": Limit is -Inf`},
		{limited(1, -1), `budget "all": Burst is -1`},
		{testConfig{Budgets: []testBudget{{Name: "a", Limit: 1, Held: true}}},
			`budget "a": Limit is 1 and Held is set, want one of them`},
		{testConfig{Budgets: []testBudget{{Name: "a", Limit: 1, MaxActing: -1}}},
			`budget "a": MaxActing is -1, want zero or more`},
		{testConfig{Budgets: []testBudget{{Name: "a", Limit: 1, HolderOf: nameOf}}},
			`budget "a": HolderOf is set and MaxActing is 0, want at least 1`},
		{testConfig{Kinds: []string{"a"}},
			"QueueConfig.KindOf is nil, want a function, since Kinds are set"},
		{testConfig{Kinds: []string{"a"}, KindOf: nameOf,
			Budgets: []testBudget{{Name: "b", Limit: 1, ShareOf: nameOf}}},
			`Kinds are set and budget "b" has ShareOf or HolderOf, want one of them`},
		{testConfig{Kinds: []string{"a"}, KindOf: nameOf,
			Budgets: []testBudget{{Name: "b", Limit: 1, MaxActing: 1, HolderOf: nameOf}}},
			`Kinds are set and budget "b" has ShareOf or HolderOf, want one of them`},
		{testConfig{Budgets: []testBudget{{Name: "a", Limit: 1}, {Name: "a", Limit: 1}}},
			`two budgets have the name "a"`},
		{testConfig{Backoff: Backoff{Initial: -1}}, "Backoff.Initial is -1ns"},
		{testConfig{Backoff: Backoff{Max: -1}}, "Backoff.Max is -1ns"},
		{testConfig{Backoff: Backoff{Initial: 2, Max: 1}}, "Backoff.Max is 1ns, want at least"},
	} {
		_, err := NewQueue(test.config, epoch)
		require.ErrorIs(t, err, ErrInvalidConfig)
		require.ErrorContains(t, err, test.want)
		require.NotContains(t, err.Error(), "\n", "one thing is wrong")
	}
}

// A limit that was forgotten would hold everything, which looks like a quiet
// cluster.
func TestQ13ForgottenLimitIsRefused(t *testing.T) {
	_, err := NewQueue(testConfig{Budgets: []testBudget{{Name: "zone"}}}, epoch)
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, `budget "zone": Limit is 0`)
	_, err = NewQueue(held(0), epoch)
	require.NoError(t, err)
	a, _ := kindOf("a", 0, 0, 1, at(0))
	_, err = NewThrottle(ThrottleConfig{Kinds: []Kind{a}}, epoch)
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "ThrottleConfig.Limit is 0")
}

func TestValidateJoinsAllProblems(t *testing.T) {
	config := testConfig{
		Budgets: []testBudget{
			{Name: "a", Limit: -1, Burst: -2},
			{Name: "a", Limit: 1, MaxActing: -3},
		},
		Backoff: Backoff{Initial: -3, Max: -4},
		Kinds:   []string{"a"},
	}
	err := config.Validate()
	for _, want := range []string{
		"Limit is -1", "Burst is -2", "two budgets", "MaxActing is -3", "KindOf is nil",
		"Initial is -3ns", "Max is -4ns",
	} {
		require.ErrorContains(t, err, want)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		require.Equal(t, 1, strings.Count(line, ErrInvalidConfig.Error()), "wrapped once: %s", line)
	}
	for _, valid := range []testConfig{
		{}, unlimited, held(0), held(3), limited(rate.Inf, 0), limited(rate.Limit(math.Inf(1)), 3),
		limited(math.SmallestNonzeroFloat64, 1),
	} {
		require.NoError(t, valid.Validate())
	}
}
