package timedqueue

import "time"

// An Entry is a key's place in a [Queue]. A caller that keeps its record of a
// key in the queue finds the entry once and then needs no map. An entry belongs
// to its queue and is not safe for concurrent use either.
//
// After its key has left the queue, the queue ignores it. However, a key that
// is removed and added again during its action has the same entry as before.
type Entry[K comparable, V any] struct {
	key      K
	value    V
	due      time.Duration
	order    uint32 // of insertion; compared so that it may wrap
	link     uint32 // waiting: its kind; ready: its lane; acting: the number of its start
	index    int32  // in its heap, or among those that are acted on; or inList
	shares   uint32 // the hash of its shares' names, zero before it needs one
	attempts uint16
	state    state
	kept     bool // a caller holds it, so it is not used for another key

	previous, next *Entry[K, V] // in the list of a timeline, or of free entries
}

// Key returns the entry's key.
func (e *Entry[K, V]) Key() K { return e.key }

// Value returns where the queue keeps the key's value. The caller may change
// it. When what a budget, Less or KindOf reads has changed, [Queue.Refile] must
// follow before any other use of the queue.
func (e *Entry[K, V]) Value() *V { return &e.value }

// state is where an entry is in its life:
//
//	        Schedule            due, no token
//	idle ─────────────► waiting ─────────────► ready
//	 ▲ ◄───────────────  │  ▲ ◄───────────────  │
//	 │     Unschedule    │  │     Refile        │
//	 │                   └──┴──► acting ◄───────┘
//	 │                      Start  │ │
//	 │    Finish: stays, no time   │ │  Schedule, Unschedule
//	 ├─────────────────────────────┘ ▼
//	 │                            changed ──Finish──► waiting, idle
//	 └──Remove──► out          Remove │
//	                                  ▼
//	                               removed ──Finish──► out
//	                                  │ ▲
//	                        Add, Keep ▼ │ Remove
//	                              replaced ──Finish──► waiting, idle
//
// Finish also takes acting to waiting (failed, continued, postponed) and to out
// (done, skipped). Remove takes each state but removed to out, and acting,
// changed and replaced to removed.
type state uint8

const (
	// out: not in the queue.
	out state = iota
	// idle: in the queue, with no due time.
	idle
	// waiting: in the timeline of its kind.
	waiting
	// ready: due, and in a lane of a share that did not admit it.
	ready
	// acting: handed out. The result of the action decides what comes next.
	acting
	// changed: handed out. A call has decided meanwhile when it is due next; a
	// result that failed can only delay that.
	changed
	// removed: handed out, and removed meanwhile. It is kept until the action
	// ends, so that its key is not acted on twice at a time.
	removed
	// replaced: handed out, removed, and put into the queue again. The result of
	// the action is that of its former self.
	replaced
)

func (s state) String() string {
	return [...]string{"out", "idle", "waiting", "ready", "acting", "changed", "removed", "replaced"}[s]
}

// member reports whether the key counts as being in the queue.
func (s state) member() bool { return s != out && s != removed }

// handedOut reports whether an action is under way.
func (s state) handedOut() bool { return s >= acting }

// describe sets what a new item, or one that was started, says of the entry.
func (e *Entry[K, V]) describe(item *Item[K, V], c *clock) {
	item.Key, item.Value, item.Attempts = e.key, e.value, int(e.attempts)
	if e.due != never {
		item.Due = c.time(e.due)
	}
}

func (e *Entry[K, V]) setIndex(i int32) { e.index = i }

// freeList keeps entries for reuse, so that a key that is removed and added
// again allocates nothing. It holds at most extraFree more than are in use.
type freeList[K comparable, V any] struct {
	first *Entry[K, V]
	size  int
}

const extraFree = 1024

func (s *freeList[K, V]) take() *Entry[K, V] {
	e := s.first
	if e == nil {
		return new(Entry[K, V])
	}
	s.first, e.next = e.next, nil
	s.size--
	return e
}

func (s *freeList[K, V]) giveBack(e *Entry[K, V], inUse int) {
	kept := e.kept
	*e = Entry[K, V]{kept: kept}
	if !kept && s.size < inUse+extraFree {
		s.first, e.next = e, s.first
		s.size++
	}
}
