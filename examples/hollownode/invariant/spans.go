package invariant

import (
	"slices"
	"strings"
	"time"
)

// span is a time from one moment until before another.
type span struct{ from, to time.Time }

// intersect returns when both of two lists of spans hold.
func intersect(a, b []span) []span {
	var both []span
	for _, x := range a {
		for _, y := range b {
			s := x
			if y.from.After(s.from) {
				s.from = y.from
			}
			if y.to.Before(s.to) {
				s.to = y.to
			}
			if s.from.Before(s.to) {
				both = append(both, s)
			}
		}
	}
	return both
}

// undisturbed returns when nothing was wrong with a node. A start of its
// kubelet begins a new span.
func (c *checker) undisturbed(node string) []span {
	if spans, known := c.calm[node]; known {
		return spans
	}
	var wrong []span
	for _, s := range c.history.Starts {
		if s.Node == node {
			wrong = append(wrong, span{s.At, s.At})
		}
	}
	for _, f := range c.history.Faults {
		if (f.Node == node || f.Node == "") && !strings.HasSuffix(f.What, "-pressure") {
			wrong = append(wrong, span{f.From, f.To.Add(aftermath[f.What])})
		}
	}
	slices.SortFunc(wrong, func(a, b span) int { return a.from.Compare(b.from) })
	var spans []span
	from := c.history.Changes[0].At
	for _, w := range wrong {
		if w.from.After(from) {
			spans = append(spans, span{from, w.from})
		}
		if w.to.After(from) {
			from = w.to
		}
	}
	c.calm[node] = append(spans, span{from, c.history.End})
	return c.calm[node]
}

// aftermath is for how long a fault goes on in what it has delayed. A slow call
// takes up to 30 s. A write that has failed is tried again in time.
var aftermath = map[string]time.Duration{"api-latency": 30 * time.Second}
