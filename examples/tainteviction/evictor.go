package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/eviction/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/process/shadow"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An evictor is an eviction.Tracker with everything that connects it to a
// cluster.
type evictor struct {
	tracker    *eviction.Tracker
	dispatcher *timedqueue.Dispatcher
	informer   *controller.Informer

	act      eviction.Action
	recorder record.EventRecorder
	metrics  *evictionreport.Metrics
	shadow   *shadow.Shadow // nil if the evictor acts
}

var _ process.Controller = (*evictor)(nil)

// newEvictor connects an evictor to a cluster.
func newEvictor(s *settings, clients process.Clients, recorder record.EventRecorder,
	registry prometheus.Registerer) (*evictor, error) {
	config := s.evicting.Config()
	config.Backoff.Jitter = process.Jitter
	config.Holds = []eviction.Hold{{Name: halt}}
	tracker, err := eviction.NewTracker(config, time.Now())
	if err != nil {
		return nil, err
	}
	e := &evictor{tracker: tracker, recorder: recorder}
	if err = e.addShadow(s, registry); err != nil {
		return nil, err
	}
	if e.act, err = s.evicting.NewAction(e.means(clients.Acting)); err != nil {
		return nil, err
	}
	if e.dispatcher, err = e.newDispatcher(s, registry); err != nil {
		return nil, err
	}
	if e.metrics, err = evictionreport.NewMetrics(evictionreport.Config{
		Registry: registry, Read: e.read, Budgets: s.evicting.Config().Budgets,
	}); err != nil {
		return nil, err
	}
	e.informer, err = controller.NewInformer(controller.InformerConfig{
		Factory: informers.NewSharedInformerFactoryWithOptions(clients.Watching, 0, informers.WithTransform(edge.Trim)),
		Tracker: e.observer(),
		Update:  e.dispatcher.Update,
	})
	return e, err
}

// newDispatcher returns the dispatcher of the tracker's tasks, under the budget
// of requests to the API server.
func (e *evictor) newDispatcher(
	s *settings, registry prometheus.Registerer,
) (*timedqueue.Dispatcher, error) {
	counting, err := process.CountActions(registry)
	if err != nil {
		return nil, err
	}
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig{
		Limit: rate.Limit(s.APIQPS), Burst: s.APIBurst,
		Kinds: []timedqueue.Kind{
			{Source: timedqueue.Jobs(e.tracker, e.perform), Cost: s.evicting.Requests()},
		},
	}, time.Now())
	if err != nil {
		return nil, err
	}
	return timedqueue.NewJobDispatcher(requests, timedqueue.DispatcherConfig{
		Workers:  s.concurrentEvictions,
		Finished: counting,
	})
}

// addShadow makes the evictor a shadow, if the flags say so.
func (e *evictor) addShadow(s *settings, registry prometheus.Registerer) (err error) {
	if !s.process.Shadow {
		return nil
	}
	e.shadow, err = shadow.New(shadow.RecordConfig{Tolerance: s.process.ShadowTolerance, Program: "tainteviction"})
	if err != nil {
		return err
	}
	return e.shadow.Register(registry)
}

// means returns what the evictor acts with: client or, in a shadow, its pods in
// memory and a client of nodes that only reads.
func (e *evictor) means(client kubernetes.Interface) evicting.Clients {
	if e.shadow != nil {
		return evicting.Clients{
			Pods:  func(namespace string) eviction.EvictionClient { return e.shadow.Pods(namespace) },
			Nodes: client.CoreV1().Nodes(),
		}
	}
	return evicting.Clients{
		Pods:  func(namespace string) eviction.EvictionClient { return client.CoreV1().Pods(namespace) },
		Nodes: client.CoreV1().Nodes(),
	}
}

// observer is what the informer tells: the tracker or, in a shadow, the tracker
// with the pods as the shadow shows them.
func (e *evictor) observer() controller.Observer {
	if e.shadow == nil {
		return e.tracker
	}
	return &viewedTracker{Tracker: e.tracker, shadow: e.shadow, pods: make(map[types.UID]*corev1.Pod)}
}

// A viewedTracker is told of pods as a shadow shows them.
type viewedTracker struct {
	*eviction.Tracker

	shadow *shadow.Shadow
	pods   map[types.UID]*corev1.Pod // the last that was observed of each
}

func (v *viewedTracker) ObservePod(now time.Time, pod *corev1.Pod) {
	v.pods[eviction.KeyOf(pod).ID()] = pod
	v.Tracker.ObservePod(now, v.shadow.ObservePod(now, pod))
}

func (v *viewedTracker) ForgetPod(now time.Time, id types.UID) {
	if pod := v.pods[id]; pod != nil {
		v.shadow.ForgetPod(now, pod)
	}
	delete(v.pods, id)
	v.Tracker.ForgetPod(now, id)
}

// read shows the tracker.
func (e *evictor) read(use func(evictionreport.State)) {
	e.dispatcher.View(func() { use(e.tracker) })
}

// Observe fills the tracker from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen.
func (e *evictor) Observe(ctx context.Context, ready func()) { e.informer.Run(ctx, ready) }

// halt is the name of the hold of an operator, as the page about pods that wait
// shows it.
const halt = "halt"

// halt holds all evictions.
func (e *evictor) halt() {
	e.dispatcher.Update(func() { e.tracker.SetHold(time.Now(), halt, "", true) })
}

// resume lets what halt held go on.
func (e *evictor) resume() {
	e.dispatcher.Update(func() { e.tracker.SetHold(time.Now(), halt, "", false) })
}

// Act evicts until ctx ends or an action panics, and what was under way is
// done.
func (e *evictor) Act(ctx context.Context) error {
	if e.shadow != nil {
		e.shadow.Begin()
	}
	return e.dispatcher.Run(ctx)
}

// Idle does nothing: what the leader has evicted the informers tell.
func (e *evictor) Idle(ctx context.Context) { <-ctx.Done() }

// perform does one piece of work in bounded time, and tells about it.
func (e *evictor) perform(ctx context.Context, task eviction.Task) eviction.Result {
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	result := e.act(ctx, task)
	if result.Pod != nil {
		e.informer.Wrote(result.Pod) // or an older report could take the mark back
	}
	e.metrics.Acted(task, result, time.Now())
	evictionreport.Log(klog.FromContext(ctx), task, result)
	e.record(task, result)
	return result
}

// record records the Events of upstream's controller, of what was done and not
// of what was only tried, and that an eviction keeps failing.
func (e *evictor) record(task eviction.Task, result eviction.Result) {
	pod := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: task.Pod.Namespace, Name: task.Pod.Name, UID: task.Pod.UID,
	}
	switch result.Outcome {
	case eviction.OutcomeEvicted:
		e.recorder.Eventf(pod, corev1.EventTypeNormal, reasonEviction, "Marking for deletion Pod %s", task.Pod)
	default:
		evictionreport.RecordFailure(e.recorder, task, result)
	}
}

// reasonEviction is the reason of upstream's Events, and component their
// source.
const (
	reasonEviction = "TaintManagerEviction"
	component      = "taint-eviction-controller"
)
