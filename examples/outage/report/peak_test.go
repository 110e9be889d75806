package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func each(every time.Duration, from, to time.Duration) []time.Duration {
	var all []time.Duration
	for at := from; at < to; at += every {
		all = append(all, at)
	}
	return all
}

func TestThePeakIsTheBusiestMinuteAndWhatItsRateAllowed(t *testing.T) {
	d := district{
		rates: []rateSince{{0, 0.1}, {10 * time.Minute, 0.5}, {20 * time.Minute, 0}},
		taintings: append(each(2*time.Second, 10*time.Minute, 15*time.Minute),
			each(10*time.Second, 5*time.Minute, 6*time.Minute)...),
	}
	require.Equal(t, 30, d.peak().Tainted)
	require.InDelta(t, 31, d.peak().Limit, 1e-9, "30 in a minute and one that was saved up")
	require.Equal(t, SecondsOf(14*time.Minute+58*time.Second), d.peak().End, "of equal ones the last")
	require.Nil(t, (&district{}).peak())
}

// A zone that is told to stop and does not is busier than it may be, however
// busy it was before.
func TestThePeakIsTheMinuteThatExceededMost(t *testing.T) {
	d := district{
		rates: []rateSince{{0, 1}, {10 * time.Minute, 0}},
		taintings: append(each(time.Second, 5*time.Minute, 10*time.Minute),
			each(20*time.Second, 12*time.Minute, 13*time.Minute)...),
	}
	require.Equal(t, &Peak{End: SecondsOf(12*time.Minute + 40*time.Second), Tainted: 3, Limit: 0}, d.peak())
}

func TestARateGivesWhatItGaveInEachPartOfTheTime(t *testing.T) {
	d := district{rates: []rateSince{{time.Minute, 0.1}, {2 * time.Minute, 0}, {3 * time.Minute, 0.01}}}
	require.InDelta(t, 0, d.given(0, time.Minute), 1e-9, "nothing before the first")
	require.InDelta(t, 6, d.given(0, 150*time.Second), 1e-9)
	require.InDelta(t, 3+0.6, d.given(90*time.Second, 4*time.Minute), 1e-9)
	require.Zero(t, (&district{}).given(0, time.Hour))

	require.InDelta(t, 1+6, d.allowed(0, 150*time.Second), 1e-9, "one that was saved up")
	require.InDelta(t, 1, d.allowed(0, time.Minute), 1e-9, "the first is allowed at once")
	require.Zero(t, d.allowed(0, 59*time.Second))
	require.Zero(t, d.allowed(2*time.Minute, 170*time.Second), "a zone that must stop")
	require.InDelta(t, 1+0.1, d.allowed(119*time.Second, 170*time.Second), 1e-9)
}

func TestLatenessIsTheMiddleAndTheWorst(t *testing.T) {
	require.Nil(t, lateness(nil))
	late := []time.Duration{3 * time.Second, 9 * time.Second, time.Second, -time.Second, 4 * time.Second}
	require.Equal(t, &Late{Of: 5, Median: 3, Worst: 9}, lateness(late))
	require.Equal(t, 3*time.Second, late[0], "it is not sorted for the caller")
}
