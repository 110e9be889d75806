package controller

import "errors"

// A Result is how a task has ended. What was done counts also if the task has
// failed. The zero value is a failure: it is the result of an action that
// panics.
type Result[T any] struct {
	// Done is what was done. Nil is nothing.
	Done *T
	// Err is why the task has failed. Without Done it has failed as well.
	Err error
	// Sent is how many requests were sent.
	Sent int
}

// Failed returns why a task has failed, and nil if it was done.
func (r Result[T]) Failed() error {
	if r.Err == nil && r.Done == nil {
		return errNoResult
	}
	return r.Err
}

var errNoResult = errors.New("the task has ended without a result")

// Unspent implements timedqueue.Unspent. Without a result it is not known how
// many requests were sent.
func (r Result[T]) Unspent(granted int) int {
	if r.Done == nil && r.Err == nil {
		return 0
	}
	return max(0, granted-r.Sent)
}

// done returns what was done.
func (r Result[T]) done() (done T) {
	if r.Done != nil {
		return *r.Done
	}
	return done
}
