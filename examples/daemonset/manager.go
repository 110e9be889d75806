package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A manager is the controller with everything that connects it to a cluster.
type manager struct {
	core       *controller.Controller
	dispatcher *timedqueue.Dispatcher[controller.Task, controller.Result]
	edge       *edge.Edge[*appsv1.DaemonSet]
	factory    informers.SharedInformerFactory
	synced     []cache.InformerSynced
	recorder   record.EventRecorder
	metrics    *metrics
}

var _ process.Controller = (*manager)(nil)

// newManager connects a controller to a cluster.
func newManager(s *settings, clients process.Clients, recorder record.EventRecorder,
	registry prometheus.Registerer) (*manager, error) {
	m := &manager{recorder: recorder}
	var err error
	if m.core, err = controller.NewController(s.config(), time.Now()); err != nil {
		return nil, err
	}
	if m.metrics, err = newMetrics(registry, m.read); err != nil {
		return nil, err
	}
	counting, err := process.NewDispatcherMetrics(registry)
	if err != nil {
		return nil, err
	}
	if m.dispatcher, err = timedqueue.NewDispatcher(m.core, m.perform, timedqueue.DispatcherConfig{
		Workers: s.config().MostUnderWay(),
		Metrics: counting,
	}); err != nil {
		return nil, err
	}
	m.factory = informers.NewSharedInformerFactoryWithOptions(clients.Watching, 0, informers.WithTransform(edge.Trim))
	return m, m.connect(clients.Acting)
}

// connect has the informers feed the controller, which acts through client.
func (m *manager) connect(client kubernetes.Interface) (err error) {
	apps, core := m.factory.Apps().V1(), m.factory.Core().V1()
	sets, revisions := apps.DaemonSets().Informer(), apps.ControllerRevisions().Informer()
	pods, nodes := core.Pods().Informer(), core.Nodes().Informer()
	m.edge, err = edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: m.core,
		Observe: func(turn func(now time.Time)) {
			m.dispatcher.Update(func() { turn(time.Now()) })
		},
		SetOf:      controller.SetOf,
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
		Sets: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client.AppsV1().DaemonSets(namespace)
		},
		Pods:      func(namespace string) edge.Pods { return client.CoreV1().Pods(namespace) },
		Revisions: func(namespace string) revision.Client { return client.AppsV1().ControllerRevisions(namespace) },
		Stores: edge.Stores{
			Sets: sets.GetStore(), Pods: pods.GetStore(), Nodes: nodes.GetStore(), Revisions: revisions.GetStore(),
		},
		Record: m.record,
	})
	if err != nil {
		return err
	}
	return errors.Join(m.add(sets, m.edge.Sets), m.add(revisions, m.edge.Revisions), m.add(pods, m.edge.Pods),
		m.add(nodes, m.edge.Nodes))
}

func (m *manager) add(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("add a handler to an informer: %w", err)
	}
	m.synced = append(m.synced, registration.HasSynced)
	return nil
}

// read shows the controller.
func (m *manager) read(look func(*controller.Controller)) {
	m.dispatcher.View(func() { look(m.core) })
}

// halt holds all deletions of pods.
func (m *manager) halt() {
	m.dispatcher.Update(func() { m.core.Halt(time.Now()) })
}

// resume lets what halt held go on.
func (m *manager) resume() {
	m.dispatcher.Update(func() { m.core.Resume(time.Now()) })
}

// Observe fills the controller from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen.
func (m *manager) Observe(ctx context.Context, ready func()) {
	m.factory.Start(ctx.Done())
	defer m.factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), m.synced...) {
		return
	}
	m.dispatcher.Update(func() { m.core.MarkSynced(time.Now()) })
	ready()
	<-ctx.Done()
}

// Act performs tasks until ctx ends or one panics, and what was under way is
// done.
func (m *manager) Act(ctx context.Context) error { return m.dispatcher.Run(ctx) }

// Idle does nothing: the informers show what the leader does.
func (m *manager) Idle(ctx context.Context) { <-ctx.Done() }

// perform does one task in bounded time, and tells about it in the log and in
// metrics.
func (m *manager) perform(ctx context.Context, task controller.Task) controller.Result {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	result := m.edge.Perform(ctx, task)
	if _, ok := task.Action.(controller.Record); ok {
		return result
	}
	kind, failure := kindOf(task.Action), result.Failed(task.Action)
	m.metrics.performed(kind, failure)
	logger = logger.WithValues("daemonset", klog.KObj(task.Owner.Object), "task", kind)
	if change, ok := task.Action.(controller.ChangePod); ok {
		logger = withPod(logger, change)
	}
	if failure != nil {
		logger.Error(failure, "Task failed, will be tried again if it is still needed")
	} else {
		logger.V(2).Info("Done")
	}
	return result
}

// kindOf names a task, for the log and the metrics.
func kindOf(action controller.Action) string {
	switch action := action.(type) {
	case controller.Claim:
		return "claim"
	case controller.Revise:
		return "revise"
	case controller.WriteStatus:
		return "status"
	case controller.ChangePod:
		switch {
		case action.Task.Create != nil:
			return "create"
		case action.Task.Delete != nil:
			return "delete"
		}
		return "refresh"
	}
	return "record"
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

func (m *manager) record(event controller.Event) {
	owner := event.Owner
	version, kind := owner.Kind.ToAPIVersionAndKind()
	m.recorder.Event(&corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: owner.Object.GetNamespace(), Name: owner.Object.GetName(),
		UID: owner.Object.GetUID(), ResourceVersion: owner.Object.GetResourceVersion(),
	}, event.Type, event.Reason, event.Message)
}
