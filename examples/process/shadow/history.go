package shadow

import (
	"slices"
	"time"
)

// mostPoints is how many points a history has at most. That is enough for a
// plot, and 93 KB.
const mostPoints = 720

// A history counts the actions of both sides over time. Its points are a second
// apart at first. When there are too many, every second one goes, so that the
// memory is the same however long a shadow runs.
type history struct {
	start  time.Time // zero until something is known
	step   time.Duration
	points []counts // how often up to the end of each step
}

// counts are how often each side has done each action.
type counts struct{ shadow, cluster [len(actions)]int }

// begin starts the history, if it has not begun.
func (h *history) begin(now time.Time) {
	if h.start.IsZero() {
		h.start, h.step = now, time.Second
	}
}

// add counts an action of a side. Time that goes backwards stands still.
func (h *history) add(now time.Time, action Action, shadow bool) {
	h.begin(now)
	h.reach(now)
	last := &h.points[len(h.points)-1]
	if i := slices.Index(actions[:], action); shadow {
		last.shadow[i]++
	} else {
		last.cluster[i]++
	}
}

// reach makes the last point that of a time.
func (h *history) reach(now time.Time) {
	for h.index(now) >= mostPoints {
		h.halve()
	}
	if len(h.points) == 0 {
		h.points = append(h.points, counts{})
	}
	for last := h.points[len(h.points)-1]; len(h.points) <= h.index(now); {
		h.points = append(h.points, last)
	}
}

func (h *history) index(now time.Time) int { return int(now.Sub(h.start) / h.step) }

// halve makes one point of two.
func (h *history) halve() {
	h.step *= 2
	for i := range h.points {
		if i%2 == 1 || i == len(h.points)-1 {
			h.points[i/2] = h.points[i]
		}
	}
	h.points = h.points[:(len(h.points)+1)/2]
}

// snapshot returns a copy that reaches to a time.
func (h *history) snapshot(now time.Time) history {
	c := *h
	c.points = slices.Clone(h.points)
	c.begin(now)
	c.reach(now)
	return c
}

// at returns the time of each point after the start: the end of its step, and
// now for the last.
func (h *history) at(now time.Time) []time.Duration {
	list := make([]time.Duration, len(h.points))
	for i := range list {
		list[i] = min(time.Duration(i+1)*h.step, max(now.Sub(h.start), time.Duration(i)*h.step))
	}
	return list
}
