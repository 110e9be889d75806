package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// at is so many seconds after noon; 0 is the zero time.
func at(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// rules are those of all tests: in time for 3 seconds, lost after 30.
var rules = judge.Rules{Subject: "subject", Late: 3 * time.Second, Lost: 30 * time.Second, At: at(100)}

func evicted(seconds float64) judge.Life {
	return judge.Life{Pod: "default/web", Left: at(seconds), By: "subject"}
}

func deleted(seconds float64) judge.Life {
	return judge.Life{Pod: "default/web", Left: at(seconds), By: "another"}
}

var stays = judge.Life{Pod: "default/web"}

func TestEachFaultIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		life judge.Life
		duty judge.Duty
		want judge.Counts
	}{
		"evicted when due": {evicted(60), judge.Duty{Due: at(60)}, judge.Counts{Must: 1, Evicted: 1}},
		"evicted in time": {evicted(63), judge.Duty{Due: at(60)},
			judge.Counts{Must: 1, Evicted: 1, Latest: 3 * time.Second}},
		"evicted early": {evicted(59.999), judge.Duty{Due: at(60)}, judge.Counts{Must: 1, Early: 1}},
		"evicted late": {evicted(63.5), judge.Duty{Due: at(60)},
			judge.Counts{Must: 1, Evicted: 1, Late: 1, Latest: 3500 * time.Millisecond}},
		"never evicted":                 {stays, judge.Duty{Due: at(60)}, judge.Counts{Must: 1, Lost: 1}},
		"stays as it must":              {stays, judge.Duty{}, judge.Counts{}},
		"evicted though it must stay":   {evicted(1), judge.Duty{}, judge.Counts{Wrong: 1}},
		"deleted by another":            {deleted(1), judge.Duty{}, judge.Counts{}},
		"another came before it is due": {deleted(59), judge.Duty{Due: at(60)}, judge.Counts{}},
		"another came in time":          {deleted(63), judge.Duty{Due: at(60)}, judge.Counts{}},
		"another came when it was late": {deleted(64), judge.Duty{Due: at(60)}, judge.Counts{Must: 1, Late: 1}},
		"before the budget allows it": {evicted(69), judge.Duty{Due: at(60), Allowed: at(70)},
			judge.Counts{Must: 1, Wrong: 1}},
		"when the budget allows it": {evicted(71), judge.Duty{Due: at(60), Allowed: at(70)},
			judge.Counts{Must: 1, Evicted: 1, Latest: time.Second}},
		"early is worse than a budget": {evicted(59), judge.Duty{Due: at(60), Allowed: at(70)},
			judge.Counts{Must: 1, Early: 1}},
		"late counts from when it can": {evicted(72), judge.Duty{Due: at(60), Possible: at(70)},
			judge.Counts{Must: 1, Evicted: 1, Latest: 2 * time.Second}},
		"late after it could": {evicted(74), judge.Duty{Due: at(60), Possible: at(70)},
			judge.Counts{Must: 1, Evicted: 1, Late: 1, Latest: 4 * time.Second}},
		"while it could hardly": {evicted(65), judge.Duty{Due: at(60), Possible: at(70)},
			judge.Counts{Must: 1, Evicted: 1}},
		"an obstacle before it is due": {evicted(62), judge.Duty{Due: at(60), Possible: at(50)},
			judge.Counts{Must: 1, Evicted: 1, Latest: 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			counts, err := judge.Count([]judge.Case{{Life: c.life, Duty: c.duty}}, rules)
			require.NoError(t, err)
			require.Equal(t, c.want, counts)
		})
	}
}

func TestCountsAreSums(t *testing.T) {
	due := judge.Duty{Due: at(60)}
	counts, err := judge.Count([]judge.Case{
		{Life: evicted(61), Duty: due},
		{Life: evicted(62), Duty: due},
		{Life: evicted(65), Duty: due},
		{Life: evicted(1), Duty: due},
		{Life: stays, Duty: due},
		{Life: stays},
		{Life: evicted(60)},
	}, rules)
	require.NoError(t, err)
	require.Equal(t, judge.Counts{Must: 5, Evicted: 3, Early: 1, Late: 1, Latest: 5 * time.Second, Lost: 1, Wrong: 1},
		counts)
}

func TestOnlyAFlawlessHistoryIsClean(t *testing.T) {
	require.True(t, judge.Counts{Must: 2, Evicted: 2, Latest: time.Second}.Clean())
	for name, counts := range map[string]judge.Counts{
		"nothing to judge": {},
		"early":            {Must: 2, Evicted: 1, Early: 1},
		"late":             {Must: 2, Evicted: 2, Late: 1},
		"lost":             {Must: 2, Evicted: 1, Lost: 1},
		"wrong":            {Must: 2, Evicted: 2, Wrong: 1},
		"unaccounted":      {Must: 2, Evicted: 1},
	} {
		require.False(t, counts.Clean(), name)
	}
}

func TestAHistoryThatAllowsNoVerdictIsAnError(t *testing.T) {
	_, err := judge.Count(
		[]judge.Case{{Life: judge.Life{Pod: "default/web", Left: at(61)}, Duty: judge.Duty{Due: at(60)}}}, rules)
	require.ErrorContains(t, err, "pod default/web: no request explains")

	soon := rules
	soon.At = at(89.9)
	_, err = judge.Count([]judge.Case{{Life: stays, Duty: judge.Duty{Due: at(60)}}}, soon)
	require.ErrorContains(t, err, "ends too soon")
	soon.At = at(90)
	_, err = judge.Count([]judge.Case{{Life: stays, Duty: judge.Duty{Due: at(60)}}}, soon)
	require.NoError(t, err)
}
