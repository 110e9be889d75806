package zone

import "time"

// rise delays that a zone's rate rises when its disruption ends. Nodes that
// return together are heard over one heartbeat interval. When enough of them
// are that the state is better, the others must not be acted against yet.
//
//	rate of the state     high ─┐         ┌──┐  ┌─────────
//	                            └─────────┘  └──┘   .
//	rate of the zone      high ─┐                   ┌─────
//	                            └───────────────────┘
//	counts for the window                 ====  ====
//
// Time in which the state is worse does not count, and does not begin the
// window again. The next window begins only after the zone has had the higher
// rate for one window. So a zone that flaps has its rate at least as long as it
// is held.
type rise struct {
	// rate is that of the state, and low the rate that is kept until end.
	rate, low float64
	end       time.Time
	// left is how long the next rise is held.
	left time.Duration
}

// follow records the rate of a state that the zone has changed to. If the state
// is not better, the rate rises at once.
func (r *rise) follow(now time.Time, rate float64, better bool, window time.Duration) {
	before := r.rate
	r.rate = rate
	switch held := now.Before(r.end); {
	case held && rate <= r.low:
		r.end, r.left = now, r.end.Sub(now)
	case held:
	case rate > before && better:
		r.low, r.end, r.left = before, now.Add(r.left), 0
	case rate < before && now.Sub(r.end) >= window:
		r.left = window
	}
}

// held returns until when the rate is lower than that of the state.
func (r *rise) held(now time.Time) (until time.Time, ok bool) {
	return r.end, now.Before(r.end) && r.low < r.rate
}
