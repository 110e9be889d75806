package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/process"
)

// program does the work of kube-controller-manager's taint eviction controller.
func program(s *settings) *process.Program {
	return &process.Program{
		Process: &s.process,
		Sharing: &s.Sharing,
		// The tracker decides when a pod is tried again, and lets others go first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			events := process.NewEvents(ctx, clients.Recording)
			recorder := events.Recorder(component)
			registry := prometheus.NewRegistry()
			e, err := newEvictor(s, clients, recorder, registry)
			if err != nil {
				events.Stop()
				return nil, err
			}
			return &process.Service{
				Controller: e,
				Metrics:    registry,
				Pages:      map[string]http.Handler{"/pending": evictionreport.NewPage(e.read)},
				Leadership: recorder,
				Answer:     func() { e.dispatcher.View(func() {}) },
				Dated:      e.dated,
				Halt:       e.halt,
				Resume:     e.resume,
				Stop:       events.Stop,
			}, nil
		},
	}
}
