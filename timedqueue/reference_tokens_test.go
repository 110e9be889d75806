package timedqueue

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A refBudget counts tokens in whole units by replaying all events of a share
// each time.
type refBudget struct {
	name     string
	of       func(work) string // nil: all items have one share
	holderOf func(work) string // nil: each action counts
	most     int               // holders that act, zero for no bound
	limit    rate.Limit
	burst    int
	shares   []*refShare
	history  map[string]*refHistory // by name, also of shares that are gone
}

type refShare struct {
	name  string
	burst int64
	limit rate.Limit
	own   bool
	left  bool // it was removed, and not used since
	log   []refEvent
	empty bool              // it has begun, or begun again, without tokens in this step
	seen  *share[int, work] // the queue's, to notice when it is dropped
}

// A refEvent is a change of a share's limit or of its tokens.
type refEvent struct {
	at    time.Time
	limit rate.Limit // from then on
	added int64      // refToken, minus that, or zero
	most  int64      // the tokens are no more than this
}

// A refSpent is a token that an action was started with.
type refSpent struct {
	budget  *refBudget
	share   *refShare
	holder  string
	counted bool // the share had a limit
}

// refToken is how many units are one token. A limit of 0.1 earns one unit a
// nanosecond, and all limits here are multiples of that.
const refToken = int64(10 * time.Second)

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
		if b.limit == 0 && r.started {
			r.record(s, 0, 0)
		}
		b.shares = append(b.shares, s)
	}
	return s
}

// shareWithoutTokens returns a share, which begins empty if there is none, or
// if it was removed and not used since.
func (r *reference) shareWithoutTokens(b *refBudget, name string) *refShare {
	known := b.find(name)
	s := r.share(b, name)
	if known == nil || s.left {
		r.record(s, 0, 0)
		s.left, s.empty = false, true
	}
	return s
}

func (r *reference) record(s *refShare, added, most int64) {
	s.log = append(s.log, refEvent{r.now, s.limit, added, most})
}

// tokens replays all events of a share.
func (r *reference) tokens(s *refShare) int64 {
	tokens := s.burst
	for i, event := range s.log {
		tokens = min(tokens+event.added, event.most)
		until := r.now
		if i+1 < len(s.log) {
			until = s.log[i+1].at
		}
		tokens = min(tokens+earned(event.limit, until.Sub(event.at), s.burst), s.burst)
	}
	return tokens
}

// earned is what a limit earns in a time, up to a most.
func earned(limit rate.Limit, elapsed time.Duration, most int64) int64 {
	switch units := unitsOf(limit); {
	case elapsed == 0 || limit == 0:
		return 0
	case limit == rate.Inf || int64(elapsed) > most/units:
		return most
	default:
		return units * int64(elapsed)
	}
}

// unitsOf is what a limit earns a nanosecond.
func unitsOf(limit rate.Limit) int64 { return int64(float64(limit)*10 + 0.5) }

// wait returns how long it is until a share has a token for an item; false
// means that it is held, or has no slot. A share that is not there begins full,
// or empty if its budget is held.
func (r *reference) wait(b *refBudget, value work) (time.Duration, bool) {
	limit, tokens := b.limit, int64(b.burst)*refToken
	if s := b.find(b.nameOf(value)); s != nil {
		limit, tokens = s.limit, r.tokens(s)
	}
	switch {
	case limit == 0 || !r.hasSlot(b, value):
		return 0, false
	case limit == rate.Inf || tokens >= refToken:
		return 0, true
	}
	units := unitsOf(limit)
	return time.Duration((refToken - tokens + units - 1) / units), true
}

// hasSlot reports whether the holder of an item acts already, or fewer holders
// than may act.
func (r *reference) hasSlot(b *refBudget, value work) bool {
	holders := r.holders(b, value)
	joins := b.holderOf != nil && holders[b.holderOf(value)]
	return b.most == 0 || joins || len(holders) < b.most
}

// holders returns the holders that act in the share of an item.
func (r *reference) holders(b *refBudget, value work) map[string]bool {
	holders := map[string]bool{}
	for i, action := range r.actions {
		for _, spent := range action.spent {
			switch {
			case spent.budget != b || spent.share.name != b.nameOf(value):
			case b.holderOf == nil:
				holders[fmt.Sprint("action ", i)] = true
			default:
				holders[spent.holder] = true
			}
		}
	}
	return holders
}

func (r *reference) hasToken(b *refBudget, item *refItem) bool {
	wait, ok := r.wait(b, item.value)
	return ok && wait == 0
}

func (r *reference) take(b *refBudget, value work) refSpent {
	s := r.share(b, b.nameOf(value))
	s.left = false
	spent := refSpent{budget: b, share: s, counted: s.limit != rate.Inf}
	if b.holderOf != nil {
		spent.holder = b.holderOf(value)
	}
	if spent.counted {
		r.record(s, -refToken, s.burst)
	}
	return spent
}

// putBack adds a token again, up to the burst.
func (r *reference) putBack(spent refSpent) {
	if spent.counted {
		r.record(spent.share, refToken, spent.share.burst)
	}
}

// acts reports whether an action under way has taken of a share.
func (r *reference) acts(s *refShare) bool {
	return slices.ContainsFunc(r.actions, func(action *refAction) bool {
		return slices.ContainsFunc(action.spent,
			func(spent refSpent) bool { return spent.share == s })
	})
}

func (r *reference) setLimit(b *refBudget, name string, limit rate.Limit) {
	var s *refShare
	switch {
	case b.of == nil:
		s = r.share(b, "")
	case r.started:
		s = r.shareWithoutTokens(b, name)
	default:
		s = r.share(b, name)
	}
	s.own, s.left = limit != b.limit, false
	r.changeLimit(b, s, limit)
}

func (r *reference) removeShare(b *refBudget, s *refShare) {
	s.own, s.left = false, true
	r.changeLimit(b, s, b.limit)
}

func (r *reference) changeLimit(b *refBudget, s *refShare, limit rate.Limit) {
	s.limit = limit
	r.record(s, 0, s.burst)
	b.historyOf(s.name).limits(r.now, limit)
}

func (b *refBudget) forget(s *refShare) {
	b.shares = slices.DeleteFunc(b.shares, func(o *refShare) bool { return o == s })
}

// A refHistory is what the actions of a share's name did, whether there was a
// share of that name all along or not.
type refHistory struct{ log []refPast }

// A refPast is a new limit, or the start or the end of an action that took a
// token.
type refPast struct {
	at     time.Time
	limit  rate.Limit // of the time before
	starts bool
	ends   bool
	// The action that starts: its token is returned in the end.
	returned *bool
}

func (b *refBudget) historyOf(name string) *refHistory {
	h := b.history[name]
	if h == nil {
		h = &refHistory{[]refPast{{at: epoch, limit: b.limit}}}
		if b.history == nil {
			b.history = map[string]*refHistory{}
		}
		b.history[name] = h
	}
	return h
}

// A refPast holds the limit from it on.
func (h *refHistory) limits(now time.Time, limit rate.Limit) {
	h.log = append(h.log, refPast{at: now, limit: limit})
}

func (h *refHistory) starts(now time.Time) (returned *bool) {
	returned = new(bool)
	h.log = append(h.log, refPast{at: now, limit: h.log[len(h.log)-1].limit, starts: true,
		returned: returned})
	return returned
}

func (h *refHistory) ends(now time.Time) {
	h.log = append(h.log, refPast{at: now, limit: h.log[len(h.log)-1].limit, ends: true})
}

// excess returns by how much, in units, the actions done over any stretch are
// more than what the limit earns in it, plus the burst, plus what was acting
// when it began (Q10). An action whose token is returned is not done. The
// stretch may begin and end before or after each event.
func (h *refHistory) excess(burst int) int64 {
	const farAway = int64(1) << 60
	most, acting := int64(0), int64(0)
	for i := range h.log {
		done, allowed := int64(0), (int64(burst)+acting)*refToken
		for j := i; j < len(h.log); j++ {
			if j > i {
				before := h.log[j-1]
				allowed += earned(before.limit, h.log[j].at.Sub(before.at), farAway-allowed)
			}
			if h.log[j].starts && !*h.log[j].returned {
				done += refToken
			}
			most = max(most, done-allowed)
		}
		switch {
		case h.log[i].starts:
			acting++
		case h.log[i].ends:
			acting--
		}
	}
	return most
}
