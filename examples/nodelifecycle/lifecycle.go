package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A lifecycle is the controller with everything that connects it to a cluster.
type lifecycle struct {
	settings   *settings
	dispatcher *dispatcher
	core       *controller.Controller
	feed       *feed
	events     *events
	registry   *prometheus.Registry
	metrics    *metrics
}

// newLifecycle connects a controller to a cluster. Reads and writes go through
// client, events through a client of their own so that they do not take the
// controller's share of requests.
func newLifecycle(ctx context.Context, s *settings, client, eventClient kubernetes.Interface) (*lifecycle, error) {
	core, err := controller.New(s.Controller(), time.Now())
	if err != nil {
		return nil, err
	}
	l := &lifecycle{
		settings: s,
		core:     core,
		feed:     newFeed(client, &rival{logger: klog.FromContext(ctx), since: time.Now()}),
		events:   newEvents(ctx, eventClient),
		registry: prometheus.NewRegistry(),
	}
	if l.metrics, err = newMetrics(l.registry, l); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	performer, err := newPerformer(s, client, l.events, l.metrics)
	if err != nil {
		return nil, err
	}
	l.dispatcher, err = timedqueue.NewDispatcher(timedqueue.DispatcherConfig[controller.Action, controller.Result]{
		Core:    core,
		Act:     performer.perform,
		Workers: s.ConcurrentSyncs,
	})
	if err != nil {
		return nil, err
	}
	return l, l.feed.connect(l.dispatcher, core)
}

// read shows the controller's state.
func (l *lifecycle) read(look func(*controller.Controller)) {
	l.dispatcher.Lock()
	defer l.dispatcher.Unlock()
	look(l.core)
}

// observe fills the controller from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen.
func (l *lifecycle) observe(ctx context.Context, ready func()) {
	defer l.feed.stop()
	if !l.feed.start(ctx) {
		return
	}
	l.read((*controller.Controller).Synced)
	ready()
	<-ctx.Done()
}

// act performs what the controller asks for, until ctx ends and what was under
// way is done.
func (l *lifecycle) act(ctx context.Context) {
	var passes sync.WaitGroup
	defer passes.Wait()
	passes.Go(func() { every(ctx, l.settings.MonitorPeriod, l.reevaluate) })
	l.dispatcher.Run(ctx)
}

// idle keeps a controller that does not act from falling behind.
func (l *lifecycle) idle(ctx context.Context) {
	every(ctx, time.Second, func() { l.read(func(c *controller.Controller) { c.Idle(time.Now()) }) })
}

func (l *lifecycle) reevaluate() {
	started := time.Now()
	l.read(func(c *controller.Controller) { c.Reevaluate(time.Now()) })
	l.metrics.passSeconds.Observe(time.Since(started).Seconds())
}

// every does something in each period until ctx ends.
func every(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}
