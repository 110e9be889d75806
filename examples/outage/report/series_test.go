package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// feed gives a sampler one sample a second, of one zone.
func feed(s *sampler, until time.Duration, at func(second int) zoneSample) Series {
	s.zone("a")
	for now := time.Duration(0); now <= until; now += time.Second {
		s.add(now, []zoneSample{at(int(now / time.Second))}, 2)
	}
	return s.finish()
}

func TestASeriesHasAtMostSoManyPointsHoweverLongItIs(t *testing.T) {
	for _, duration := range []time.Duration{0, time.Second, 90 * time.Second, 12 * time.Minute, 12*time.Minute + 1,
		time.Hour, 25 * time.Hour, 31*24*time.Hour + 17*time.Second} {
		series := feed(newSampler(duration, 20), duration, func(int) zoneSample { return zoneSample{} })
		require.LessOrEqual(t, len(series.At), MostPoints, duration)
		require.LessOrEqual(t, int(duration/series.Step.D()), MostPoints)
		for _, z := range series.Zones {
			for _, list := range [][]int{z.Ready, z.Silent, z.NotReady, z.Tainted, z.Tainting, z.Waiting, z.Blocked, z.Evicted} {
				require.Len(t, list, len(series.At))
			}
			require.Len(t, z.Limit, len(series.At))
		}
		require.Len(t, series.Calls, len(series.At))
		require.Equal(t, SecondsOf(duration.Truncate(time.Second)), series.At[len(series.At)-1])
	}
	const day = 24 * time.Hour
	for duration := day; duration < 5000*day; duration += day {
		require.LessOrEqual(t, int64(duration/stepFor(duration)), int64(MostPoints-2))
	}
}

func TestAPointKeepsThePeaksOfItsTime(t *testing.T) {
	series := feed(newSampler(time.Hour, 20), 12*time.Second, func(second int) zoneSample {
		s := zoneSample{tally: tally{states: states{ready: 10 - second, tainted: second}}, evicted: second, limit: 7}
		switch second {
		case 3: // within the first point after the start, which ends at 5 s
			s.waiting, s.blocked, s.tainting, s.limit = 9, 4, 6, 1.004
		case 4:
			s.waiting, s.tainting, s.limit = 8, 5, 3
		}
		return s
	})
	z := series.Zones[0]
	require.Equal(t, []Seconds{0, 5, 10, 12}, series.At, "the last may be nearer")
	require.Equal(t, []int{10, 5, 0, -2}, z.Ready, "as at the point")
	require.Equal(t, []int{0, 5, 10, 12}, z.Tainted)
	require.Equal(t, []int{0, 5, 10, 12}, z.Evicted)
	require.Equal(t, []int{0, 9, 0, 0}, z.Waiting, "the most at a time")
	require.Equal(t, []int{0, 4, 0, 0}, z.Blocked)
	require.Equal(t, []int{0, 6, 0, 0}, z.Tainting)
	require.Equal(t, []float64{7, 1, 7, 7}, z.Limit, "that of the same second")
	require.Equal(t, []float64{2, 2, 2, 2}, series.Calls, "a second, whatever the step")
	require.Equal(t, 20.0, series.CallLimit)
}

// A zone that comes into being later had no nodes before.
func TestAZoneThatComesLaterBeginsWithNothing(t *testing.T) {
	s := newSampler(time.Minute, 20)
	s.zone("a")
	one := zoneSample{tally: tally{states: states{ready: 1}}}
	s.add(0, []zoneSample{one}, 0)
	s.add(time.Second, []zoneSample{one}, 0)
	s.zone("b")
	s.add(2*time.Second, []zoneSample{one, one}, 0)
	series := s.finish()
	require.Equal(t, []int{1, 1, 1}, series.Zones[0].Ready)
	// It was added while the point of the first second was open.
	require.Equal(t, []int{0, 0, 1}, series.Zones[1].Ready)
	require.Len(t, series.Zones[1].Limit, 3)
}
