package controller

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Patch is a write to the API server.
type Patch struct {
	Type types.PatchType
	Data []byte
	// Subresource is "status" or empty.
	Subresource string
}

// A Result is how a write to an object, or a read of it, has ended. The zero
// value is a failure: it is the result of an action that panics.
type Result[T comparable] struct {
	// Object is as the API server has it after the write, or when it was read.
	Object T
	// Err is why it failed. eviction.SaysGone tells whether the object is gone.
	Err error
}

// errNoResult is why an action failed whose result holds nothing.
var errNoResult = errors.New("the action has no result")

// failure returns why a write or a read failed, nil if it did not.
func (r Result[T]) failure() error {
	if r.Err == nil && !r.hasObject() {
		return errNoResult
	}
	return r.Err
}

func (r Result[T]) hasObject() bool {
	var none T
	return r.Object != none
}

// isStored reports whether the API server has stored a write, or refused it for
// what it has stored. Its store can be written then, also by kubelets. A read
// does not show that.
func (r Result[T]) isStored() bool {
	return r.hasObject() || apierrors.IsConflict(r.Err) || apierrors.IsInvalid(r.Err)
}

// resultOf is the result of a write. What failed is tried again, also when the
// object is gone: the watch says so soon, and until then a proxy may have said
// it.
func resultOf(err error) timedqueue.Result {
	return timedqueue.Result{Outcome: outcomeOf(err, timedqueue.OutcomeDone)}
}

// outcomeOf is the outcome given, unless there is an error.
func outcomeOf(err error, success timedqueue.Outcome) timedqueue.Outcome {
	if err != nil {
		return timedqueue.OutcomeFailed
	}
	return success
}
