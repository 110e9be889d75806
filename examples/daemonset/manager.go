package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/runner"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A manager is a runner that tells what it does in the log, in metrics and in
// Events.
type manager struct {
	*runner.Runner

	recorder record.EventRecorder
	metrics  *metrics
}

var _ process.Controller = (*manager)(nil)

// newManager connects a controller to a cluster.
func newManager(ctx context.Context, s *settings, clients process.Clients, recorder record.EventRecorder,
	registry prometheus.Registerer) (*manager, error) {
	m := &manager{recorder: recorder}
	var err error
	if m.metrics, err = newMetrics(registry, m.read); err != nil {
		return nil, err
	}
	counting, err := process.CountActions(registry)
	if err != nil {
		return nil, err
	}
	m.Runner, err = runner.NewRunner(runner.Config{
		Controller: s.config(),
		Acting:     clients.Acting,
		Watching:   clients.Watching,
		Timeout:    process.CallTimeout,
		Record:     func(event controller.Event) { m.record(ctx, event) },
		See:        rivalOf(ctx),
		Finished: func(ctx context.Context, finished timedqueue.Finished) {
			counting(ctx, finished)
			m.finished(ctx, finished)
		},
	})
	return m, err
}

// rivalOf returns what looks for kube-controller-manager doing the same work:
// it makes pods of DaemonSets.
func rivalOf(ctx context.Context) func(object any) {
	rival := &process.Rival{
		Logger: klog.FromContext(ctx), Since: time.Now(), Field: "f:spec",
		Warning: "kube-controller-manager has just made a pod of a DaemonSet: its controller is active and will " +
			"fight with this one. Run it with --controllers=*,-daemonset-controller",
	}
	return func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" {
			rival.Observe(pod)
		}
	}
}

// read shows the controller.
func (m *manager) read(look func(*controller.Controller)) { m.View(look) }

// halt holds all deletions of pods.
func (m *manager) halt() { m.Update((*controller.Controller).Halt) }

// resume lets what halt held go on.
func (m *manager) resume() { m.Update((*controller.Controller).Resume) }

// Idle does nothing: the informers show what the leader does.
func (m *manager) Idle(ctx context.Context) { <-ctx.Done() }

// finished tells about a task that has ended, except those that record an
// Event, or did not return.
func (m *manager) finished(ctx context.Context, finished timedqueue.Finished) {
	task, result := finished.Task()
	failing, tells := result.(interface{ Failed() error })
	if !tells || finished.Err != nil {
		return
	}
	kind, owner := describe(task)
	failure := failing.Failed()
	m.metrics.performed(kind, failure)
	logger := klog.FromContext(ctx).WithValues("daemonset", klog.KObj(owner.Object), "task", kind)
	if change, ok := task.(controller.ChangePod); ok {
		logger = withPod(logger, change)
	}
	if failure != nil {
		logger.Error(failure, "Task failed, will be tried again if it is still needed")
	} else {
		logger.V(2).Info("Done")
	}
}

// describe names a task, for the log and the metrics, and its set.
func describe(task any) (kind string, owner ownership.Owner) {
	switch task := task.(type) {
	case controller.Claim:
		return "claim", task.Owner
	case controller.Revise:
		return "revise", task.Owner
	case controller.WriteStatus:
		return "status", task.Owner
	case controller.ChangePod:
		switch {
		case task.Task.Create != nil:
			return "create", task.Owner
		case task.Task.Delete != nil:
			return "delete", task.Owner
		}
		return "refresh", task.Owner
	}
	return "", ownership.Owner{}
}

func withPod(logger klog.Logger, change controller.ChangePod) klog.Logger {
	switch task := change.Task; {
	case task.Create != nil:
		return logger.WithValues("node", task.Create.Node, "reason", task.Create.Reason)
	case task.Delete != nil:
		return logger.WithValues("node", task.Delete.Node, "reason", task.Delete.Reason, "pod", task.Delete.Pod)
	case task.Refresh != nil:
		return logger.WithValues("pod", task.Refresh.Pod)
	}
	return logger
}

// record tells of an Event, in the log if the set waits for a correction of its
// spec. Nothing else of it would be there.
func (m *manager) record(ctx context.Context, event controller.Event) {
	owner := event.Owner
	switch event.Reason {
	case controller.ReasonRolloutStopped, controller.ReasonInvalid:
		klog.FromContext(ctx).Info("DaemonSet waits for a correction of its spec",
			"daemonset", klog.KObj(owner.Object), "reason", event.Reason, "message", event.Message)
	}
	version, kind := owner.Kind.ToAPIVersionAndKind()
	m.recorder.Event(&corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: owner.Object.GetNamespace(), Name: owner.Object.GetName(),
		UID: owner.Object.GetUID(), ResourceVersion: owner.Object.GetResourceVersion(),
	}, event.Type, event.Reason, event.Message)
}
