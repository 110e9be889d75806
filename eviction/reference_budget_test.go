package eviction_test

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// A slowBudget is a budget of the reference.
type slowBudget struct {
	name   string
	limit  rate.Limit
	burst  int
	shares map[string]*slowShare
}

// A slowShare is all that has happened to a share, in order. Its tokens are
// counted from the beginning for each question.
type slowShare struct {
	burst  float64
	events []slowEvent
	takes  int
}

// A slowEvent is a change of the limit, or of the tokens by one.
type slowEvent struct {
	at     time.Time
	limit  rate.Limit // as from then
	tokens float64
	number int // of the token that was taken, zero for none
	// How the action of the token ended: after how many events, zero while it is
	// under way, and whether the token was returned.
	ended    int
	returned bool
}

func newSlowBudget(name string, limit rate.Limit, burst int) *slowBudget {
	return &slowBudget{name: name, limit: limit, burst: burst, shares: map[string]*slowShare{}}
}

// share returns a share, a full one if there is none.
func (b *slowBudget) share(key string, epoch time.Time) *slowShare {
	s := b.shares[key]
	if s == nil {
		s = &slowShare{burst: float64(b.burst), events: []slowEvent{{at: epoch, limit: b.limit}}}
		b.shares[key] = s
	}
	return s
}

func (s *slowShare) limit() rate.Limit { return s.events[len(s.events)-1].limit }

// tokens counts from the beginning.
func (s *slowShare) tokens(now time.Time) float64 {
	tokens := s.burst
	for i, e := range s.events {
		tokens = min(tokens+e.tokens, s.burst)
		until := now
		if i+1 < len(s.events) {
			until = s.events[i+1].at
		}
		tokens = min(tokens+until.Sub(e.at).Seconds()*float64(e.limit), s.burst)
	}
	return tokens
}

// wait returns how long it is until there is a token, minus one for never.
func (s *slowShare) wait(now time.Time) time.Duration {
	missing := 1 - s.tokens(now)
	switch {
	case s.limit() == 0:
		return -1
	case missing <= 0 || s.limit() == rate.Inf:
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(s.limit()) * 1e9))
}

// windows goes through all windows that begin with a start. It returns how many
// there are, and by how much any has more starts than the burst, what the rate
// gives in that time, and what was under way when it began. A start whose token
// was returned does not count.
func (s *slowShare) windows() (checked int, excess float64) {
	excess = math.Inf(-1)
	for i, first := range s.events {
		if first.tokens >= 0 {
			continue
		}
		starts, earned := 0.0, 0.0
		for j := i; j < len(s.events); j++ {
			if j > i {
				before := s.events[j-1]
				earned += s.events[j].at.Sub(before.at).Seconds() * float64(before.limit)
			}
			if s.events[j].tokens < 0 && !s.events[j].returned {
				starts++
			}
			excess = max(excess, starts-s.burst-earned-s.underWay(i))
			checked++
		}
	}
	return checked, excess
}

// underWay returns how many actions were under way before an event.
func (s *slowShare) underWay(event int) float64 {
	count := 0.0
	for _, e := range s.events[:event] {
		if e.tokens < 0 && (e.ended == 0 || e.ended > event) {
			count++
		}
	}
	return count
}

// A slowToken is a token that was taken from a share. The tokens of a share are
// numbered from 1; zero is one that an unlimited share did not count.
type slowToken struct {
	share  *slowShare
	number int
}

func (s *slowShare) take(now time.Time) slowToken {
	if s.limit() == rate.Inf {
		return slowToken{s, 0}
	}
	s.takes++
	s.events = append(s.events, slowEvent{at: now, limit: s.limit(), tokens: -1, number: s.takes})
	return slowToken{s, s.takes}
}

// settle ends the action of a token. A token that is returned is added again,
// up to the burst.
func (t slowToken) settle(now time.Time, returned bool) {
	for i := range t.share.events {
		e := &t.share.events[i]
		if e.number != t.number || t.number == 0 {
			continue
		}
		e.ended, e.returned = len(t.share.events), returned
		if returned {
			t.share.events = append(t.share.events, slowEvent{at: now, limit: t.share.limit(), tokens: 1})
		}
		return
	}
}
