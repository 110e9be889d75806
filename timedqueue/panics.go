package timedqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// ErrPanic is wrapped by the error of a [Dispatcher] that an action's panic has
// stopped.
var ErrPanic = errors.New("action panicked")

// ErrExited is the error of an action that has called runtime.Goexit.
var ErrExited = errors.New("action called runtime.Goexit")

// recovered logs an action that has not returned, and returns its error. Value
// is the result of recover, which is nil after a Goexit.
func recovered(ctx context.Context, value any) error {
	err := ErrExited
	if value != nil {
		err = panicError(value)
	}
	klog.FromContext(ctx).Error(err, "Action did not return", "stack", string(debug.Stack()))
	return err
}

func panicError(value any) error {
	if err, ok := value.(error); ok {
		return fmt.Errorf("%w: %w", ErrPanic, err)
	}
	return fmt.Errorf("%w: %v", ErrPanic, value)
}
