package main

import (
	"context"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/process/shadow"
)

// program does the work of kube-controller-manager's taint eviction controller.
// A shadow tells out in the end what it would have done.
func program(s *settings, out io.Writer) *process.Program {
	return &process.Program{
		Process: &s.process,
		Replica: &s.Replica,
		// The tracker decides when a pod is tried again, and lets others go first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			events := process.NewEventsOf(ctx, &s.process, clients.Recording)
			recorder := events.Recorder(component)
			registry := prometheus.NewRegistry()
			e, err := newEvictor(s, clients, recorder, registry)
			if err != nil {
				events.Stop()
				return nil, err
			}
			pages := map[string]http.Handler{"/pending": evictionreport.NewPage(e.read)}
			stop := events.Stop
			if e.shadow != nil {
				pages["/shadow"] = shadow.NewPage(e.shadow)
				tell, err := e.shadow.Ending(ctx, out, s.process.ShadowHTML)
				if err != nil {
					events.Stop()
					return nil, err
				}
				stop = func() {
					events.Stop()
					tell()
				}
			}
			return &process.Service{
				Controller: e,
				Metrics:    registry,
				Pages:      pages,
				Leadership: recorder,
				Answer:     func() { e.dispatcher.View(func() {}) },
				Held:       "all evictions",
				Halt:       e.halt,
				Resume:     e.resume,
				Stop:       stop,
			}, nil
		},
	}
}
