package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/process"
)

// component is the source of Events, as in kube-controller-manager.
const component = "daemonset-controller"

// program does the work of kube-controller-manager's DaemonSet controller.
func program(s *settings) *process.Program {
	return &process.Program{
		Process: &s.process,
		Replica: &s.Replica,
		// The controller decides when a task is tried again, and lets others go
		// first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			events := process.NewEventsOf(ctx, &s.process, clients.Recording)
			recorder := events.Recorder(component)
			registry := prometheus.NewRegistry()
			m, err := newManager(ctx, s, clients, recorder, registry)
			if err != nil {
				events.Stop()
				return nil, err
			}
			return &process.Service{
				Controller: m,
				Metrics:    registry,
				Pages:      map[string]http.Handler{"/daemonsets": newPage(m.read)},
				Leadership: recorder,
				Answer:     func() { m.View(func(*controller.Controller) {}) },
				Held:       "all deletions of pods",
				Halt:       m.halt,
				Resume:     m.resume,
				Stop:       events.Stop,
			}, nil
		},
	}
}
