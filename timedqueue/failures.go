package timedqueue

import (
	"maps"
	"math"
	"time"
)

// failures are the backoffs of a queue that have not ended.
type failures[K comparable, V any] struct {
	backoff Backoff
	of      map[*Entry[K, V]]failure
}

// A failure is a backoff that has not ended.
type failure struct {
	until time.Duration // the end of the backoff
	due   time.Duration // when the item would be due without it
}

func newFailures[K comparable, V any](backoff Backoff) failures[K, V] {
	return failures[K, V]{backoff.withDefaults(), make(map[*Entry[K, V]]failure)}
}

// add begins the backoff of an entry whose action has failed, and returns when
// the entry, which is due at a time, can act again. A wait of zero is that of
// the backoff.
func (s *failures[K, V]) add(e *Entry[K, V], now, due, wait time.Duration) time.Duration {
	if wait <= 0 {
		wait = s.backoff.delay(int(e.attempts))
	}
	if e.attempts < math.MaxUint16 {
		e.attempts++
	}
	until := now + min(wait, maxWait)
	s.of[e] = failure{until, due}
	return max(due, until)
}

// schedule returns when an entry can act that is to be due at a time.
func (s *failures[K, V]) schedule(e *Entry[K, V], due time.Duration) time.Duration {
	f, backsOff := s.of[e]
	if !backsOff {
		return due
	}
	s.of[e] = failure{f.until, due}
	return max(due, f.until)
}

// end ends the backoff of an entry. It returns when the entry is due without
// it, and false if it did not back off.
func (s *failures[K, V]) end(e *Entry[K, V]) (time.Duration, bool) {
	f, backsOff := s.of[e]
	if backsOff {
		delete(s.of, e)
	}
	return f.due, backsOff
}

// shrink releases memory: a map does not shrink.
func (s *failures[K, V]) shrink() {
	of := make(map[*Entry[K, V]]failure, len(s.of))
	maps.Copy(of, s.of)
	s.of = of
}
