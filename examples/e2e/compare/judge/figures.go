package judge

import (
	"math"
	"slices"
	"time"
)

// Delays are those of several nodes or pods, in any order.
type Delays []time.Duration

// Quantile returns the smallest delay that a share of the delays, from 0 to 1,
// does not exceed. This is the nearest rank, so it is one of the delays. Of
// none it is zero.
func (d Delays) Quantile(share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// A Spread is what a figure has come to in several repetitions.
type Spread struct {
	Median, Least, Most float64
	// N is how many repetitions there are. Zero: the others mean nothing.
	N int
}

// SpreadOf returns the spread of values. The median of an even number is the
// mean of the two in the middle.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Least:  sorted[0], Most: sorted[n-1], N: n,
	}
}
