package timedqueue

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A refBudget counts tokens in whole units by replaying all events of a share
// each time.
type refBudget struct {
	name   string
	of     func(work) string // nil: all items have one share
	limit  rate.Limit
	burst  int
	fair   bool // it reserves parts
	shares []*refShare
}

type refShare struct {
	name  string
	burst int64
	limit rate.Limit
	own   bool
	left  bool // it was removed, and not named since
	log   []*refEvent
	from  *refShare
	gone  bool
	seen  *share[int, work] // the queue's, to notice when it is dropped
}

// A refEvent is a change of a share's limit or of its tokens.
type refEvent struct {
	at    time.Time
	limit rate.Limit // from then on
	taken int64      // refToken or zero
	most  int64      // the tokens are no more than this
}

// A refSpent is a token that an action was started with.
type refSpent struct {
	share *refShare
	event *refEvent // nil if the share was unlimited
}

// refToken is how many units are one token. A limit of 0.1 earns one unit a
// nanosecond, and all limits here are multiples of that.
const refToken = int64(10 * time.Second)

func (b *refBudget) gate() bool { return b.of == nil }

func (b *refBudget) nameOf(value work) string {
	if b.of == nil {
		return ""
	}
	return b.of(value)
}

func (b *refBudget) find(name string) *refShare {
	for _, s := range b.shares {
		if s.name == name {
			return s
		}
	}
	return nil
}

// share returns a share, and creates it if there is none.
func (r *reference) share(b *refBudget, name string) *refShare {
	s := b.find(name)
	if s == nil {
		s = &refShare{name: name, burst: int64(b.burst) * refToken, limit: b.limit}
		r.record(s, 0, s.burst)
		b.shares = append(b.shares, s)
	}
	return s
}

func (r *reference) record(s *refShare, taken, most int64) *refEvent {
	event := &refEvent{r.now, s.limit, taken, most}
	s.log = append(s.log, event)
	return event
}

// tokens replays all events of a share.
func (r *reference) tokens(s *refShare) int64 {
	tokens := s.burst
	for i, event := range s.log {
		tokens = min(tokens, event.most) - event.taken
		until := r.now
		if i+1 < len(s.log) {
			until = s.log[i+1].at
		}
		tokens = s.earned(tokens, event.limit, until.Sub(event.at))
	}
	return tokens
}

func (s *refShare) earned(tokens int64, limit rate.Limit, elapsed time.Duration) int64 {
	if limit == rate.Inf {
		if elapsed > 0 {
			return s.burst
		}
		return tokens
	}
	units := unitsOf(limit)
	if units > 0 && int64(elapsed) > s.burst/units {
		return s.burst
	}
	return min(tokens+units*int64(elapsed), s.burst)
}

// unitsOf is what a limit earns a nanosecond.
func unitsOf(limit rate.Limit) int64 { return int64(float64(limit)*10 + 0.5) }

// wait returns how long it is until a share has a token; false means that it is
// held. A share that is not there is full.
func (r *reference) wait(b *refBudget, name string) (time.Duration, bool) {
	limit, tokens := b.limit, int64(b.burst)*refToken
	if s := b.find(name); s != nil {
		limit, tokens = s.limit, r.tokens(s)
	}
	switch {
	case limit == 0:
		return 0, false
	case limit == rate.Inf || tokens >= refToken:
		return 0, true
	}
	units := unitsOf(limit)
	return time.Duration((refToken - tokens + units - 1) / units), true
}

func (r *reference) hasToken(b *refBudget, item *refItem) bool {
	wait, ok := r.wait(b, b.nameOf(item.value))
	return ok && wait == 0
}

func (r *reference) take(b *refBudget, name string) refSpent {
	s := r.share(b, name)
	s.left = false
	if s.limit == rate.Inf {
		return refSpent{s, nil}
	}
	return refSpent{s, r.record(s, refToken, s.burst)}
}

// forget makes it as if a token had never been taken.
func (spent refSpent) forget() {
	if spent.event != nil {
		spent.share.log = slices.DeleteFunc(spent.share.log,
			func(e *refEvent) bool { return e == spent.event })
	}
}

// out reports whether an action under way holds a token of a share.
func (r *reference) out(s *refShare) bool {
	return slices.ContainsFunc(r.actions, func(action *refAction) bool {
		return slices.ContainsFunc(action.spent, func(spent refSpent) bool {
			return spent.share == s &&
				spent.event != nil
		})
	})
}

func (r *reference) setLimit(b *refBudget, name string, limit rate.Limit) {
	if b.of == nil {
		name = ""
	}
	s := r.share(b, name)
	s.limit, s.own, s.left = limit, limit != b.limit, false
	r.record(s, 0, s.burst)
}

func (r *reference) inherit(b *refBudget, name, from string) {
	left, s := b.find(from), b.find(name)
	if left == nil || left == s || s != nil && !s.left {
		return
	}
	if s == nil {
		s = r.share(b, name)
		s.from = left
	}
	s.left = false
	r.record(s, 0, r.tokens(left))
}

// origin returns the share that the tokens of a share came from, if it is
// there.
func (s *refShare) origin() *refShare {
	for from := s.from; from != nil; from = from.from {
		if !from.gone {
			return from
		}
	}
	return nil
}

// merge ends a share whose tokens came from another.
func (r *reference) merge(b *refBudget, s *refShare) {
	r.record(s.origin(), 0, r.tokens(s))
	r.forget(b, s)
}

func (r *reference) forget(b *refBudget, s *refShare) {
	s.gone = true
	b.shares = slices.DeleteFunc(b.shares, func(o *refShare) bool { return o == s })
}

// excess returns by how much any window has more starts than the burst and what
// the limit gives in that time, in units. A returned token does not count.
func (s *refShare) excess() int64 {
	most := int64(0)
	for i := range s.log {
		starts, earned := int64(0), int64(0)
		for j := i; j < len(s.log); j++ {
			if j > i {
				before := s.log[j-1]
				earned += s.earned(0, before.limit, s.log[j].at.Sub(before.at))
			}
			starts += s.log[j].taken
			most = max(most, starts-s.burst-earned)
		}
	}
	return most
}
