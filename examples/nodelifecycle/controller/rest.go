package controller

import "time"

// rest is a time in which nothing is to be done, unless something changes. In a
// large cluster thousands of leases are renewed a second. Each makes a
// dispatcher look at the core, and nearly none changes what that finds.
//
//	busy ──Start hands out none──► looked ──Next──► idle
//	  ▲                              │               │
//	  └────────── any change ────────┴───────────────┘
type rest struct {
	state restState
	from  time.Time
	// until is next, or earlier: blindness begins without a change.
	until time.Time
	// next and some are what Next has returned.
	next time.Time
	some bool
}

// restState is written by rest.enter alone.
type restState uint8

const (
	// busy: something has changed since Start looked.
	busy restState = iota
	// looked: Start had nothing, and when it has is not known.
	looked
	// idle: Start has nothing before Next, or until a change.
	idle
)

func (s restState) String() string { return [...]string{"busy", "looked", "idle"}[s] }

// longestRest bounds a rest.
const longestRest = time.Second

// end records a change.
func (r *rest) end() { r.enter(busy) }

func (r *rest) enter(next restState) { r.state = next }

// looked records what Start has found.
func (r *rest) looked(found bool) {
	if found {
		r.enter(busy)
		return
	}
	r.enter(looked)
}

// begin records what Next has found.
func (r *rest) begin(now, next time.Time, some bool) {
	if r.state != looked {
		return
	}
	r.from, r.until, r.next, r.some = now, now.Add(longestRest), next, some
	if some && next.Before(r.until) {
		r.until = next
	}
	r.enter(idle)
}

// lasts reports whether there is nothing to be done at a time.
func (r *rest) lasts(now time.Time) bool {
	return r.state == idle && !now.Before(r.from) && now.Before(r.until)
}
