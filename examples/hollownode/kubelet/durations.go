package kubelet

import (
	"slices"
	"time"
)

// Durations counts durations by the bucket that they are in.
type Durations struct {
	// Bounds are the upper bounds of the buckets, in seconds. They are only read.
	Bounds []float64
	// Buckets are how many are within each bound and not within the one before.
	// Those that are longer than all bounds are in none.
	Buckets []uint64
	// Count is how many there are, and Sum is that of their seconds.
	Count uint64
	Sum   float64
}

// observe adds a duration.
func (d *Durations) observe(took time.Duration) {
	seconds := took.Seconds()
	if i, _ := slices.BinarySearch(d.Bounds, seconds); i < len(d.Bounds) {
		d.Buckets[i]++
	}
	d.Count++
	d.Sum += seconds
}

// clone returns what is counted now.
func (d *Durations) clone() Durations {
	return Durations{Bounds: d.Bounds, Buckets: slices.Clone(d.Buckets), Count: d.Count, Sum: d.Sum}
}

func newDurations(bounds ...float64) Durations {
	return Durations{Bounds: bounds, Buckets: make([]uint64, len(bounds))}
}

// newStartDurations returns those of starts of pods. Source of the bounds:
// pkg/kubelet/metrics, v1.37.1.
func newStartDurations() Durations {
	return newDurations(0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600,
		900, 1200, 1800, 2700, 3600)
}

// newWriteDurations returns those of writes of statuses. The source is the
// same.
func newWriteDurations() Durations {
	return newDurations(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60)
}
