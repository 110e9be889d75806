package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/metrics"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/timedqueue"
)

// program runs the fleet on a cluster.
func program(s *settings) *process.Program {
	return &process.Program{
		Process: &s.process,
		Replica: &s.replica,
		// The fleet decides when a call is tried again, and lets others go first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			events := process.NewEventsOf(ctx, &s.process, clients.Recording)
			told := newRecording(ctx, s, clients.Recording)
			stop := func() {
				told.stop()
				events.Stop()
			}
			registry := prometheus.NewRegistry()
			f, err := newFleet(ctx, s, clients, registry, told.record())
			if err != nil {
				stop()
				return nil, err
			}
			return &process.Service{
				Controller: f,
				Metrics:    registry,
				Leadership: events.Recorder("hollownode"),
				Answer:     func() { f.View(func(*kubelet.Fleet) {}) },
				Held:       "the removal of pods whose containers have ended",
				Halt:       f.Halt,
				Resume:     f.Resume,
				Stop:       stop,
			}, nil
		},
	}
}

// fleet is a runner that tells what it does in the log and in metrics. It reads
// the manifests of static pods again and again.
type fleet struct {
	*runner.Runner
	metrics *metrics.Metrics

	manifestPath string
	fileCheck    time.Duration
}

var _ process.Controller = (*fleet)(nil)

// newFleet connects a fleet to a cluster.
func newFleet(
	ctx context.Context, s *settings, clients process.Clients, registry prometheus.Registerer,
	record func(kubelet.Event),
) (*fleet, error) {
	f := &fleet{manifestPath: s.manifestPath, fileCheck: s.fileCheck}
	var err error
	if f.metrics, err = metrics.NewMetrics(metrics.Config{Registry: registry, View: f.view}); err != nil {
		return nil, err
	}
	counting, err := process.CountActions(registry)
	if err != nil {
		return nil, err
	}
	logger := klog.FromContext(ctx)
	f.Runner, err = runner.NewRunner(runner.Config{
		// Leases are written by the acting client, because only its writes end with
		// the leadership.
		Acting: clients.Acting, Watching: clients.Watching, Beating: clients.Acting,
		Fleet: s.fleet, Register: s.registering(), Capacity: s.capacity, ListPods: s.listPerNode,
		StaticPods: s.staticPods, Record: record, PodNetwork: s.podCIDR,
		Backoff: timedqueue.Backoff{Jitter: process.Jitter},
		Workers: s.concurrentCalls, Timeout: process.CallTimeout,
		Performed: f.performed,
		Problem: func(object metav1.Object, err error) {
			logger.Error(err, "Annotation is wrong, it is ignored", "object", klog.KObj(object))
			if event, ok := kubelet.InvalidAnnotation(object, err); ok && record != nil {
				record(event)
			}
		},
		Registered: func(created int) {
			logger.Info("All nodes have registered", "nodes", s.nodes, "created", created)
		},
		Finished: counting, Beats: f.metrics,
	})
	return f, err
}

// view shows the fleet, if it acts.
func (f *fleet) view(read func(*kubelet.Fleet)) { f.View(read) }

// Observe fills the caches, and gives the nodes the static pods of manifests
// that change.
func (f *fleet) Observe(ctx context.Context, ready func()) {
	var reading sync.WaitGroup
	defer reading.Wait()
	if f.manifestPath != "" {
		reading.Go(func() { f.followManifests(ctx) })
	}
	f.Runner.Observe(ctx, ready)
}

// followManifests reads the manifests at each tick until ctx ends. A folder in
// which anything is wrong changes nothing, so that an edit that is half done
// ends no pod.
func (f *fleet) followManifests(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("path", f.manifestPath)
	ticker := time.NewTicker(f.fileCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods, err := readStaticPods(f.manifestPath)
		if err == nil {
			err = f.SetStaticPods(pods)
		}
		if err != nil {
			logger.Error(err, "Static pods are wrong, the former ones stay")
		}
	}
}

// Idle does nothing: the informers show what the leader does.
func (f *fleet) Idle(ctx context.Context) { <-ctx.Done() }

// performed tells about a task that has ended.
func (f *fleet) performed(ctx context.Context, task kubelet.Task, err error) {
	f.metrics.Performed(task.Kind, err)
	logger := klog.FromContext(ctx).WithValues("task", task.Kind, "node", task.Node)
	if task.Pod != nil {
		logger = logger.WithValues("pod", klog.KObj(task.Pod))
	}
	switch {
	case err == nil:
		logger.V(2).Info("Done")
	case ctx.Err() == nil: // the end of the process is no failure
		logger.Error(err, "Task failed, will be tried again if it is still needed")
	}
}
