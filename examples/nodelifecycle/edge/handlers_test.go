package edge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

const grace = 40 * time.Second

// fed is a controller that is fed through handlers, in virtual time.
type fed struct {
	t        *testing.T
	now      time.Time
	observed int // calls of observe
	*controller.Controller
	edge.Handlers
	jobs timedqueue.Source[timedqueue.Job]
	// patch is the answer to the next changes of nodes; nil makes them fail.
	patch func(controller.NodeChange) *corev1.Node
}

func newFed(t *testing.T) *fed {
	f := &fed{t: t, now: time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)}
	var err error
	f.Controller,
		err = controller.New(controller.Config{Health: nodehealth.Config{GracePeriod: grace, StartupGracePeriod: grace}},
		f.now)
	require.NoError(t, err)
	f.Handlers, err = edge.NewHandlers(f.Controller, edge.Stores{}, func(turn func(time.Time), _ func() bool) {
		f.observed++
		turn(f.now)
	})
	require.NoError(t, err)
	f.jobs, err = f.Jobs(f.actions(), f.now)
	require.NoError(t, err)
	return f
}

// actions fail, unless there is an answer.
func (f *fed) actions() controller.Actions {
	ofNode := controller.Result[*corev1.Node]{Err: errServer}
	return controller.Actions{
		ReadLeases: func(context.Context, controller.LeaseRead) controller.Leases {
			return controller.Leases{Err: errServer}
		},
		Declare: func(context.Context, controller.Declaration) controller.Result[*corev1.Node] { return ofNode },
		ChangeNode: func(_ context.Context, change controller.NodeChange) controller.Result[*corev1.Node] {
			if f.patch == nil {
				return ofNode
			}
			return controller.Result[*corev1.Node]{Object: f.patch(change)}
		},
		MarkPod: func(context.Context, controller.PodMark) controller.Result[*corev1.Pod] {
			return controller.Result[*corev1.Pod]{Err: errServer}
		},
		Evict: func(context.Context, eviction.Task) eviction.Result {
			return eviction.Result{Outcome: eviction.OutcomeFailed, Err: errServer}
		},
		Record: func(context.Context, controller.Record) struct{} { return struct{}{} },
	}
}

// pass lets time pass, in which everything is done that is asked for, and
// returns what was asked for. It polls every second, which is enough for these
// tests.
func (f *fed) pass(d time.Duration) (asked []any) {
	for end := f.now.Add(d); ; f.now = f.now.Add(time.Second) {
		for job, ok := f.jobs.Start(f.now); ok; job, ok = f.jobs.Start(f.now) {
			asked = append(asked, job.Task())
			job.Perform(f.t.Context())
			job.Finish(f.now)
		}
		if !f.now.Before(end) {
			return asked
		}
	}
}

func of[T any](all []any) []T {
	var found []T
	for _, task := range all {
		if t, ok := task.(T); ok {
			found = append(found, t)
		}
	}
	return found
}

func readyNode(uid types.UID, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: uid},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func boundPod(uid types.UID, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-0", UID: uid},
		Spec:       corev1.PodSpec{NodeName: "n1", Tolerations: tolerations},
	}
}

func nodeLease(uid types.UID, renewed time.Time) *coordinationv1.Lease {
	at := metav1.NewMicroTime(renewed)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "n1", UID: uid},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &at},
	}
}

var (
	forbidden = corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}
	tolerated = corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists}
)

func TestReportsReachTheControllerAtTheTimeOfObserve(t *testing.T) {
	f := newFed(t)
	f.Nodes.OnAdd(readyNode("n"), true)
	f.Leases.OnAdd(nodeLease("l", f.now), true)
	f.Pods.OnAdd(boundPod("p"), true)
	f.MarkSynced(f.now)
	f.now = f.now.Add(30 * time.Second)
	f.Leases.OnUpdate(nodeLease("l", f.now.Add(-30*time.Second)), nodeLease("l", f.now))
	require.Equal(t, 4, f.observed, "one a report")
	require.Empty(t, of[controller.LeaseRead](f.pass(grace-time.Second)), "it has beaten")
	require.NotEmpty(t, of[controller.LeaseRead](f.pass(time.Second)), "it has not beaten since")

	tainted := readyNode("n", forbidden)
	f.Nodes.OnUpdate(readyNode("n"), tainted)
	require.NotEmpty(t, of[eviction.Task](f.pass(0)))
	f.Pods.OnUpdate(boundPod("p"), boundPod("p", tolerated))
	require.Empty(t, of[eviction.Task](f.pass(time.Hour)))

	f.Pods.OnDelete(boundPod("p"))
	f.Nodes.OnDelete(tainted)
	f.Leases.OnDelete(nodeLease("l", f.now))
	nodes, pods := f.Len()
	require.Zero(t, nodes)
	require.Zero(t, pods)
}

// eviction's doc.go, the caller's duties: a pod of a StatefulSet that was
// deleted and created again while the watch was broken is one update. The old
// pod would be evicted for ever.
func TestPodRecreatedInOneUpdateIsAnotherPod(t *testing.T) {
	f := newFed(t)
	f.Nodes.OnAdd(readyNode("n", forbidden), true)
	f.Pods.OnAdd(boundPod("old"), true)
	f.MarkSynced(f.now)
	asked := of[eviction.Task](f.pass(0))
	require.Len(t, asked, 1)
	require.Equal(t, types.UID("old"), asked[0].Pod.UID)

	before := f.observed
	f.Pods.OnUpdate(boundPod("old"), boundPod("new", tolerated))
	require.Equal(t, before+1, f.observed, "in one step")
	require.Empty(t, of[eviction.Task](f.pass(time.Hour)), "the old one is gone, the new one tolerates the taint")
	_, pods := f.Len()
	require.Equal(t, 1, pods)

	f.Pods.OnDelete(boundPod("new"))
	_, pods = f.Len()
	require.Zero(t, pods, "nothing is kept of either")
}

// The same of a node. It starts again: with a grace period of its own, and as a
// node without a heartbeat.
func TestNodeRecreatedInOneUpdateIsAnotherNode(t *testing.T) {
	f := newFed(t)
	f.Nodes.OnAdd(readyNode("old"), true)
	f.MarkSynced(f.now)
	f.pass(30 * time.Second)
	f.Nodes.OnUpdate(readyNode("old"), readyNode("new"))
	asked := f.pass(0)
	require.Len(t, of[controller.Record](asked), 2)
	require.Equal(t, "RemovingNode", of[controller.Record](asked)[0].Reason)
	require.Equal(t, "RegisteredNode", of[controller.Record](asked)[1].Reason)
	require.Empty(t, of[controller.LeaseRead](f.pass(grace-time.Second)))
	silent := of[controller.LeaseRead](f.pass(time.Second))
	require.NotEmpty(t, silent)
	require.Equal(t, types.UID("new"), silent[0].Node.UID)
}

// And of a lease. Creating it again is a heartbeat, even when its fields are
// those of the old one.
func TestLeaseRecreatedInOneUpdateIsABeat(t *testing.T) {
	f := newFed(t)
	renewed := f.now.Add(-time.Second)
	f.Nodes.OnAdd(readyNode("n"), true)
	f.Leases.OnAdd(nodeLease("old", renewed), true)
	f.MarkSynced(f.now)
	f.pass(30 * time.Second)
	f.Leases.OnUpdate(nodeLease("old", renewed), nodeLease("new", renewed))
	require.Empty(t, of[controller.LeaseRead](f.pass(grace-time.Second)))
	require.NotEmpty(t, of[controller.LeaseRead](f.pass(time.Second)))
}

// A deletion that the informer has missed comes wrapped.
func TestDeletionThatWasMissedIsADeletion(t *testing.T) {
	f := newFed(t)
	f.Nodes.OnAdd(readyNode("n"), true)
	f.Pods.OnAdd(boundPod("p"), true)
	f.Nodes.OnDelete(cache.DeletedFinalStateUnknown{Key: "n1", Obj: readyNode("n")})
	f.Pods.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/cart-0", Obj: boundPod("p")})
	nodes, pods := f.Len()
	require.Zero(t, nodes)
	require.Zero(t, pods)
}

// What is not an object of the type is not believed to be one.
func TestReportsOfNothingChangeNothing(t *testing.T) {
	f := newFed(t)
	f.Nodes.OnAdd(readyNode("n"), true)
	f.Pods.OnAdd(boundPod("p"), true)
	before := f.observed
	for _, handler := range []cache.ResourceEventHandler{f.Nodes, f.Leases, f.Pods} {
		for _, object := range []any{nil, cache.DeletedFinalStateUnknown{Key: "n1"}, &corev1.Event{}} {
			handler.OnAdd(object, false)
			handler.OnUpdate(object, object)
			handler.OnDelete(object)
		}
	}
	require.Equal(t, before, f.observed)
	nodes, pods := f.Len()
	require.Equal(t, 1, nodes)
	require.Equal(t, 1, pods)

	f.Pods.OnUpdate(nil, boundPod("q"))
	_, pods = f.Len()
	require.Equal(t, 2, pods, "an update of nothing is still seen")
}

// That informers do report it so: while the watch is broken each object is
// deleted and created again under its name.
func TestRealInformersReportRecreationAsOneUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		ctx, stop := context.WithCancel(t.Context())
		f := newFed(t)
		var mu sync.Mutex
		updates := 0
		handlers, err := edge.NewHandlers(f.Controller, edge.Stores{}, func(turn func(time.Time), _ func() bool) {
			mu.Lock()
			defer mu.Unlock()
			turn(time.Now())
		})
		require.NoError(t, err)
		factory := informers.NewSharedInformerFactoryWithOptions(cluster, 0, informers.WithTransform(edge.Trim))
		pods := factory.Core().V1().Pods().Informer()
		_, err = pods.AddEventHandler(handlers.Pods)
		require.NoError(t, err)
		_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { updates++ }})
		require.NoError(t, err)
		defer factory.Shutdown()
		defer stop()
		create := func() {
			_, err := cluster.CoreV1().Pods("shop").Create(ctx, boundPod(""), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		known := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			_, pods := f.Len()
			return pods
		}
		create()
		factory.Start(ctx.Done())
		require.True(t, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
		require.Equal(t, 1, known())

		cluster.DropWatches()
		require.NoError(t, cluster.CoreV1().Pods("shop").Delete(ctx, "cart-0", *metav1.NewDeleteOptions(0)))
		create()
		time.Sleep(time.Minute) // the bubble's clock: the reflector waits before it lists
		require.Equal(t, 1, known())
		require.Equal(t, 1, updates, "the case that is tested did not come up")
	})
}

// viewer shows each node as cordoned, and records what it is told.
type viewer struct{ told []string }

func (v *viewer) ObserveNode(_ time.Time, node *corev1.Node) (*corev1.Node, []*corev1.Pod) {
	v.told = append(v.told, "node "+node.Name)
	shown := node.DeepCopy()
	shown.Spec.Unschedulable = true
	return shown, nil
}

func (v *viewer) ForgetNode(_ time.Time, node *corev1.Node) {
	v.told = append(v.told, "no node "+node.Name)
}

func (v *viewer) ObservePod(_ time.Time, pod *corev1.Pod) *corev1.Pod {
	v.told = append(v.told, "pod "+pod.Name)
	return pod
}

func (v *viewer) ForgetPod(_ time.Time, pod *corev1.Pod) {
	v.told = append(v.told, "no pod "+pod.Name)
}

func TestC7TheControllerSeesWhatAViewShows(t *testing.T) {
	f, v := newFed(t), &viewer{}
	handlers, err := edge.NewViewedHandlers(f.Controller, v, edge.Stores{},
		func(turn func(time.Time), _ func() bool) { turn(f.now) })
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "v"}, Spec: corev1.PodSpec{NodeName: "n"}}
	handlers.Nodes.OnAdd(node, true)
	handlers.Pods.OnAdd(pod, true)
	f.MarkSynced(f.now)
	patches := of[controller.NodeChange](f.pass(0))
	require.Len(t, patches, 1)
	require.Equal(t, corev1.TaintNodeUnschedulable, patches[0].Taints[0].Key)
	handlers.Pods.OnDelete(pod)
	handlers.Nodes.OnDelete(node)
	require.Equal(t, []string{"node n", "pod p", "no pod p", "no node n"}, v.told)
}

// store is that of an informer which has received everything up to a version.
type store struct {
	cache.Store

	version string
}

func (s *store) LastSyncResourceVersion() string { return s.version }

// newStore returns the store of an informer with some objects.
func newStore(t *testing.T, objects ...any) *store {
	store := &store{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	for _, object := range objects {
		require.NoError(t, store.Add(object))
	}
	return store
}

// A cache that is behind must not make us undo what we have just written, or
// have read. In the end the watch is believed: the store of the API server may
// have been set back.
func TestAnAnswerOutranksAnOlderCacheForABoundedTime(t *testing.T) {
	cached := readyNode("n")
	cached.ResourceVersion, cached.Spec.Unschedulable = "7", true
	f, nodes := newFed(t), newStore(t, cached)
	handlers, err := edge.NewHandlers(f.Controller, edge.Stores{Nodes: nodes, Pods: newStore(t)},
		func(turn func(time.Time), _ func() bool) { turn(f.now) })
	require.NoError(t, err)
	handlers.Nodes.OnAdd(cached, true)
	f.MarkSynced(f.now)
	written := cached.DeepCopy()
	f.patch = func(change controller.NodeChange) *corev1.Node {
		written.ResourceVersion, written.Spec.Taints = "9", change.Taints
		handlers.Nodes.Wrote(written)
		return written
	}
	f.pass(0)
	f.patch = nil
	require.NotEmpty(t, written.Spec.Taints)
	late := cached.DeepCopy()
	late.ResourceVersion, nodes.version = "8", "8"
	require.NoError(t, nodes.Update(late))
	handlers.Nodes.OnUpdate(cached, late)
	require.Empty(t, of[controller.NodeChange](f.pass(time.Minute-time.Second)),
		"nothing is computed from the old version")
	f.now = f.now.Add(time.Second)
	handlers.Nodes.Expire()
	require.Len(t, of[controller.NodeChange](f.pass(0)), 1, "but not for ever")
}
