package timedqueue

import "time"

// An entry is a key's state. It is in one of four:
//
//	waiting        member, in the heap
//	acting         member, start is set
//	acting, gone   removed during the action; kept so that the key is not started twice
//	acting, again  added again or rescheduled during the action; waits for its end
type entry[K comparable, V any] struct {
	key    K
	value  V
	due    time.Duration
	order  uint64
	start  uint64 // which Start handed it out; zero when it does not act
	index  int32  // in the heap, while it waits
	tries  uint16
	member bool
	again  bool
}

func (e *entry[K, V]) acting() bool { return e.start != 0 }

func (e *entry[K, V]) setIndex(i int32) { e.index = i }

// spare keeps entries for reuse. They are allocated many at a time: one
// allocation an entry would cost more than the rest of Add.
type spare[K comparable, V any] struct {
	free  []*entry[K, V]
	chunk []entry[K, V]
}

const (
	firstChunk = 8
	maxChunk   = 512
)

func (s *spare[K, V]) take() *entry[K, V] {
	if n := len(s.free); n > 0 {
		e := s.free[n-1]
		s.free = s.free[:n-1]
		return e
	}
	if len(s.chunk) == cap(s.chunk) {
		s.chunk = make([]entry[K, V], 0, min(max(2*cap(s.chunk), firstChunk), maxChunk))
	}
	s.chunk = s.chunk[:len(s.chunk)+1]
	return &s.chunk[len(s.chunk)-1]
}

func (s *spare[K, V]) giveBack(e *entry[K, V]) {
	*e = entry[K, V]{}
	s.free = append(s.free, e)
}
