package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/evicting"
	"github.com/kubelife/lifecycle/examples/evicting/show"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An evictor is an eviction.Tracker with everything that connects it to a
// cluster.
type evictor struct {
	tracker    *eviction.Tracker
	dispatcher *timedqueue.Dispatcher[eviction.Work, eviction.Report]
	informers  informers.SharedInformerFactory
	synced     []cache.InformerSynced

	act      eviction.Action
	dryRun   bool
	recorder record.EventRecorder
	metrics  *show.Metrics
}

var _ process.Controller = (*evictor)(nil)

// newEvictor connects an evictor to a cluster through client. It logs as ctx says.
func newEvictor(ctx context.Context, s *settings, client kubernetes.Interface, recorder record.EventRecorder, registry prometheus.Registerer) (*evictor, error) {
	logger := klog.FromContext(ctx)
	config := s.evicting.Config()
	config.Retry.Jitter = process.Jitter
	tracker, err := eviction.NewTracker(config, time.Now())
	if err != nil {
		return nil, err
	}
	e := &evictor{
		tracker:   tracker,
		informers: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(edge.Trim)),
		dryRun:    s.evicting.Action == evicting.DryRun,
		recorder:  recorder,
	}
	if e.act, err = s.evicting.NewAction(evicting.Clients{
		Pods:       func(namespace string) eviction.EvictablePods { return client.CoreV1().Pods(namespace) },
		Nodes:      client.CoreV1().Nodes(),
		WouldEvict: func(work eviction.Work) { show.LogDryRun(logger, work) },
	}); err != nil {
		return nil, err
	}
	if e.dispatcher, err = timedqueue.NewDispatcher(timedqueue.DispatcherConfig[eviction.Work, eviction.Report]{
		Core:    tracker,
		Act:     e.perform,
		Workers: s.concurrentEvictions,
	}); err != nil {
		return nil, err
	}
	if e.metrics, err = show.NewMetrics(show.Config{
		Registry: registry, Read: e.read, Budgets: config.Budgets, DryRun: e.dryRun,
	}); err != nil {
		return nil, err
	}
	return e, e.connect()
}

// connect makes every change that the informers see reach the tracker.
func (e *evictor) connect() error {
	observe := func(see func(now time.Time)) {
		e.dispatcher.Lock()
		defer e.dispatcher.Unlock()
		see(time.Now())
	}
	nodes, nodeErr := e.informers.Core().V1().Nodes().Informer().AddEventHandler(edge.Handler[*corev1.Node]{
		Observe: observe,
		Seen:    e.tracker.ObserveNode,
		Gone:    func(now time.Time, node *corev1.Node) { e.tracker.ForgetNode(now, node.Name) },
	})
	pods, podErr := e.informers.Core().V1().Pods().Informer().AddEventHandler(edge.Handler[*corev1.Pod]{
		Observe: observe,
		Seen:    e.tracker.ObservePod,
		Gone:    func(_ time.Time, pod *corev1.Pod) { e.tracker.ForgetPod(pod.UID) },
	})
	if err := errors.Join(nodeErr, podErr); err != nil {
		return err
	}
	e.synced = []cache.InformerSynced{nodes.HasSynced, pods.HasSynced}
	return nil
}

// read shows the tracker.
func (e *evictor) read(look func(show.State)) {
	e.dispatcher.Lock()
	defer e.dispatcher.Unlock()
	look(e.tracker)
}

// Observe fills the tracker from the cluster and goes on until ctx ends. It calls
// ready once all that existed has been seen.
func (e *evictor) Observe(ctx context.Context, ready func()) {
	e.informers.Start(ctx.Done())
	defer e.informers.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), e.synced...) {
		return
	}
	e.dispatcher.Lock()
	e.tracker.Synced()
	e.dispatcher.Unlock()
	ready()
	<-ctx.Done()
}

// Act evicts until ctx ends and what was under way is done.
func (e *evictor) Act(ctx context.Context) { e.dispatcher.Run(ctx) }

// Idle does nothing: what the leader has evicted the informers tell.
func (e *evictor) Idle(ctx context.Context) { <-ctx.Done() }

// perform does one piece of work in bounded time, and tells about it.
func (e *evictor) perform(ctx context.Context, work eviction.Work) eviction.Report {
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	report := e.act(ctx, work)
	e.metrics.Acted(work, report, time.Now())
	if e.dryRun {
		return report // which was told of already
	}
	show.Log(klog.FromContext(ctx), work, report)
	e.record(work, report)
	return report
}

// record records the Events of upstream's controller, of what was done and not of
// what was only tried.
func (e *evictor) record(work eviction.Work, report eviction.Report) {
	pod := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: work.Pod.Namespace, Name: work.Pod.Name, UID: work.Pod.UID,
	}
	switch report.Outcome {
	case eviction.Evicted:
		e.recorder.Eventf(pod, corev1.EventTypeNormal, reasonEviction, "Marking for deletion Pod %s", work.Pod)
	case eviction.Unmarked:
		e.recorder.Eventf(pod, corev1.EventTypeNormal, reasonEviction, "Cancelling deletion of Pod %s", work.Pod)
	}
}

// reasonEviction is the reason of upstream's Events, and component their source.
const (
	reasonEviction = "TaintManagerEviction"
	component      = "taint-eviction-controller"
)
