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
