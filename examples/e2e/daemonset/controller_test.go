package daemonset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// controller is a controller of one DaemonSet, made of package daemon: the least that
// there has to be around it. All that it decides and does is the package's.
type controller struct {
	client   kubernetes.Interface
	name     string
	executor *daemon.Executor
	manager  *revision.Manager
	config   daemon.Config
	// hears says whether news of a pod arrive. Nil: all do.
	hears func(pod *corev1.Pod) bool

	// Only the loop has these: what it has written and the caches may lack.
	revisions *ownership.Overlay[*appsv1.ControllerRevision]
	pods      *ownership.Overlay[*corev1.Pod]

	factory informers.SharedInformerFactory
	wake    chan struct{}

	mu       sync.Mutex // guards what is below
	planner  *daemon.Planner
	set      *appsv1.DaemonSet // as last seen or written
	problems []error
	syncs    int
}

// start starts a controller, which stops when the test ends, or what it returns is called.
func start(t *testing.T, client kubernetes.Interface, name string, change ...func(*controller)) (*controller, func()) {
	executor, manager, err := actors(client)
	require.NoError(t, err)
	revisions, err := ownership.NewOverlay[*appsv1.ControllerRevision](ownership.OverlayConfig{}, time.Now())
	require.NoError(t, err)
	pods, err := ownership.NewOverlay[*corev1.Pod](ownership.OverlayConfig{}, time.Now())
	require.NoError(t, err)
	c := &controller{client: client, name: name, executor: executor, manager: manager, wake: make(chan struct{}, 1),
		revisions: revisions, pods: pods}
	for _, f := range change {
		f(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.factory = informers.NewSharedInformerFactory(client, 0)
	apps, core := c.factory.Apps().V1(), c.factory.Core().V1()
	for _, informer := range []cache.SharedIndexInformer{
		apps.DaemonSets().Informer(), apps.ControllerRevisions().Informer(), core.Nodes().Informer(), core.Pods().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { c.observe(object, false) },
			UpdateFunc: func(_, object any) { c.observe(object, false) },
			DeleteFunc: func(object any) { c.observe(object, true) },
		})
		require.NoError(t, err)
	}
	c.factory.Start(ctx.Done())
	c.factory.WaitForCacheSync(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx)
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done; c.factory.Shutdown() })
	t.Cleanup(stop)
	return c, stop
}

// actors returns what makes the calls.
func actors(client kubernetes.Interface) (*daemon.Executor, *revision.Manager, error) {
	executor, err := daemon.NewExecutor(daemon.ExecutorConfig{
		Pods: func(namespace string) daemon.PodClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return nil, nil, err
	}
	manager, err := revision.NewManager(revision.ManagerConfig[*appsv1.DaemonSet]{
		Revisions: func(namespace string) revision.Client {
			return client.AppsV1().ControllerRevisions(namespace)
		},
		Pods: func(namespace string) ownership.Patcher[*corev1.Pod] { return client.CoreV1().Pods(namespace) },
		Owners: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client.AppsV1().DaemonSets(namespace)
		},
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
	})
	return executor, manager, err
}

func (c *controller) run(ctx context.Context) {
	for {
		next, err := c.sync(ctx)
		c.mu.Lock()
		c.syncs++
		if err != nil && ctx.Err() == nil {
			c.problems = append(c.problems, err)
			next = time.Now().Add(100 * time.Millisecond)
		}
		c.mu.Unlock()
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer:
		}
	}
}

// observe tells the planner, and wakes the loop.
func (c *controller) observe(object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	c.mu.Lock()
	if c.planner != nil {
		switch object := object.(type) {
		case *corev1.Node:
			c.observeNode(object, gone)
		case *corev1.Pod:
			c.observePod(object, gone)
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *controller) observeNode(node *corev1.Node, gone bool) {
	if gone {
		c.planner.ForgetNode(time.Now(), node.Name)
		return
	}
	c.planner.ObserveNode(time.Now(), node)
}

func (c *controller) observePod(pod *corev1.Pod, gone bool) {
	switch {
	case c.hears != nil && !c.hears(pod):
	case gone || !metav1.IsControlledBy(pod, c.set):
		c.planner.ForgetPod(time.Now(), pod)
	default:
		c.planner.ObservePod(time.Now(), pod)
	}
}

// sync does all that can be done now, and returns when to look again.
func (c *controller) sync(ctx context.Context) (time.Time, error) {
	set, err := c.factory.Apps().V1().DaemonSets().Lister().DaemonSets(metav1.NamespaceDefault).Get(c.name)
	switch {
	case apierrors.IsNotFound(err):
		return time.Time{}, nil // it is not there yet
	case err != nil:
		return time.Time{}, err
	case set.DeletionTimestamp != nil:
		return time.Time{}, nil // nor for long
	}
	hash, pods, err := c.revise(ctx, set)
	if err != nil {
		return time.Time{}, err
	}
	if err := c.adjust(set, hash, pods); err != nil {
		return time.Time{}, err
	}
	next, err := c.act(ctx, set)
	if err != nil {
		return next, err
	}
	return next, c.report(ctx, set)
}

// revise claims pods and revisions, and returns the hash of the current revision and the
// pods.
func (c *controller) revise(ctx context.Context, set *appsv1.DaemonSet) (string, []*corev1.Pod, error) {
	claimer, err := ownership.NewClaimer(daemon.OwnerOf(set), c.client.AppsV1().DaemonSets(set.Namespace))
	if err != nil {
		return "", nil, err
	}
	revisions, err := c.factory.Apps().V1().ControllerRevisions().Lister().ControllerRevisions(set.Namespace).List(labels.Everything())
	if err != nil {
		return "", nil, err
	}
	history, err := ownership.ClaimAll(ctx, claimer, c.client.AppsV1().ControllerRevisions(set.Namespace), c.revisions.Merge(time.Now(), revisions))
	c.revisions.Patched(time.Now(), append(history.Adopted, history.Released...)...)
	if err != nil {
		return "", nil, err
	}
	cached, err := c.factory.Core().V1().Pods().Lister().Pods(set.Namespace).List(labels.Everything())
	if err != nil {
		return "", nil, err
	}
	pods, err := ownership.ClaimAll(ctx, claimer, c.client.CoreV1().Pods(set.Namespace), c.pods.Merge(time.Now(), cached))
	c.pods.Patched(time.Now(), append(pods.Adopted, pods.Released...)...)
	if err != nil {
		return "", nil, err
	}
	c.mu.Lock()
	if c.planner != nil {
		for _, pod := range pods.Adopted {
			c.planner.ObservePod(time.Now(), pod)
		}
		for _, pod := range pods.Released {
			c.planner.ForgetPod(time.Now(), pod)
		}
	}
	c.mu.Unlock()
	plan, err := revision.Compute(daemon.SourceOf(set), history.Owned, slices.Values(pods.Owned))
	if err != nil {
		return "", nil, err
	}
	result, err := c.manager.Apply(ctx, plan)
	result.Record(time.Now(), c.revisions, c.pods)
	return result.Hash(), pods.Owned, err
}

// adjust makes the planner plan for what is wanted now.
func (c *controller) adjust(set *appsv1.DaemonSet, hash string, pods []*corev1.Pod) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = set
	spec := daemon.SpecOf(set, hash)
	if c.planner == nil {
		return c.plan(spec, pods)
	}
	return c.planner.SetSpec(time.Now(), spec)
}

// plan makes the planner and tells it all that is known. The pods are those that were
// claimed: in the cache, what was adopted is still an orphan.
func (c *controller) plan(spec daemon.Spec, pods []*corev1.Pod) error {
	c.config.Spec = spec
	planner, err := daemon.NewPlanner(c.config, time.Now())
	if err != nil {
		return err
	}
	c.planner = planner
	nodes, err := c.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	for _, node := range nodes {
		c.observeNode(node, false)
	}
	for _, pod := range pods {
		c.observePod(pod, false)
	}
	return nil
}

// act performs tasks until there are none left, those that are handed out together
// at the same time.
func (c *controller) act(ctx context.Context, set *appsv1.DaemonSet) (time.Time, error) {
	for {
		tasks, next := c.tasks()
		if len(tasks) == 0 {
			return next, nil
		}
		var underWay sync.WaitGroup
		for _, task := range tasks {
			underWay.Go(func() { c.perform(ctx, set, task) })
		}
		underWay.Wait()
		if ctx.Err() != nil {
			return time.Time{}, ctx.Err()
		}
	}
}

func (c *controller) tasks() (tasks []daemon.Task, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for task, ok := c.planner.Start(time.Now()); ok; task, ok = c.planner.Start(time.Now()) {
		tasks = append(tasks, task)
	}
	next, _ = c.planner.Next(time.Now())
	return tasks, next
}

func (c *controller) perform(ctx context.Context, set *appsv1.DaemonSet, task daemon.Task) {
	result := c.executor.Act(ctx, daemon.OwnerOf(set), task)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planner.Finish(time.Now(), task, result)
	if result.Err != nil {
		c.problems = append(c.problems, result.Err) // the planner tries again
	}
}

// report writes the status if it has changed.
func (c *controller) report(ctx context.Context, set *appsv1.DaemonSet) error {
	c.mu.Lock()
	status, whole := c.planner.Status()
	c.mu.Unlock()
	if !whole {
		return nil // the planner is not done with all nodes
	}
	patch, err := daemon.DaemonSetStatusPatch(set, status, set.Generation)
	if err != nil || patch == nil {
		return err
	}
	_, err = c.client.AppsV1().DaemonSets(set.Namespace).Patch(ctx, set.Name, daemon.StatusPatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// has returns how often the loop went round, and what went wrong.
func (c *controller) has() (syncs int, problems []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.syncs, slices.Clone(c.problems)
}
