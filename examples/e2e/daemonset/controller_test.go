package daemonset

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
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
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// controller is a controller of one DaemonSet, made of package daemon: the
// least that there has to be around it. A dispatcher performs the planner's
// tasks. A loop claims, keeps the history, and writes the status.
type controller struct {
	client   kubernetes.Interface
	name     string
	executor *daemon.Executor
	manager  *revision.Manager
	config   daemon.Config
	// hears says whether news of a pod arrive. Nil: all do.
	hears func(pod *corev1.Pod) bool

	factory    informers.SharedInformerFactory
	core       core
	dispatcher *timedqueue.Dispatcher[daemon.Task, daemon.Result]
	feed       *feed.Handler[*corev1.Pod]
	set        atomic.Pointer[appsv1.DaemonSet] // the newest one
	wake       chan struct{}

	// Only the loop has these: what it has written and the caches may lack.
	revisions *ownership.Overlay[*appsv1.ControllerRevision]
	pods      *ownership.Overlay[*corev1.Pod]

	syncs    atomic.Int64
	mu       sync.Mutex // guards problems
	problems []error
}

// core is a planner that hands out nothing while a claim is due, which may
// adopt a pod. One is due at the start, after one that has failed, for a set
// that is going, and when an orphan was seen.
type core struct {
	*daemon.Planner

	claimsDue int
}

func (c *core) Start(now time.Time) (task daemon.Task, ok bool) {
	if c.claimsDue > 0 {
		return task, false
	}
	return c.Planner.Start(now)
}

func (c *core) Next(now time.Time) (next time.Time, ok bool) {
	if c.claimsDue > 0 {
		return next, false
	}
	return c.Planner.Next(now)
}

// start starts a controller, which stops when the test ends, or what it returns
// is called.
func start(t *testing.T, client kubernetes.Interface, name string, change ...func(*controller)) (*controller, func()) {
	c := &controller{
		client: client, name: name, wake: make(chan struct{}, 1), core: core{claimsDue: 1},
		factory: informers.NewSharedInformerFactory(client, 0),
	}
	var errs [4]error
	c.executor, c.manager, errs[0] = actors(client)
	c.revisions, errs[1] = ownership.NewOverlay[*appsv1.ControllerRevision](ownership.OverlayConfig{}, time.Now())
	c.pods, errs[2] = ownership.NewOverlay[*corev1.Pod](ownership.OverlayConfig{}, time.Now())
	c.dispatcher, errs[3] = timedqueue.NewDispatcher(&c.core, c.act, timedqueue.DispatcherConfig{Workers: 32})
	require.NoError(t, errors.Join(errs[:]...))
	for _, f := range change {
		f(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	apps := c.factory.Apps().V1()
	for _, informer := range []cache.SharedIndexInformer{apps.DaemonSets().Informer(),
		apps.ControllerRevisions().Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(any, bool) { c.changed() },
			UpdateFunc: func(any, any) { c.changed() },
			DeleteFunc: func(any) { c.changed() },
		})
		require.NoError(t, err)
	}
	core := c.factory.Core().V1()
	nodes, pods := core.Nodes().Informer(), core.Pods().Informer()
	c.factory.Start(ctx.Done())
	c.factory.WaitForCacheSync(ctx.Done())
	require.NoError(t, c.plan(ctx, nodes, pods))
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	running.Go(func() { c.note(context.Background(), c.dispatcher.Run(ctx)) })
	stop := sync.OnceFunc(func() { cancel(); running.Wait(); c.factory.Shutdown() })
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

// plan makes the planner of the current revision, which observes all nodes and
// pods.
func (c *controller) plan(ctx context.Context, nodes, pods cache.SharedIndexInformer) error {
	set, err := c.current()
	if err != nil {
		return err
	}
	c.set.Store(set)
	hash, claimed, err := c.revise(ctx, set)
	if err != nil {
		return err
	}
	c.config.Owner, c.config.Spec = set.UID, daemon.SpecOf(set, hash)
	if c.core.Planner, err = daemon.NewPlanner(c.config, time.Now()); err != nil {
		return err
	}
	observe := func(turn func(now time.Time)) {
		c.dispatcher.Update(func() { turn(time.Now()) })
		c.changed()
	}
	ofNodes, err := feed.NewHandler(feed.Config[*corev1.Node]{
		Observe: observe, Store: nodes.GetStore(), Seen: c.core.ObserveNode,
		Gone: func(now time.Time, node *corev1.Node) { c.core.ForgetNode(now, node.Name) },
	})
	var other error
	c.feed, other = feed.NewHandler(feed.Config[*corev1.Pod]{
		Observe: observe, Store: pods.GetStore(), Seen: c.seen, Gone: c.core.ForgetPod,
	})
	if err := errors.Join(err, other); err != nil {
		return err
	}
	c.tell(claimed)
	nodesFed, err := nodes.AddEventHandler(ofNodes)
	podsFed, other := pods.AddEventHandler(c.feed)
	if err := errors.Join(err, other); err != nil {
		return err
	}
	cache.WaitForCacheSync(ctx.Done(), nodesFed.HasSynced, podsFed.HasSynced)
	return nil
}

func (c *controller) seen(now time.Time, pod *corev1.Pod) {
	switch {
	case c.hears != nil && !c.hears(pod):
	case metav1.IsControlledBy(pod, c.set.Load()):
		c.core.ObservePod(now, pod)
	default:
		c.core.ForgetPod(now, pod)
		if metav1.GetControllerOfNoCopy(pod) == nil {
			c.core.claimsDue++
		}
	}
}

// tell passes on what the loop has written, before the watch shows it.
func (c *controller) tell(claimed ownership.Claimed[*corev1.Pod]) {
	for _, pod := range slices.Concat(claimed.Adopted, claimed.Released) {
		c.feed.Wrote(pod)
	}
	c.dispatcher.Update(func() {
		for _, pod := range claimed.Adopted {
			c.core.ObservePod(time.Now(), pod)
		}
		for _, pod := range claimed.Released {
			c.core.ForgetPod(time.Now(), pod)
		}
	})
}

// act performs a task. The planner tries again what has failed.
func (c *controller) act(ctx context.Context, task daemon.Task) daemon.Result {
	result := c.executor.Act(ctx, daemon.OwnerOf(c.set.Load()), task)
	if task.Create != nil && result.Outcome == daemon.OutcomeDone {
		c.feed.Wrote(result.Pod)
	}
	c.note(ctx, result.Err)
	return result
}

// changed wakes the loop.
func (c *controller) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *controller) run(ctx context.Context) {
	for {
		next, err := c.sync(ctx)
		c.note(ctx, err)
		c.syncs.Add(1)
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-time.After(max(time.Until(next), 100*time.Millisecond)):
		}
	}
}

func (c *controller) current() (*appsv1.DaemonSet, error) {
	return c.factory.Apps().V1().DaemonSets().Lister().DaemonSets(metav1.NamespaceDefault).Get(c.name)
}

// sync has the planner plan for what is wanted now, and returns when to look
// again.
func (c *controller) sync(ctx context.Context) (next time.Time, err error) {
	due, change := 0, 1
	c.dispatcher.View(func() { due = c.core.claimsDue })
	defer c.dispatcher.Update(func() { c.core.claimsDue += change })
	set, err := c.current()
	switch {
	case apierrors.IsNotFound(err), err == nil && set.DeletionTimestamp != nil:
		return time.Now().Add(time.Hour), nil // an event comes before
	case err != nil:
		return next, err
	}
	c.set.Store(set)
	hash, pods, err := c.revise(ctx, set)
	c.tell(pods)
	if err != nil {
		return next, err
	}
	change = -due
	var status daemon.Status
	var whole, waits bool
	c.dispatcher.Update(func() {
		now := time.Now()
		err = c.core.SetSpec(now, daemon.SpecOf(set, hash))
		status, whole = c.core.Status()
		next, waits = c.core.Planner.Next(now)
		if !waits {
			next = now.Add(time.Hour)
		}
		whole = whole && next.After(now) // else tasks are still to be handed out
	})
	if err != nil || !whole {
		return next, err
	}
	patch, err := daemon.StatusPatchOf(set, status, set.Generation)
	if err == nil && patch != nil {
		_, err = c.client.AppsV1().DaemonSets(set.Namespace).
			Patch(ctx, set.Name, daemon.StatusPatchType, patch, metav1.PatchOptions{}, "status")
	}
	return next, err
}

// revise claims pods and revisions, and returns the hash of the current
// revision and the pods.
func (c *controller) revise(ctx context.Context, set *appsv1.DaemonSet) (hash string,
	pods ownership.Claimed[*corev1.Pod], err error) {
	claimer, err := ownership.NewClaimer(daemon.OwnerOf(set), c.client.AppsV1().DaemonSets(set.Namespace))
	if err != nil {
		return "", pods, err
	}
	revisions, err := c.factory.Apps().V1().ControllerRevisions().Lister().ControllerRevisions(set.Namespace).
		List(labels.Everything())
	if err != nil {
		return "", pods, err
	}
	history, err := ownership.ClaimAll(ctx, claimer, c.client.AppsV1().ControllerRevisions(set.Namespace),
		c.revisions.Merge(time.Now(), revisions))
	c.revisions.Patched(time.Now(), slices.Concat(history.Adopted, history.Released)...)
	if err != nil {
		return "", pods, err
	}
	cached, err := c.factory.Core().V1().Pods().Lister().Pods(set.Namespace).List(labels.Everything())
	if err != nil {
		return "", pods, err
	}
	pods, err = ownership.ClaimAll(ctx, claimer, c.client.CoreV1().Pods(set.Namespace), c.pods.Merge(time.Now(), cached))
	c.pods.Patched(time.Now(), slices.Concat(pods.Adopted, pods.Released)...)
	if err != nil {
		return "", pods, err
	}
	plan, err := revision.Compute(daemon.SourceOf(set), history.Owned, slices.Values(pods.Owned))
	if err != nil {
		return "", pods, err
	}
	result, err := c.manager.Apply(ctx, plan)
	result.Record(time.Now(), c.revisions, c.pods)
	return result.Hash(), pods, err
}

// note keeps what has gone wrong, unless the controller is to stop.
func (c *controller) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problems = append(c.problems, err)
	}
}

// has returns how often the loop went round, and what went wrong or is wrong
// with the set.
func (c *controller) has() (syncs int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatcher.View(func() { err = c.core.Problems() })
	return c.syncs.Load(), errors.Join(append(c.problems, err)...)
}
