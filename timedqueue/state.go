package timedqueue

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// QueueConfig says how fast a [Queue] hands out its items and how it retries
// them. The zero value has no budget: items start when they are due.
type QueueConfig[K comparable, V any] struct {
	// Budgets limit how fast items start. None is no limit.
	Budgets []Budget[K, V]

	// Less orders items that are due at the same time. Nil means in the order of
	// their insertion, which also orders equals. It must be a pure function.
	Less func(a, b V) bool

	// Backoff is the wait after a failed action.
	Backoff Backoff

	// KindOf returns an item's kind of work. It must be a pure function. Required
	// with Kinds, and when a budget has Reserved.
	KindOf func(key K, value V) string

	// Kinds are those that [Queue.OfKind] can tell apart, next to those with a
	// reserved part.
	Kinds []string
}

// Validate joins all that is wrong with the config.
func (c QueueConfig[K, V]) Validate() error {
	problems := []error{validateBudgets(c.Budgets), c.Backoff.Validate()}
	if c.KindOf == nil && len(c.kinds()) > 0 {
		problems = append(problems, fmt.Errorf(
			"%w: QueueConfig.KindOf is nil, want a function, since Reserved or Kinds are set",
			ErrInvalidConfig))
	}
	return errors.Join(problems...)
}

// kinds returns the names of the kinds that are told apart, in order.
func (c QueueConfig[K, V]) kinds() []string {
	names := slices.Clone(c.Kinds)
	for _, b := range c.Budgets {
		names = slices.AppendSeq(names, maps.Keys(b.Reserved))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A Queue holds unique keys, each with a value and a due time. It hands out the
// due ones as fast as its budgets allow. It has no clock and starts nothing.
//
// An operation costs O(log n), amortized; Start, Finish and SetValue cost that
// for each budget. Finish also visits the tokens of the item's shares that are
// out, at most one for each action under way.
//
// Start also moves due items to the shares that they wait for, and opens shares
// that have a token again: some thousands a call. An item that needs one scarce
// share moves once. One that needs two may move between them repeatedly.
//
// An entry takes its key twice, its value, and about 80 bytes.
//
// Now never goes backwards inside a queue: an earlier now than the last one
// counts as the last one. A Queue is not safe for concurrent use.
type Queue[K comparable, V any] struct {
	backoff Backoff
	epoch   time.Time     // dues are kept as distances from here
	now     time.Duration // the latest now, as a distance from epoch
	before  func(a, b *Entry[K, V]) bool

	entries  map[K]*Entry[K, V]
	freeList freeList[K, V]
	members  int // entries in the queue; entries also holds removed ones
	pending  int // members that are not idle
	peak     int // the most entries since the queue last released memory
	order    uint32
	starts   uint32

	kinds  []kind[K, V] // of work, by name; the last is that of all others
	names  []string     // of the kinds, except the last
	kindOf func(e *Entry[K, V]) int
	parts  *parts // that a budget reserves for kinds, or nil

	gates     []*budget[K, V]    // of all items
	keyed     []*budget[K, V]    // with shares
	closed    heap[*share[K, V]] // with items and no token, by when they have one
	idle      heap[*share[K, V]] // that can be dropped, by when they are full
	lanes     []*lane[K, V]      // by id
	freeLanes []uint32
	acting    []*Entry[K, V] // handed out, by index
	grants    []*grant[K, V] // for reuse
}

// kindNamed returns the kind of a name, which may be none of those told apart.
func (q *Queue[K, V]) kindNamed(name string) int {
	if i, found := slices.BinarySearch(q.names, name); found {
		return i
	}
	return len(q.names)
}

// A kind is the items of one kind of work that are not handed out.
type kind[K comparable, V any] struct {
	waiting heap[*Entry[K, V]] // by due time
	open    heap[*lane[K, V]]  // whose shares have a token, by their first items
	next    *Entry[K, V]       // that could start, while Start chooses
}

// A budget is a [Budget] with its shares. A budget of all items has a single
// share. While that has no token, nothing can start, so no item waits in it.
type budget[K comparable, V any] struct {
	Budget[K, V]
	shares  map[string]*share[K, V]
	peak    int // the most shares since the map was last made
	delayed int // items in the lanes of its shares
}

// A share is the part of a budget for the items of one name. The ready items
// that wait for it are in its lanes, one for each kind of work.
type share[K comparable, V any] struct {
	budget   *budget[K, V]
	name     string
	bucket   bucket
	lanes    []*lane[K, V]
	items    int                 // in the lanes
	from     *share[K, V]        // the share that its tokens came from, or nil
	heap     *heap[*share[K, V]] // nil for none
	index    int32
	ownLimit bool // its limit was set; it stays until it is removed
	removed  bool // no more items are expected; see RemoveShare
	dropped  bool // dropped; a share that came from it came from its from
}

// A lane is the ready items of one kind in a share, in order.
type lane[K comparable, V any] struct {
	id    uint32
	kind  int
	share *share[K, V]
	heap  heap[*Entry[K, V]]
	index int32
	open  bool // it is in the heap of open lanes of its kind
}

func (s *share[K, V]) setIndex(i int32) { s.index = i }
func (l *lane[K, V]) setIndex(i int32)  { l.index = i }

// A grant is the tokens that an item was started with.
type grant[K comparable, V any] struct {
	tokens []token[K, V]
}

type token[K comparable, V any] struct {
	share  *share[K, V]
	number uint64
}

// An Item is a key that [Queue.Start] handed out, or that [Queue.Get] showed.
type Item[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item became due.
	Due time.Time
	// Attempts counts the actions on this item that have failed.
	Attempts int

	queue *Queue[K, V]
	entry *Entry[K, V]
	grant *grant[K, V] // nil if no token was taken
	start uint32
}

// orderOf orders entries with the same due time.
func orderOf[K comparable, V any](less func(a, b V) bool) func(a, b *Entry[K, V]) bool {
	inserted := func(a, b *Entry[K, V]) bool { return int32(a.order-b.order) < 0 }
	if less == nil {
		return inserted
	}
	return func(a, b *Entry[K, V]) bool {
		if less(a.value, b.value) {
			return true
		}
		return !less(b.value, a.value) && inserted(a, b)
	}
}

func comesBefore[K comparable, V any](a, b *Entry[K, V], tie func(a, b *Entry[K, V]) bool) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return tie(a, b)
}

// Advance sets the queue's time and returns it: now, or the latest time that
// any call has passed if that is later.
func (q *Queue[K, V]) Advance(now time.Time) time.Time {
	at := min(q.distance(now), maxNow)
	if at >= q.now {
		q.now = at
		if at < maxNow {
			return now
		}
	}
	return q.time(q.now)
}

// distance saturates at about 292 years from the queue's creation, right before
// never.
func (q *Queue[K, V]) distance(t time.Time) time.Duration {
	return min(t.Sub(q.epoch), math.MaxInt64-1)
}

func (q *Queue[K, V]) time(d time.Duration) time.Time { return q.epoch.Add(d) }

// maxNow bounds a queue's now, at 146 years from its epoch, so that now and a
// wait can be added.
const maxNow = never - maxWait - 1
