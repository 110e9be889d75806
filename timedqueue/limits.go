package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// SetLimit changes the rate of one share of a budget. For a budget of all items
// it changes the budget's, and share is ignored. It returns false when there is
// no budget of that name.
//
// A limit of zero holds the share's items, also while a token is at hand.
// SetLimit never raises the tokens at hand: when items are no longer held,
// those that have become due leave at the new rate. A limit that is negative or
// not a number holds, like zero.
//
// A limit other than the budget's stays until it is set to that of the budget,
// or until [Queue.RemoveShare].
func (q *Queue[K, V]) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	b := q.budget(budget)
	if b == nil {
		return false
	}
	q.Advance(now)
	if b.ShareOf == nil {
		share = ""
	}
	s := q.share(b, share)
	s.ownLimit, s.removed = normalize(limit) != normalize(b.Limit), false
	s.bucket.setLimit(q.now, limit)
	q.file(s)
	return true
}

// Limit returns the rate of a share, and false when there is no such budget.
func (q *Queue[K, V]) Limit(budget, share string) (rate.Limit, bool) {
	b := q.budget(budget)
	if b == nil {
		return 0, false
	}
	if b.ShareOf == nil {
		share = ""
	}
	if s, known := b.shares[share]; known {
		return s.bucket.limit, true
	}
	return normalize(b.Limit), true
}

// Delayed returns how many due items wait for a share of a budget, as far as
// Start has found that. It reads a running count. For a budget of all items it
// is zero; see [Queue.Exhausted].
func (q *Queue[K, V]) Delayed(budget string) int {
	b := q.budget(budget)
	if b == nil {
		return 0
	}
	return b.delayed
}

// Exhausted reports whether a budget of all items has no token, so that it
// delays each item that is due.
func (q *Queue[K, V]) Exhausted(now time.Time, budget string) bool {
	q.Advance(now)
	b := q.budget(budget)
	if b == nil || b.ShareOf != nil {
		return false
	}
	wait, ok := b.shares[""].bucket.until(q.now)
	return !ok || wait > 0
}

// RemoveShare lets the queue forget a share that no more items are expected in,
// for example when its zone is gone. The share's limit becomes the budget's
// again, and the items in it go on. An item that starts cancels the removal.
//
// An empty share without an action under way is forgotten when it has all its
// tokens. Until then, a new share of that name would have more. At a limit of
// zero it never gets them. A share that got its tokens by [Queue.InheritShare]
// is forgotten at once. The share that they came from then keeps no more tokens
// than it had.
//
// A queue forgets shares without a limit of their own also without RemoveShare,
// once they are empty and have all their tokens.
func (q *Queue[K, V]) RemoveShare(now time.Time, budget, share string) {
	b := q.budget(budget)
	if b == nil || b.ShareOf == nil {
		return
	}
	s, known := b.shares[share]
	if !known {
		return
	}
	q.Advance(now)
	s.ownLimit, s.removed = false, true
	s.bucket.setLimit(q.now, b.Limit)
	q.file(s)
	q.dropRemoved(s)
}

// InheritShare makes a new share start with the tokens that another has,
// instead of its full burst. It is for work that moves from one share to
// another, for example when a zone is renamed. Otherwise each new name would
// allow a burst. A share that was removed also gets no more tokens than the
// other has. If the share is in use, or there is no share with the name from,
// nothing changes.
//
// [Queue.SetValue] does this when its key changes shares. The caller does it
// for changes that concern no key of the queue, and before [Queue.Refile]. When
// the former share is no longer used, [Queue.RemoveShare] should follow. At a
// limit of zero that share would otherwise stay forever.
func (q *Queue[K, V]) InheritShare(now time.Time, budget, share, from string) {
	if b := q.budget(budget); b != nil && b.ShareOf != nil {
		q.Advance(now)
		q.inherit(b, share, from)
	}
}

func (q *Queue[K, V]) inherit(b *budget[K, V], name, from string) {
	left, known := b.shares[from]
	if !known { // it would be full, and so is a new one
		return
	}
	s, known := b.shares[name]
	if s == left || known && !s.removed {
		return
	}
	if !known {
		s = q.share(b, name)
		s.from = left
	}
	s.removed = false
	s.bucket.lower(q.now, &left.bucket)
	q.file(s)
}

func (q *Queue[K, V]) budget(name string) *budget[K, V] {
	for _, budgets := range [...][]*budget[K, V]{q.gates, q.keyed} {
		for _, b := range budgets {
			if b.Name == name {
				return b
			}
		}
	}
	return nil
}
