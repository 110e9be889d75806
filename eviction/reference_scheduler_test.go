package eviction_test

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/eviction"
)

// A naive is the slow, obvious reference of a Scheduler. Its keys are a list that is
// looked through for each question, and a share is the list of all that has ever
// happened to it, from which its tokens are counted anew each time. It shares no code
// with the Scheduler.
type naive struct {
	keys    []*naiveKey
	budgets []*naiveBudget
	ranked  bool
	retry   time.Duration // First of the backoff, which has no other end than naiveMax
	now     time.Time
	serial  int
}

const naiveMax = 4 * time.Second

type naiveKey struct {
	name    string
	value   workload
	due     time.Time
	retryAt time.Time // zero for none
	place   int
	tries   int
	blocks  int

	acting  int // the number of the task, zero for none
	began   time.Time
	spent   []naiveToken
	removed bool // during the action
	back    bool // it was removed and set again during the action
	again   bool // it was set during the action
	off     bool // what the task is to be told
}

type naiveBudget struct {
	name   string
	of     func(workload) string
	limit  rate.Limit
	burst  int
	shares map[string]*naiveShare
}

// A naiveShare is what has happened to a share, in order.
type naiveShare struct {
	burst  float64
	events []naiveEvent
	takes  int
}

// A naiveEvent is a change of the limit, or of the tokens by one.
type naiveEvent struct {
	at     time.Time
	limit  rate.Limit // as from then
	tokens float64
	number int // of the token that was taken, zero for none
}

func (b *naiveBudget) share(key string, epoch time.Time) *naiveShare {
	if b.of == nil {
		key = ""
	}
	s := b.shares[key]
	if s == nil {
		s = &naiveShare{burst: float64(b.burst), events: []naiveEvent{{at: epoch, limit: b.limit}}}
		b.shares[key] = s
	}
	return s
}

func (s *naiveShare) limit() rate.Limit { return s.events[len(s.events)-1].limit }

// tokens counts from the beginning.
func (s *naiveShare) tokens(now time.Time) float64 {
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
func (s *naiveShare) wait(now time.Time) time.Duration {
	missing := 1 - s.tokens(now)
	switch {
	case s.limit() == 0:
		return -1
	case missing <= 0 || s.limit() == rate.Inf:
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(s.limit()) * 1e9))
}

// windows goes through all windows that begin with a start and returns how many these
// are, and by how much any has more starts than the burst and what the rate gives in that
// time. A start whose token was given back does not count.
func (s *naiveShare) windows() (checked int, excess float64) {
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
			starts -= s.events[j].tokens
			excess = max(excess, starts-s.burst-earned)
			checked++
		}
	}
	return checked, excess
}

// A naiveToken is one that was taken from a share: as the so-and-so-manyeth, counted
// from 1; zero for none.
type naiveToken struct {
	share  *naiveShare
	number int
}

func (s *naiveShare) take(now time.Time) naiveToken {
	if s.limit() == rate.Inf {
		return naiveToken{s, 0}
	}
	s.takes++
	s.events = append(s.events, naiveEvent{now, s.limit(), -1, s.takes})
	return naiveToken{s, s.takes}
}

// giveBack makes it as if the token had never been taken.
func (t naiveToken) giveBack() {
	for i, e := range t.share.events {
		if e.number == t.number && t.number != 0 {
			t.share.events = slices.Delete(t.share.events, i, i+1)
			return
		}
	}
}

func (n *naive) find(name string) *naiveKey {
	for _, k := range n.keys {
		if k.name == name {
			return k
		}
	}
	return nil
}

func (n *naive) drop(k *naiveKey) {
	n.keys = slices.DeleteFunc(n.keys, func(other *naiveKey) bool { return other == k })
}

func (n *naive) shares(k *naiveKey, epoch time.Time) (out []*naiveShare) {
	for _, b := range n.budgets {
		key := ""
		if b.of != nil {
			key = b.of(k.value)
		}
		out = append(out, b.share(key, epoch))
	}
	return out
}

// at is when a key's next try is.
func (k *naiveKey) at() time.Time {
	if k.retryAt.After(k.due) {
		return k.retryAt
	}
	return k.due
}

// goesBefore is the order in which keys leave.
func (n *naive) goesBefore(a, b *naiveKey) bool {
	switch {
	case !a.at().Equal(b.at()):
		return a.at().Before(b.at())
	case n.ranked && a.value.rank != b.value.rank:
		return a.value.rank < b.value.rank
	}
	return a.place < b.place
}

func (n *naive) nextPlace() int {
	n.serial++
	return n.serial
}

func (n *naive) set(name string, value workload, due time.Time) {
	k := n.find(name)
	switch {
	case k == nil:
		n.keys = append(n.keys, &naiveKey{name: name, value: value, due: due, place: n.nextPlace()})
		return
	case k.acting != 0:
		if k.removed {
			k.removed, k.back, k.place = false, true, n.nextPlace()
		}
		k.again, k.off = true, due.After(n.now)
	}
	k.value, k.due = value, due
}

func (n *naive) remove(name string) bool {
	k := n.find(name)
	switch {
	case k == nil || k.removed:
		return false
	case k.acting != 0:
		k.removed, k.off = true, true
	default:
		n.drop(k)
	}
	return true
}

// ready returns the keys that are due and for which all budgets have that many tokens,
// in order.
func (n *naive) ready(epoch time.Time, tokens float64) (out []*naiveKey) {
	for _, k := range n.keys {
		if k.acting != 0 || k.at().After(n.now) {
			continue
		}
		short := slices.ContainsFunc(n.shares(k, epoch), func(s *naiveShare) bool {
			return s.limit() == 0 || s.limit() != rate.Inf && s.tokens(n.now) < tokens
		})
		if !short {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b *naiveKey) int {
		if n.goesBefore(a, b) {
			return -1
		}
		return 1
	})
	return out
}

func (n *naive) start(k *naiveKey, epoch time.Time) {
	n.serial++
	k.acting, k.began, k.off = n.serial, k.at(), false
	k.removed, k.back, k.again = false, false, false
	k.due, k.retryAt = k.at(), time.Time{}
	k.spent = nil
	for _, s := range n.shares(k, epoch) {
		k.spent = append(k.spent, s.take(n.now))
	}
}

func (n *naive) finish(k *naiveKey, report eviction.Report) {
	outcome := report.Outcome
	if outcome < eviction.Evicted || outcome > eviction.Blocked || outcome == eviction.Unmarked {
		outcome = eviction.Failed
	}
	if outcome != eviction.Evicted && outcome != eviction.Failed {
		for _, token := range k.spent {
			token.giveBack()
		}
	}
	k.acting, k.spent = 0, nil
	backoff := func(after int) time.Duration {
		if report.Wait > 0 {
			return report.Wait
		}
		wait := n.retry
		for range after {
			wait = min(2*wait, naiveMax)
		}
		return wait
	}
	switch {
	case k.removed:
		n.drop(k)
	case k.back:
		k.tries, k.blocks = 0, 0
	case outcome == eviction.Failed:
		k.retryAt = n.now.Add(backoff(k.tries))
		k.tries, k.blocks = k.tries+1, 0
	case outcome == eviction.Blocked:
		k.retryAt = n.now.Add(backoff(k.blocks))
		k.blocks++
	case outcome == eviction.NotDue:
		k.retryAt, k.place = n.now.Add(max(report.Wait, time.Second)), n.nextPlace()
	case k.again:
		k.tries, k.blocks, k.place = 0, 0, n.nextPlace()
	default:
		n.drop(k)
	}
}

// next returns when the next key can be handed out if nothing else happens.
func (n *naive) next(epoch time.Time) (first time.Time, some bool) {
	for _, k := range n.keys {
		if k.acting != 0 {
			continue
		}
		at, held := latest(k.at(), n.now), false
		for _, s := range n.shares(k, epoch) {
			wait := s.wait(n.now)
			held = held || wait < 0
			at = latest(at, n.now.Add(wait))
		}
		if !held && (!some || at.Before(first)) {
			first, some = at, true
		}
	}
	return first, some
}
