package report

import (
	"math"
	"slices"
	"time"
)

// tolerance is for sums of fractions.
const tolerance = 1e-6

// peak returns the minute in which a zone came closest to its rate.
func (d *district) peak() *Peak {
	sent := slices.Sorted(slices.Values(d.taintings))
	var peak *Peak
	most, excess := 0, 0.0
	first := 0
	for i, end := range sent {
		for sent[first] <= end-time.Minute {
			first++
		}
		count, limit := i-first+1, d.allowed(end-time.Minute, end)
		over := max(float64(count)-limit-tolerance, 0)
		if peak != nil && (over < excess || over == excess && count < most) {
			continue
		}
		most, excess = count, over
		peak = &Peak{End: SecondsOf(end), Tainted: count, Limit: math.Round(limit*100) / 100}
	}
	return peak
}

// allowed returns how many nodes the zone's rates allowed between two times:
// what they gave, and one that was saved up before. A rate of zero holds that
// back too.
func (d *district) allowed(from, to time.Duration) float64 {
	for i, r := range d.rates {
		if r.rate > 0 && r.at <= to && (i+1 == len(d.rates) || d.rates[i+1].at > from) {
			return 1 + d.given(from, to)
		}
	}
	return 0
}

// given returns how many nodes the zone's rates gave between two times.
func (d *district) given(from, to time.Duration) float64 {
	sum := 0.0
	for i, r := range d.rates {
		begin, end := max(r.at, from), to
		if i+1 < len(d.rates) {
			end = min(d.rates[i+1].at, to)
		}
		if end > begin {
			sum += r.rate * (end - begin).Seconds()
		}
	}
	return sum
}
