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

// errGoexit is logged for an action that ends its goroutine.
var errGoexit = errors.New("action called runtime.Goexit")

// DispatcherMetrics counts the actions that do not return. Several goroutines
// call its methods at a time.
type DispatcherMetrics interface {
	// ActionPanicked counts an action that panics.
	ActionPanicked()
	// ActionExited counts an action that calls runtime.Goexit.
	ActionExited()
}

type noMetrics struct{}

func (noMetrics) ActionPanicked() {}
func (noMetrics) ActionExited()   {}

// recovered logs and counts an action that has not returned, and returns the
// error of a panic. Value is the result of recover, which is nil after a
// Goexit.
func recovered(ctx context.Context, metrics DispatcherMetrics, value any) error {
	logger := klog.FromContext(ctx)
	if value == nil {
		logger.Error(errGoexit, "Action did not return", "stack", string(debug.Stack()))
		metrics.ActionExited()
		return nil
	}
	err := panicError(value)
	logger.Error(err, "Action did not return", "stack", string(debug.Stack()))
	metrics.ActionPanicked()
	return err
}

func panicError(value any) error {
	if err, ok := value.(error); ok {
		return fmt.Errorf("%w: %w", ErrPanic, err)
	}
	return fmt.Errorf("%w: %v", ErrPanic, value)
}
