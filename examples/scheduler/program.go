package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
)

// program binds pods.
func program(s *settings) *process.Program {
	return &process.Program{
		Process: &s.process,
		Replica: &s.Replica,
		// The core decides when something is tried again, and lets others go first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			events := process.NewEvents(ctx, clients.Recording)
			recorder := events.Recorder(s.schedulerName)
			registry := prometheus.NewRegistry()
			b, err := newBinder(s, clients, recorder, registry)
			if err != nil {
				events.Stop()
				return nil, err
			}
			return &process.Service{
				Controller: b,
				Metrics:    registry,
				Pages: map[string]http.Handler{
					"/pending":   pendingPage(b),
					"/evictions": evictionreport.NewPage(b.readEvictions),
				},
				Leadership: recorder,
				Answer:     func() { b.dispatcher.View(func() {}) },
				Answered:   b.answered,
				Unanswered: b.change(b.core.Unanswered),
				Held:       "all evictions; pods are bound as ever",
				Halt:       b.change(b.core.Halt),
				Resume:     b.change(b.core.Resume),
				Stop:       events.Stop,
			}, nil
		},
	}
}

// mostListed bounds the pods that the page /pending lists.
const mostListed = 1000

// pendingPage lists the pods that have no node, by name.
func pendingPage(b *binder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var all []scheduling.Waiting
		b.dispatcher.View(func() { all = slices.Collect(b.core.Waits()) })
		slices.SortFunc(all, func(x, y scheduling.Waiting) int {
			return strings.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name)
		})
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%d pods have no node.\n", len(all))
		for _, pod := range all[:min(len(all), mostListed)] {
			message := cmp.Or(pod.Message, "not decided yet, which only the leader does")
			fmt.Fprintf(w, "%s/%s after %d attempts: %s\n", pod.Namespace, pod.Name, pod.Attempts, message)
		}
	})
}
