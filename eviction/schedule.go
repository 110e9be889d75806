package eviction

import (
	"container/heap"
	"iter"
	"math"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A schedule is what a [Scheduler] and a [Tracker] have in common: entries, each of
// which may have to be acted on at a time, and budgets that say how fast.
//
// It is not a timedqueue.Queue, which is limited by one rate: here an entry needs a
// token of each of several budgets, and which ones depends on the entry. And a
// tracker keeps a million pods; with the pod's record in the entry, one map and one
// heap of pointers, that is half of what a queue and a map beside it take.
type schedule[K comparable, V any] struct {
	retry timedqueue.Backoff
	// recheck, if it is not nil, is asked about an entry that is about to be handed
	// out. If the entry has to wait for another time, it sets that and returns false.
	recheck func(e *entry[K, V]) bool

	entries map[K]*entry[K, V]
	epoch   time.Time     // times are kept as distances from here
	now     time.Duration // the latest that was passed in
	order   uint32        // numbers what begins to wait
	pending int           // entries that wait or are acted on

	waiting queue[K, V] // in order of their times
	free    queue[K, V] // like waiting, of what needs no tokens
	acting  map[*entry[K, V]]struct{}
	budgets budgets[K, V]
}

// An entry is a key's state. It is in one of these:
//
//	idle      known, and nothing is to be done
//	waiting   in the heap waiting or free, until its time
//	parked    in the heap of a share, whose tokens are used up
//	acting    handed out, until finish
type entry[K comparable, V any] struct {
	key     K
	value   V
	due     time.Duration
	attempt *attempt[K, V] // nil until there is something to tell
	index   int32          // in its heap, or notQueued
	order   uint32         // of insertion, zero for none; compared so that it may wrap
}

const notQueued = -1

// An attempt is what there is to know of an entry that does not simply wait. It is
// apart from it, because of a million entries few have one.
type attempt[K comparable, V any] struct {
	acting  bool          // it is handed out; the next time it is another attempt
	retryAt time.Duration // not before this, since an attempt has failed
	tries   int           // attempts that have failed
	blocks  int           // attempts in a row that a PodDisruptionBudget has refused
	free    bool          // it needs no tokens
	pinned  bool          // while it acted it was given a time anew: that it is done does not count
	gone    bool          // while it acted its key was removed
	revived bool          // it was removed and is back: what comes of the attempt does not count
	looked  bool          // the tracker has observed it since it was handed out
	parked  *share[K, V]
	tokens  []spent[K, V] // that it has used up
	// off tells the action that there is nothing to do any more.
	off signal
}

func newSchedule[K comparable, V any](retry timedqueue.Backoff, now time.Time) *schedule[K, V] {
	s := &schedule[K, V]{
		retry:   retry,
		epoch:   now,
		entries: make(map[K]*entry[K, V]),
		acting:  make(map[*entry[K, V]]struct{}),
	}
	s.orderBy(nil)
	return s
}

// before returns the order in which entries leave: by time, then as first says, then
// by insertion.
func (s *schedule[K, V]) before(first func(a, b *V) bool) func(a, b *entry[K, V]) bool {
	return func(a, b *entry[K, V]) bool {
		if a.due != b.due {
			return a.due < b.due
		}
		if first != nil {
			if first(&a.value, &b.value) {
				return true
			}
			if first(&b.value, &a.value) {
				return false
			}
		}
		return int32(a.order-b.order) < 0
	}
}

// orderBy sets who goes first among those that are due at the same time. To be
// called while the schedule is empty.
func (s *schedule[K, V]) orderBy(first func(a, b *V) bool) {
	before := s.before(first)
	s.waiting.before, s.free.before = before, before
	s.budgets.orderBy(before)
}

// add makes a key known. It must not be known yet.
func (s *schedule[K, V]) add(key K, value V) *entry[K, V] {
	e := &entry[K, V]{key: key, value: value, index: notQueued}
	s.entries[key] = e
	return e
}

// find returns the entry of a key, unless it was removed.
func (s *schedule[K, V]) find(key K) (*entry[K, V], bool) {
	e, known := s.entries[key]
	if !known || e.gone() {
		return nil, false
	}
	return e, true
}

// remove forgets an entry. One that acts stays until the end of the action, so that
// its key is not acted on twice at a time.
func (s *schedule[K, V]) remove(e *entry[K, V]) {
	if e.acts() {
		e.attempt.gone = true
		e.attempt.off.Store(true)
		s.pending--
		return
	}
	s.withdraw(e)
	delete(s.entries, e.key)
}

// revive brings back an entry that was removed while it acted.
func (s *schedule[K, V]) revive(e *entry[K, V]) {
	e.attempt.gone, e.attempt.revived = false, true
	e.order = 0
	s.number(e)
	s.pending++
}

func (e *entry[K, V]) acts() bool   { return e.attempt != nil && e.attempt.acting }
func (e *entry[K, V]) gone() bool   { return e.attempt != nil && e.attempt.gone }
func (e *entry[K, V]) free() bool   { return e.attempt != nil && e.attempt.free }
func (e *entry[K, V]) queued() bool { return e.index != notQueued }

// place makes an entry wait until its time, or until its next try if that is later.
// An entry that waits already keeps its place among those of the same time. It must
// not act.
func (s *schedule[K, V]) place(e *entry[K, V], due time.Duration, free bool) {
	if e.attempt != nil && e.attempt.retryAt != 0 {
		due = max(due, e.attempt.retryAt)
	}
	if !e.queued() {
		s.pending++
		s.number(e)
	} else if e.due == due && e.free() == free {
		return
	} else {
		s.take(e)
	}
	e.due = due
	if free && e.attempt == nil {
		e.attempt = new(attempt[K, V])
	}
	if e.attempt != nil {
		e.attempt.free = free
	}
	s.queue(e)
}

// queue puts an entry into the heap in which it waits for its time.
func (s *schedule[K, V]) queue(e *entry[K, V]) {
	if e.free() {
		heap.Push(&s.free, e)
		return
	}
	heap.Push(&s.waiting, e)
}

// change changes what the place of an entry and its shares depend on. One that waits
// goes on to do so.
func (s *schedule[K, V]) change(e *entry[K, V], f func(v *V)) {
	if !e.queued() {
		f(&e.value)
		return
	}
	s.take(e)
	f(&e.value)
	s.queue(e)
}

// number gives an entry its place among those of the same time, if it has none yet.
func (s *schedule[K, V]) number(e *entry[K, V]) {
	if e.order == 0 {
		s.order = max(s.order+1, 1) // zero is none
		e.order = s.order
	}
}

// withdraw makes an entry wait for nothing. When it may be tried again, after an
// attempt that has failed, is not forgotten. It must not act.
func (s *schedule[K, V]) withdraw(e *entry[K, V]) {
	if e.queued() {
		s.take(e)
		s.pending--
	}
	e.order = 0
	if e.attempt == nil {
		return
	}
	e.attempt.tries, e.attempt.blocks = 0, 0
	if e.attempt.retryAt == 0 {
		e.attempt = nil
	}
}

// reconsider makes an entry that stands in a share be looked at again: its shares may
// be other ones by now.
func (s *schedule[K, V]) reconsider(e *entry[K, V]) {
	if e.attempt != nil && e.attempt.parked != nil {
		s.take(e)
		s.queue(e)
	}
}

// take takes an entry out of the heap that it is in.
func (s *schedule[K, V]) take(e *entry[K, V]) {
	switch {
	case e.attempt != nil && e.attempt.parked != nil:
		s.budgets.unpark(e, s.now)
	case e.free():
		heap.Remove(&s.free, int(e.index))
	default:
		heap.Remove(&s.waiting, int(e.index))
	}
}

// start hands out an entry whose time has come and for which there are tokens, and
// uses those up. When very many come due together for which there are none, it parks
// some of them and returns; next says now then. The caller holds a lock, which others
// want in between.
func (s *schedule[K, V]) start() (*entry[K, V], bool) {
	s.budgets.open(s.now)
	for range mostMoves {
		e := s.candidate()
		if e == nil {
			return nil, false
		}
		if s.recheck != nil && !s.recheck(e) {
			continue
		}
		if !e.free() {
			if full := s.budgets.exhausted(e, s.now); full != nil {
				s.take(e)
				s.budgets.park(e, full, s.now)
				continue
			}
		}
		s.take(e)
		s.begin(e)
		return e, true
	}
	return nil, false
}

// mostMoves are some ten milliseconds.
const mostMoves = 10_000

// candidate returns the entry that would go next, if it has its tokens.
func (s *schedule[K, V]) candidate() *entry[K, V] {
	if e := s.free.first(); e != nil && e.due <= s.now {
		return e
	}
	if wait, ok := s.budgets.wait(s.now); !ok || wait > 0 {
		return nil
	}
	e, parked := s.waiting.first(), s.budgets.first()
	if e != nil && e.due > s.now {
		e = nil
	}
	if parked != nil && (e == nil || s.waiting.before(parked, e)) {
		return parked
	}
	return e
}

// begin hands an entry out. The attempt that it begins tells it from all others: who
// finishes a former one has another.
func (s *schedule[K, V]) begin(e *entry[K, V]) {
	a := &attempt[K, V]{acting: true, free: e.free()}
	if before := e.attempt; before != nil {
		a.tries, a.blocks = before.tries, before.blocks
	}
	if !a.free {
		a.tokens = s.budgets.spend(e, s.now)
	}
	e.attempt = a
	s.acting[e] = struct{}{}
}

// finish takes what came of an attempt that is under way. It reports whether the
// entry has something left to do, which the caller has to place then.
func (s *schedule[K, V]) finish(e *entry[K, V], report Report) bool {
	a := e.attempt
	outcome := report.Outcome.of(a.free)
	delete(s.acting, e)
	if outcome != Evicted && outcome != Failed {
		s.budgets.giveBack(a.tokens, s.now)
	}
	a.acting, a.tokens, a.free = false, nil, false
	if a.gone {
		delete(s.entries, e.key)
		return false
	}
	s.pending--
	if a.revived {
		e.attempt = nil
		return true
	}
	switch outcome {
	case Failed:
		a.retryAt = s.now + wait(report.Wait, s.retry.Delay(a.tries))
		a.tries, a.blocks = a.tries+1, 0
	case Blocked:
		a.retryAt = s.now + wait(report.Wait, s.retry.Delay(a.blocks))
		a.blocks++
	case NotDue:
		a.retryAt, e.order = s.now+wait(max(report.Wait, cacheDelay), 0), 0
	default:
		e.attempt, e.order = nil, 0
		return a.pinned
	}
	a.pinned = false
	return true
}

// underWay reports whether an attempt is that which an entry of this schedule is in.
func (s *schedule[K, V]) underWay(e *entry[K, V], a *attempt[K, V]) bool {
	_, acting := s.acting[e]
	return acting && e.attempt == a
}

// wait returns how long a report asks to wait, and the other duration if it does not.
func wait(asked, otherwise time.Duration) time.Duration {
	if asked <= 0 {
		asked = otherwise
	}
	return min(asked, longestWait)
}

// longestWait keeps sums of times from overflowing.
const longestWait = longestToleration * time.Second

// next returns when start can next hand something out.
func (s *schedule[K, V]) next() (time.Duration, bool) {
	earliest := time.Duration(math.MaxInt64)
	if e := s.free.first(); e != nil {
		earliest = e.due
	}
	if wait, ok := s.budgets.wait(s.now); ok {
		earliest = min(earliest, max(s.nextPaid(), s.now+wait))
	}
	return earliest, earliest < math.MaxInt64
}

// nextPaid is next for those that need tokens, as if those that all share were there.
func (s *schedule[K, V]) nextPaid() time.Duration {
	at := s.budgets.next(s.now)
	if e := s.waiting.first(); e != nil {
		at = min(at, e.due)
	}
	return at
}

// all goes through everything that is to be done, in no order.
func (s *schedule[K, V]) all() iter.Seq[*entry[K, V]] {
	return func(yield func(*entry[K, V]) bool) {
		for _, q := range [...]*queue[K, V]{&s.free, &s.waiting} {
			for _, e := range q.entries {
				if !yield(e) {
					return
				}
			}
		}
		for e := range s.budgets.parked() {
			if !yield(e) {
				return
			}
		}
		for e := range s.acting {
			if !e.gone() && !yield(e) {
				return
			}
		}
	}
}

// advance moves the time forward, never back.
func (s *schedule[K, V]) advance(now time.Time) {
	s.now = max(s.now, min(s.distance(now), latest))
}

// latest bounds now, so that a wait can be added to it.
const latest = math.MaxInt64 - longestWait

// distance saturates at about 292 years from the beginning.
func (s *schedule[K, V]) distance(t time.Time) time.Duration { return t.Sub(s.epoch) }

func (s *schedule[K, V]) time(d time.Duration) time.Time { return s.epoch.Add(d) }

// A queue is a heap of entries that know where they stand in it.
type queue[K comparable, V any] struct {
	entries []*entry[K, V]
	before  func(a, b *entry[K, V]) bool
}

var _ heap.Interface = (*queue[int, int])(nil)

func (q *queue[K, V]) Len() int           { return len(q.entries) }
func (q *queue[K, V]) Less(i, j int) bool { return q.before(q.entries[i], q.entries[j]) }

func (q *queue[K, V]) Swap(i, j int) {
	q.entries[i], q.entries[j] = q.entries[j], q.entries[i]
	q.entries[i].index, q.entries[j].index = int32(i), int32(j)
}

// Push and Pop are for package heap.
func (q *queue[K, V]) Push(x any) {
	e, _ := x.(*entry[K, V]) // nothing else is pushed
	e.index = int32(len(q.entries))
	q.entries = append(q.entries, e)
}

func (q *queue[K, V]) Pop() any {
	last := len(q.entries) - 1
	e := q.entries[last]
	q.entries[last] = nil
	q.entries = q.entries[:last]
	e.index = notQueued
	return e
}

func (q *queue[K, V]) first() *entry[K, V] {
	if len(q.entries) == 0 {
		return nil
	}
	return q.entries[0]
}
