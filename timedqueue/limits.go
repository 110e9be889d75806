package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// SetLimit changes the rate of one share of a budget, or of the budget itself if
// all items share it; then share is ignored. It returns false when there is no
// budget of that name. It never raises the tokens at hand: when zero, which
// holds, is lifted, what has become due meanwhile leaves at the new rate. A limit
// that is negative or not a number holds, like zero.
//
// A limit other than the budget's stays until it is set to that of the budget, or
// until [Queue.RemoveShare].
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
	s.own, s.left = sane(limit) != sane(b.Limit), false
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
	return sane(b.Limit), true
}

// RemoveShare says that a share has no limit of its own any more and that no more
// items of that name are expected. Items that are in it go on at the budget's
// limit. Once there are none, the share goes when its tokens are all there; or at
// once, when its tokens came from another share, which then has no more tokens
// than it had. An item that starts in the share takes RemoveShare back.
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
	s.own, s.left = false, true
	s.bucket.setLimit(q.now, b.Limit)
	q.file(s)
	q.dropRemoved(s)
}

// InheritShare says that what has used up the tokens of one share counts in
// another from now on, as when a zone gets another name. If the other share is
// new, or was removed, it has no more tokens than the one left: a change of names
// is no way to a full bucket. If it is in use, nothing changes.
//
// [Queue.SetValue] does this for the shares of its key. A caller that knows of
// changes which concern no key of the queue calls it itself. In both cases
// [Queue.RemoveShare] must follow when the share left is not used any more: a
// share with a limit of zero would stay otherwise.
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
	if s == left || known && !s.left {
		return
	}
	if !known {
		s = q.share(b, name)
		s.from = left
	}
	s.left = false
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
