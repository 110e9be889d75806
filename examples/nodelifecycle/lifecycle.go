package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/shadow"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// A lifecycle is the controller with everything that connects it to a cluster.
type lifecycle struct {
	settings   *settings
	dispatcher *dispatcher
	core       *controller.Controller
	informers  *informerSet
	events     *events
	registry   *prometheus.Registry
	metrics    *metrics
	shadow     *shadow.Shadow // nil if the controller acts
}

var _ process.Controller = (*lifecycle)(nil)

// newLifecycle connects a controller to a cluster.
func newLifecycle(ctx context.Context, s *settings, clients process.Clients) (*lifecycle, error) {
	for _, warning := range s.Warnings() {
		klog.FromContext(ctx).Info("WARNING: " + warning)
	}
	config := s.Controller()
	config.Backoff.Jitter, config.Eviction.Backoff.Jitter = process.Jitter, process.Jitter
	core, err := controller.New(config, time.Now())
	if err != nil {
		return nil, err
	}
	l := &lifecycle{
		settings: s,
		core:     core,
		events:   newEvents(ctx, clients.Recording, &s.process),
		registry: prometheus.NewRegistry(),
	}
	if err := l.addShadow(); err != nil {
		return nil, err
	}
	var warns *process.Rival
	if l.shadow == nil {
		warns = &process.Rival{
			Logger: klog.FromContext(ctx), Since: time.Now(), Field: "f:taints", Warning: rivalry,
		}
	}
	l.informers = newInformerSet(clients.Watching, warns)
	if l.metrics, err = newMetrics(s, l.registry, l); err != nil {
		return nil, err
	}
	if l.dispatcher, err = l.newDispatcher(clients.Acting); err != nil {
		return nil, err
	}
	return l, l.informers.connect(l.dispatcher, core, l.shadow)
}

// newDispatcher returns the dispatcher of what the controller hands out.
func (l *lifecycle) newDispatcher(acting kubernetes.Interface) (*dispatcher, error) {
	with := meansOf(acting, l.shadow)
	performer, err := newPerformer(l.settings, with, &l.informers.handlers, l.events, l.metrics)
	if err != nil {
		return nil, err
	}
	counting, err := process.CountActions(l.registry)
	if err != nil {
		return nil, err
	}
	jobs, err := l.core.Jobs(performer.actions(), time.Now())
	if err != nil {
		return nil, err
	}
	return timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{
		Workers:  l.settings.ConcurrentSyncs,
		Finished: counting,
	})
}

// addShadow makes the controller a shadow, if the flags say so.
func (l *lifecycle) addShadow() (err error) {
	if !l.settings.process.Shadow {
		return nil
	}
	l.shadow, err = shadow.New(shadow.RecordConfig{Tolerance: l.settings.process.ShadowTolerance})
	if err != nil {
		return err
	}
	return l.shadow.Register(l.registry)
}

// read shows the controller's state.
func (l *lifecycle) read(look func(*controller.Controller)) {
	l.dispatcher.View(func() { look(l.core) })
}

// answered tells the controller that the API server has answered a write.
func (l *lifecycle) answered(now, sent time.Time) {
	l.dispatcher.Update(func() { l.core.Answered(now, sent) })
}

// unanswered tells the controller that a call about the lease has failed.
func (l *lifecycle) unanswered() {
	l.dispatcher.Update(func() { l.core.Unanswered(time.Now()) })
}

// halt holds all evictions and NoExecute taints.
func (l *lifecycle) halt() {
	l.dispatcher.Update(func() { l.core.Halt(time.Now()) })
}

// resume lets what halt held go on.
func (l *lifecycle) resume() {
	l.dispatcher.Update(func() { l.core.Resume(time.Now()) })
}

// Observe fills the controller from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen.
func (l *lifecycle) Observe(ctx context.Context, ready func()) {
	defer l.informers.stop()
	if !l.informers.start(ctx) {
		return
	}
	l.dispatcher.Update(func() { l.core.MarkSynced(time.Now()) })
	ready()
	feed.Expiring(ctx, l.informers.handlers.Nodes, l.informers.handlers.Pods)
}

// Act performs what the controller asks for, until ctx ends or an action
// panics, and what was under way is done.
func (l *lifecycle) Act(ctx context.Context) error {
	if l.shadow != nil {
		l.shadow.Begin()
	}
	l.events.warn(l.settings.Warnings())
	l.dispatcher.Update(func() { l.core.Lead(time.Now()) })
	return process.Together(ctx, l.dispatcher.Run, func(ctx context.Context) error {
		process.Every(ctx, l.settings.MonitorPeriod, l.reevaluate)
		return nil
	})
}

// Idle keeps a controller that does not act from falling behind.
func (l *lifecycle) Idle(ctx context.Context) {
	process.Every(ctx, time.Second, func() {
		for more := true; more && ctx.Err() == nil; {
			l.dispatcher.Update(func() { more = l.core.Idle(time.Now()) })
		}
	})
}

func (l *lifecycle) reevaluate() {
	started := time.Now()
	l.dispatcher.Update(func() { l.core.Reevaluate() })
	l.metrics.passSeconds.Observe(time.Since(started).Seconds())
}
