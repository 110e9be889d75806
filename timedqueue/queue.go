package timedqueue

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// ErrInvalidConfig is wrapped by every error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid timedqueue config")

// Config says how fast a [Queue] releases its items and how it retries them.
type Config struct {
	// Limit is how many actions start a second. [rate.Inf] is no limit. Zero, the
	// default, holds everything until SetLimit: a queue that nobody gave a rate
	// acts on nothing.
	Limit rate.Limit

	// Burst is how many tokens the queue can save up. It starts with all of them.
	// Zero means 1.
	Burst int

	// Backoff is the wait after a failed action.
	Backoff Backoff
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if c.Limit < 0 || math.IsNaN(float64(c.Limit)) {
		return fmt.Errorf("%w: Limit is %v, want zero or more", ErrInvalidConfig, c.Limit)
	}
	if c.Burst < 0 {
		return fmt.Errorf("%w: Burst is %d, want zero or more", ErrInvalidConfig, c.Burst)
	}
	return c.Backoff.Validate()
}

// A Queue holds unique keys, each with a value and due at a time, and releases
// the due ones at a rate. It is the core: it keeps no clock and starts nothing.
//
// Every operation is O(log n) at most and, but for growth, allocates nothing.
// An entry costs its key twice, its value, and about 100 bytes. A queue gives
// the memory of its entries back when it becomes empty, not before.
//
// Now never goes backwards inside a queue: an earlier now than the last one
// counts as the last one. A Queue is not safe for concurrent use.
type Queue[K comparable, V any] struct {
	backoff Backoff
	bucket  Bucket
	epoch   time.Time     // dues are kept as distances from here
	now     time.Duration // the latest now, as a distance from epoch

	entries map[K]*entry[K, V]
	waiting heap[*entry[K, V]]
	spare   *spare[K, V]
	members int // entries that are in the queue; entries also holds removed ones that still act
	peak    int // the most entries since it last gave its memory back

	// sequence numbers insertions and starts. A Group's queues share it, as they
	// share spare, so that it also tells whose item an item is.
	sequence *uint64
}

// An Item is a key that [Queue.Start] handed out, or that [Queue.Get] showed.
type Item[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item became due.
	Due time.Time
	// Tries counts the actions on this item that have failed.
	Tries int

	start    uint64
	sequence *uint64 // of the queue or group that handed it out
	token    Token   // which can be given back
}

// New returns an empty queue. It holds its burst of tokens from now on.
func New[K comparable, V any](config Config, now time.Time) (*Queue[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return newQueue(config, now, new(uint64), new(spare[K, V])), nil
}

func newQueue[K comparable, V any](config Config, epoch time.Time, sequence *uint64, spare *spare[K, V]) *Queue[K, V] {
	return &Queue[K, V]{
		backoff:  config.Backoff.withDefaults(),
		bucket:   NewBucket(config.Limit, config.Burst),
		epoch:    epoch,
		entries:  make(map[K]*entry[K, V]),
		spare:    spare,
		sequence: sequence,
	}
}

// Add puts a key into the queue. When the key is there already, waiting or
// acting, Add changes nothing and returns false.
func (q *Queue[K, V]) Add(key K, value V, due time.Time) bool {
	e, known := q.entries[key]
	if known && e.member {
		return false
	}
	*q.sequence++
	if !known {
		e = q.spare.take()
		e.key = key
		q.entries[key] = e
		q.peak = max(q.peak, len(q.entries))
	}
	e.value, e.order, e.tries, e.member = value, *q.sequence, 0, true
	e.due = q.distance(due)
	q.members++
	if e.acting() {
		e.again = true
		return true
	}
	q.push(e)
	return true
}

// Refresh replaces the value of a key that is in the queue. The key keeps its
// place. An action that is under way keeps the value that it was started with.
func (q *Queue[K, V]) Refresh(key K, value V) bool {
	e, ok := q.member(key)
	if !ok {
		return false
	}
	e.value = value
	return true
}

// Reschedule makes a key that is in the queue due at another time, earlier or
// later. Among keys due at the same time it keeps the order of its insertion.
// During an action it wins over the action's result: the key stays, due at that
// time.
func (q *Queue[K, V]) Reschedule(key K, due time.Time) bool {
	e, ok := q.member(key)
	if !ok {
		return false
	}
	at := q.distance(due)
	if e.acting() {
		e.again, e.due = true, at
		return true
	}
	if at != e.due {
		e.due = at
		q.waiting.move(int(e.index), int64(at), e.order)
	}
	return true
}

// Remove takes a key out of the queue; it reports whether it was there. The
// result of an action that is under way no longer matters.
func (q *Queue[K, V]) Remove(key K) bool {
	e, ok := q.member(key)
	if !ok {
		return false
	}
	q.members--
	if e.acting() {
		var none V
		e.member, e.again, e.value = false, false, none
		return true
	}
	q.waiting.remove(int(e.index))
	q.drop(e)
	return true
}

// Get shows a key that is in the queue.
func (q *Queue[K, V]) Get(key K) (Item[K, V], bool) {
	e, ok := q.member(key)
	if !ok {
		return Item[K, V]{}, false
	}
	item := q.item(e)
	item.start = 0 // what Get shows, Finish does not take
	return item, true
}

// Len returns how many keys are in the queue, waiting or acting.
func (q *Queue[K, V]) Len() int { return q.members }

// SetLimit changes the rate; see [Config.Limit]. It never raises the tokens at
// hand. A limit that is negative or not a number holds everything, like zero.
func (q *Queue[K, V]) SetLimit(now time.Time, limit rate.Limit) {
	q.advance(now)
	q.bucket.SetLimit(q.now, limit)
}

// Limit returns the rate.
func (q *Queue[K, V]) Limit() rate.Limit { return q.bucket.limit }

// Start hands out the first key that is due, if a token is at hand, and spends
// the token. The key is acting until [Queue.Finish].
func (q *Queue[K, V]) Start(now time.Time) (Item[K, V], bool) {
	q.advance(now)
	if len(q.waiting.places) == 0 || time.Duration(q.waiting.places[0].due) > q.now {
		return Item[K, V]{}, false
	}
	token, ok := q.bucket.Take(q.now)
	if !ok {
		return Item[K, V]{}, false
	}
	e := q.waiting.places[0].element
	q.waiting.remove(0)
	*q.sequence++
	e.start = *q.sequence
	item := q.item(e)
	item.token = token
	return item, true
}

// Finish says how the action on an item ended. Each started item is finished
// once; a second Finish, or one for an item of another queue, changes nothing.
func (q *Queue[K, V]) Finish(now time.Time, item Item[K, V], result Result) {
	e, ok := q.entries[item.Key]
	if !ok || !e.acting() || e.start != item.start || q.sequence != item.sequence {
		return
	}
	q.advance(now)
	e.start = 0
	if result.Outcome == Nothing {
		item.token.GiveBack(q.now)
	}
	switch {
	case !e.member:
		q.drop(e)
	case e.again:
		e.again = false
		q.push(e)
	case result.Outcome == Failed:
		q.retry(e, result.Wait)
	default:
		q.members--
		q.drop(e)
	}
}

// Next returns the earliest time at which Start can hand something out, which
// is now or before when it can already. It returns false when nothing waits or
// the limit is zero; then only a change of the queue makes a difference.
func (q *Queue[K, V]) Next(now time.Time) (time.Time, bool) {
	q.advance(now)
	at, ok := q.next()
	if !ok {
		return time.Time{}, false
	}
	return q.time(at), true
}

func (q *Queue[K, V]) next() (time.Duration, bool) {
	if len(q.waiting.places) == 0 {
		return 0, false
	}
	wait, ok := q.bucket.Until(q.now)
	if !ok {
		return 0, false
	}
	due := time.Duration(q.waiting.places[0].due)
	if wait == 0 {
		return due, true
	}
	return max(due, q.now+wait), true
}

func (q *Queue[K, V]) retry(e *entry[K, V], wait time.Duration) {
	if wait <= 0 {
		wait = q.backoff.delay(int(e.tries))
	}
	if e.tries < math.MaxUint16 {
		e.tries++
	}
	e.due = q.now + min(wait, maxWait)
	q.push(e)
}

func (q *Queue[K, V]) push(e *entry[K, V]) {
	q.waiting.push(int64(e.due), e.order, e)
}

// detach takes an entry out of this queue as it is, for attach of another.
func (q *Queue[K, V]) detach(e *entry[K, V]) {
	q.waiting.remove(int(e.index))
	delete(q.entries, e.key)
	q.members--
	q.shrink()
}

// attach takes over an entry that waits. Both queues have the same epoch.
func (q *Queue[K, V]) attach(e *entry[K, V]) {
	q.entries[e.key] = e
	q.peak = max(q.peak, len(q.entries))
	q.members++
	q.push(e)
}

// drop forgets an entry that neither waits nor acts.
func (q *Queue[K, V]) drop(e *entry[K, V]) {
	delete(q.entries, e.key)
	q.spare.giveBack(e)
	q.shrink()
}

// shrink gives an empty queue's memory back.
func (q *Queue[K, V]) shrink() {
	if len(q.entries) > 0 || q.peak <= keptWhenEmpty {
		return
	}
	q.entries = make(map[K]*entry[K, V])
	q.waiting = heap[*entry[K, V]]{}
	*q.spare = spare[K, V]{}
	q.peak = 0
}

// keptWhenEmpty is the size up to which an empty queue keeps its memory, so that
// one that empties and fills all the time does not allocate each time.
const keptWhenEmpty = 1024

func (q *Queue[K, V]) member(key K) (*entry[K, V], bool) {
	e, ok := q.entries[key]
	if !ok || !e.member {
		return nil, false
	}
	return e, true
}

func (q *Queue[K, V]) item(e *entry[K, V]) Item[K, V] {
	return Item[K, V]{Key: e.key, Value: e.value, Due: q.time(e.due), Tries: int(e.tries), start: e.start, sequence: q.sequence}
}

// advance moves the queue's now forward, never back: the bucket would earn the
// same time twice.
func (q *Queue[K, V]) advance(now time.Time) {
	q.now = max(q.now, min(q.distance(now), maxNow))
}

// distance saturates at about 292 years from the queue's creation.
func (q *Queue[K, V]) distance(t time.Time) time.Duration { return t.Sub(q.epoch) }

func (q *Queue[K, V]) time(d time.Duration) time.Time { return q.epoch.Add(d) }
