package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/runner"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/process/shadow"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A lifecycle is a runner that tells what it does in the log, in metrics and in
// Events, and may be a shadow.
type lifecycle struct {
	*runner.Runner

	settings *settings
	events   *events
	registry *prometheus.Registry
	shadow   *shadow.Shadow // nil if the controller acts
}

var _ process.Controller = (*lifecycle)(nil)

// newLifecycle connects a controller to a cluster.
func newLifecycle(ctx context.Context, s *settings, clients process.Clients) (*lifecycle, error) {
	for _, warning := range s.Warnings() {
		klog.FromContext(ctx).Info("WARNING: " + warning)
	}
	l := &lifecycle{
		settings: s,
		events:   newEvents(ctx, clients.Recording, &s.process),
		registry: prometheus.NewRegistry(),
	}
	if err := l.addShadow(); err != nil {
		return nil, err
	}
	metrics, err := newMetrics(s, l.registry, l)
	if err != nil {
		return nil, err
	}
	counting, err := process.CountActions(l.registry)
	if err != nil {
		return nil, err
	}
	telling := &finisher{l.events, metrics}
	acting := l.acting(clients)
	config := runner.Config{
		Controller: s.Controller(),

		CountAllSilence: s.BlindAfter == 0,

		Client:  clients.Watching,
		Acting:  &acting,
		Evict:   s.action,
		Workers: s.ConcurrentSyncs,
		Timeout: process.CallTimeout,
		Period:  s.MonitorPeriod,
		Passed:  func(took time.Duration) { metrics.passSeconds.Observe(took.Seconds()) },
		Record:  l.events.record,
		Finished: func(ctx context.Context, finished timedqueue.Finished) {
			counting(ctx, finished)
			telling.finished(ctx, finished)
		},
	}
	config.Controller.Backoff.Jitter, config.Controller.Eviction.Backoff.Jitter = process.Jitter, process.Jitter
	if l.shadow != nil {
		config.View = l.shadow
	} else {
		config.See = rivalOf(ctx)
	}
	l.Runner, err = runner.NewRunner(config)
	return l, err
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

// acting returns what tasks act with: a cluster or, if there is a shadow, the
// shadow alone. Then only leases are read from the cluster, and nothing that
// writes to it is reached.
func (l *lifecycle) acting(clients process.Clients) runner.Clients {
	acting := runner.ClientsOf(clients.Acting)
	if l.shadow != nil {
		acting.Nodes = l.shadow.Nodes()
		acting.Pods = func(namespace string) eviction.EvictionClient { return l.shadow.Pods(namespace) }
	}
	return acting
}

// action returns what makes a pod leave, as the flags say.
func (s *settings) action(clients runner.Clients) (eviction.Action, error) {
	return s.Evicting.NewAction(evicting.Clients{
		Pods: clients.Pods, Nodes: clients.Nodes, NewDeletion: edge.NewDeletion,
	})
}

// rivalOf returns what looks for kube-controller-manager doing the same work:
// it changes the taints of nodes.
func rivalOf(ctx context.Context) func(object any) {
	rival := &process.Rival{
		Logger: klog.FromContext(ctx), Since: time.Now(), Field: "f:taints",
		Warning: "kube-controller-manager has just changed the taints of a node: its controllers are active " +
			"and will fight with this one. " +
			"Run it with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
	}
	return func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			rival.Observe(node)
		}
	}
}

// read shows the controller's state.
func (l *lifecycle) read(look func(*controller.Controller)) { l.View(look) }

// halt holds all evictions and NoExecute taints.
func (l *lifecycle) halt() { l.Update((*controller.Controller).Halt) }

// resume lets what halt held go on.
func (l *lifecycle) resume() { l.Update((*controller.Controller).Resume) }

// Act performs what the controller asks for, until ctx ends or an action
// panics, and what was under way is done.
func (l *lifecycle) Act(ctx context.Context) error {
	if l.shadow != nil {
		l.shadow.Begin()
	}
	l.events.warn(l.settings.Warnings())
	return l.Runner.Act(ctx)
}
