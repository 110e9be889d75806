package timedqueue

import (
	"errors"
	"fmt"
	"time"
)

// A Source is the half of a [Core] that hands out tasks. The results go to the
// Finish of the composing core, which knows the source of each task.
type Source[T any] interface {
	// Start hands out a task that may start now.
	Start(now time.Time) (T, bool)
	// Next returns when Start can next hand out a task, and false when only a
	// change makes a difference.
	Next(now time.Time) (time.Time, bool)
}

// SourceOf makes a source from two functions, for example to give the tasks of
// different cores a common type.
func SourceOf[T any](
	start func(now time.Time) (T, bool), next func(now time.Time) (time.Time, bool),
) Source[T] {
	return source[T]{start, next}
}

// InOrder returns a source that asks the sources in this order. A source that
// always has a task starves those after it. Its Next is the earliest of theirs.
func InOrder[T any](sources ...Source[T]) Source[T] { return &several[T]{sources: sources} }

// RoundRobin returns a source that asks the sources in turns. After a source
// has handed out a task, all others are asked before it. Its Next is the
// earliest of theirs.
func RoundRobin[T any](sources ...Source[T]) Source[T] {
	return &several[T]{sources: sources, turns: true}
}

// validateSource returns what is wrong with a source, as far as it is one of
// this package. The name is that of a source that is nil. Cores are those that
// were found so far.
func validateSource(name string, s any, cores map[any]bool) error {
	switch s := s.(type) {
	case nil:
		return fmt.Errorf("%w: %s is nil, want a source", ErrInvalidConfig, name)
	case interface {
		validate(cores map[any]bool) error
	}:
		return s.validate(cores)
	}
	return nil
}

type source[T any] struct {
	start func(time.Time) (T, bool)
	next  func(time.Time) (time.Time, bool)
}

func (s source[T]) Start(now time.Time) (T, bool)        { return s.start(now) }
func (s source[T]) Next(now time.Time) (time.Time, bool) { return s.next(now) }

type several[T any] struct {
	sources []Source[T]
	turns   bool
	first   int // whose turn it is
}

func (s *several[T]) Start(now time.Time) (none T, ok bool) {
	for i := range s.sources {
		asked := (s.first + i) % len(s.sources)
		task, ok := s.sources[asked].Start(now)
		if ok && s.turns {
			s.first = asked + 1
		}
		if ok {
			return task, true
		}
	}
	return none, false
}

func (s *several[T]) validate(cores map[any]bool) error {
	var problems []error
	for i, asked := range s.sources {
		problems = append(problems, validateSource(fmt.Sprintf("source %d of several", i), asked, cores))
	}
	return errors.Join(problems...)
}

func (s *several[T]) Next(now time.Time) (earliest time.Time, found bool) {
	for _, asked := range s.sources {
		if next, ok := asked.Next(now); ok && (!found || next.Before(earliest)) {
			earliest, found = next, true
		}
	}
	return earliest, found
}
