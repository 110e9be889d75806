package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/timedqueue"
)

// CountActions registers the metrics of a program's dispatcher and returns its
// Finished, which counts the actions that do not return.
func CountActions(registry prometheus.Registerer) (func(context.Context, timedqueue.Finished), error) {
	panics := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dispatcher_action_panics_total",
		Help: "Actions that panicked. The program exits after the first one.",
	})
	exits := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dispatcher_action_goexits_total",
		Help: "Actions that ended their goroutine instead of returning.",
	})
	for _, c := range []prometheus.Collector{panics, exits} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return func(_ context.Context, finished timedqueue.Finished) {
		switch {
		case errors.Is(finished.Err, timedqueue.ErrPanic):
			panics.Inc()
		case errors.Is(finished.Err, timedqueue.ErrExited):
			exits.Inc()
		}
	}, nil
}
