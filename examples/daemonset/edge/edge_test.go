package edge_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

const namespace = "monitoring"

type dispatcher = timedqueue.Dispatcher

// world is a cluster in memory, in virtual time, with the controller, its edge
// and a dispatcher.
type world struct {
	*testing.T
	ctx        context.Context
	cluster    *memory.Cluster
	client     *memory.Client
	dispatcher *dispatcher
	core       *controller.Controller
	late       time.Duration // the watch of revisions

	mu     sync.Mutex
	events []string
	unused int
}

func inWorld(t *testing.T, nodes int, play func(w *world)) {
	t.Helper()
	inLateWorld(t, nodes, 0, play)
}

// inLateWorld is inWorld with a watch of revisions that is late.
func inLateWorld(t *testing.T, nodes int, late time.Duration, play func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &world{T: t, ctx: ctx, cluster: memory.NewCluster(), late: late}
		w.client = w.cluster.NewClient()
		for i := range nodes {
			w.addNode(fmt.Sprintf("node-%d", i))
		}
		ended := w.start()
		play(w)
		stop()
		<-ended
	})
}

// start connects a controller, and has it run until the context ends.
func (w *world) start() <-chan struct{} {
	var err error
	w.core, err = controller.NewController(controller.Config{}, time.Now())
	require.NoError(w, err)
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithTransform(edge.Trim))
	sets, revisions := factory.Apps().V1().DaemonSets().Informer(), factory.Apps().V1().ControllerRevisions().Informer()
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	e, err := edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: w.core,
		Observe: func(turn func(now time.Time)) {
			w.dispatcher.Update(func() { turn(time.Now()) })
		},
		SetOf:      controller.SetOf,
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
		Sets: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return w.client.AppsV1().DaemonSets(namespace)
		},
		Pods:      func(namespace string) edge.Pods { return w.client.CoreV1().Pods(namespace) },
		Revisions: func(namespace string) revision.Client { return w.client.AppsV1().ControllerRevisions(namespace) },
		Stores: edge.Stores{
			Sets: feed.StoreOf(sets), Pods: feed.StoreOf(pods), Revisions: feed.StoreOf(revisions),
		},
		Record: func(event controller.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, event.Reason)
		},
	})
	require.NoError(w, err)
	jobs, err := w.core.Jobs(e.Actions(), time.Now())
	require.NoError(w, err)
	w.dispatcher, err = timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{
		Workers: 8,
		Finished: func(_ context.Context, finished timedqueue.Finished) {
			task, result := finished.Task()
			if counted, is := result.(timedqueue.Unspent); is {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.unused += counted.Unspent(requestsOf(task))
			}
		},
	})
	require.NoError(w, err)
	var synced []cache.InformerSynced
	for _, add := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{{sets, e.Sets}, {revisions, lateHandler{e.Revisions, w.late}}, {nodes, e.Nodes}, {pods, e.Pods}} {
		registration, err := add.informer.AddEventHandler(add.handler)
		require.NoError(w, err)
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(w.ctx.Done())
	require.True(w, cache.WaitForCacheSync(w.ctx.Done(), synced...))
	w.dispatcher.Update(func() { w.core.MarkSynced(time.Now()) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		assert.NoError(w, w.dispatcher.Run(w.ctx))
		factory.Shutdown()
	}()
	return ended
}

// lateHandler is told of changes late. What is there at the start it knows.
type lateHandler struct {
	cache.ResourceEventHandler
	late time.Duration
}

func (h lateHandler) OnAdd(object any, isInInitialList bool) {
	time.AfterFunc(h.late, func() { h.ResourceEventHandler.OnAdd(object, isInInitialList) })
}

func (h lateHandler) OnUpdate(before, after any) {
	time.AfterFunc(h.late, func() { h.ResourceEventHandler.OnUpdate(before, after) })
}

func (h lateHandler) OnDelete(object any) {
	time.AfterFunc(h.late, func() { h.ResourceEventHandler.OnDelete(object) })
}

// requestsOf returns the most requests that a task may send.
func requestsOf(task any) int {
	switch task.(type) {
	case controller.WriteStatus:
		return 1
	case controller.ChangePod:
		return 2
	}
	return 10
}

func (w *world) addNode(name string) {
	_, err := w.cluster.CoreV1().Nodes().Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	require.NoError(w, err)
}

func (w *world) addSet(name string, change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	set.Spec.Template.Labels = map[string]string{"app": name}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt(1))}
	for _, f := range change {
		f(set)
	}
	set, err := w.cluster.AppsV1().DaemonSets(namespace).Create(w.ctx, set, metav1.CreateOptions{})
	require.NoError(w, err)
	return set
}

func (w *world) set(name string) *appsv1.DaemonSet {
	set, err := w.cluster.AppsV1().DaemonSets(namespace).Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	return set
}

func (w *world) changeSet(name string, change func(*appsv1.DaemonSet)) {
	set := w.set(name)
	change(set)
	_, err := w.cluster.AppsV1().DaemonSets(namespace).Update(w.ctx, set, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// pods returns the pods of a set by node.
func (w *world) pods(set string) map[string]*corev1.Pod {
	list, err := w.cluster.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if pod := &list.Items[i]; metav1.IsControlledBy(pod, w.set(set)) {
			require.Nil(w, pods[daemon.TargetNode(pod)], "a second pod on a node")
			pods[daemon.TargetNode(pod)] = pod
		}
	}
	return pods
}

// pass lets seconds pass, in each of which the kubelets make pods ready.
func (w *world) pass(seconds int) {
	for range seconds {
		time.Sleep(time.Second)
		synctest.Wait()
		list, err := w.cluster.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		for i := range list.Items {
			if pod := &list.Items[i]; pod.Status.Phase != corev1.PodRunning {
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				_, err := w.cluster.CoreV1().Pods(namespace).UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
				require.NoError(w, err)
			}
		}
	}
	synctest.Wait()
}

// writes returns how many requests changed something, by kind, and forgets
// none.
func (w *world) writes() map[string]int {
	counts := map[string]int{}
	for request, n := range w.client.Requests() {
		if !slices.Contains([]string{"get", "list", "watch"}, request.Verb) {
			counts[request.String()] = n
		}
	}
	return counts
}

// D3: created, rolled out and rolled back, with as few calls as there are
// changes. What is at rest sends nothing.
func TestD3ASetIsCreatedAndRolledOut(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.addSet("agent")
		w.pass(5)
		require.Len(t, w.pods("agent"), 3)
		first := w.writes()
		require.Equal(t, 3, first["create pods"])
		require.Equal(t, 1, first["create controllerrevisions"])
		require.LessOrEqual(t, first["patch daemonsets/status"], 4)
		w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.Containers[0].Image = "agent:2" })
		w.pass(60)
		status := w.set("agent").Status
		require.Equal(t, int32(3), status.UpdatedNumberScheduled)
		require.Equal(t, int32(3), status.NumberAvailable)
		require.Equal(t, w.set("agent").Generation, status.ObservedGeneration)
		rest := w.writes()
		require.Equal(t, 3, rest["delete pods"])
		require.Equal(t, 6, rest["create pods"])
		require.Equal(t, 2, rest["create controllerrevisions"])
		w.pass(600)
		require.Equal(t, rest, w.writes())
		require.Contains(t, w.events, "SuccessfulCreate")
		require.Contains(t, w.events, "SuccessfulDelete")
	})
}

// D3: a watch of revisions that is late costs no request: they are created,
// renumbered and deleted once.
func TestD3OwnWritesOfRevisionsCountAtOnce(t *testing.T) {
	play := func(late time.Duration) (requests map[string]int) {
		inLateWorld(t, 2, late, func(w *world) {
			w.addSet("agent", func(set *appsv1.DaemonSet) { set.Spec.RevisionHistoryLimit = ptr.To[int32](1) })
			w.pass(10)
			for _, image := range []string{"agent:2", "agent:1", "agent:3"} {
				w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.Containers[0].Image = image })
				w.pass(2)
			}
			w.pass(60)
			requests = map[string]int{}
			for request, n := range w.client.Requests() {
				if request.Resource == "controllerrevisions" {
					requests[request.String()] = n
				}
			}
		})
		return requests
	}
	require.Equal(t, map[string]int{
		"watch controllerrevisions": 1, "create controllerrevisions": 3, "patch controllerrevisions": 1,
		"delete controllerrevisions": 1,
	}, play(0))
	require.Equal(t, play(0), play(5*time.Second))
}

// Orphans come back, what is not selected goes, and no pod is restarted for it.
func TestOrphansAreAdoptedAndOthersReleased(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.addSet("agent")
		w.pass(5)
		before := w.pods("agent")
		orphan := []byte(`[{"op":"remove","path":"/metadata/ownerReferences"}]`)
		for _, pod := range before {
			_, err := w.cluster.CoreV1().Pods(namespace).Patch(w.ctx, pod.Name, types.JSONPatchType, orphan,
				metav1.PatchOptions{})
			require.NoError(t, err)
		}
		w.pass(5)
		uids := func(pods map[string]*corev1.Pod) map[string]types.UID {
			found := map[string]types.UID{}
			for node, pod := range pods {
				found[node] = pod.UID
			}
			return found
		}
		require.Equal(t, uids(before), uids(w.pods("agent")))
		require.Equal(t, 3, w.writes()["create pods"])
		require.Equal(t, 3, w.writes()["patch pods"])

		taken := before["node-0"]
		_, err := w.cluster.CoreV1().Pods(namespace).Patch(w.ctx, taken.Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app":"under-observation"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		w.pass(5)
		after := uids(w.pods("agent"))
		require.Len(t, after, 3)
		require.NotEqual(t, taken.UID, after["node-0"])
	})
}

// A set that was deleted and created again is another one.
func TestASetThatIsRecreatedGetsPodsOfItsOwn(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		former := w.addSet("agent")
		w.pass(5)
		require.NoError(t, w.cluster.AppsV1().DaemonSets(namespace).Delete(w.ctx, "agent", metav1.DeleteOptions{}))
		w.pass(5)
		require.Zero(t, w.writes()["delete pods"], "the garbage collector deletes them")
		list, err := w.cluster.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, w.cluster.CoreV1().Pods(namespace).Delete(w.ctx, list.Items[0].Name, metav1.DeleteOptions{}))
		w.pass(5)
		require.Equal(t, 2, w.writes()["create pods"], "nothing is created for a set that is gone")
		again := w.addSet("agent")
		require.NotEqual(t, former.UID, again.UID)
		w.pass(60)
		require.Len(t, w.pods("agent"), 2)
		require.Equal(t, int32(2), w.set("agent").Status.NumberReady)
	})
}

// C1: a task returns the requests that it did not send.
func TestC1UnusedRequestsAreReturned(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addSet("agent")
		w.pass(5)
		writes := 0
		for n := range maps.Values(w.writes()) {
			writes += n
		}
		// One revision takes ten, one pod two, and each status one.
		require.Equal(t, 9+1, w.unused, "%v", w.writes())
		require.GreaterOrEqual(t, writes, 3)
	})
}

// A heartbeat of a node is no turn of the controller.
func TestHeartbeatsOfNodesCostNothing(t *testing.T) {
	turns := 0
	core, err := controller.NewController(controller.Config{}, time.Now())
	require.NoError(t, err)
	client := memory.NewCluster()
	e, err := edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: core, Observe: func(turn func(time.Time)) { turns++; turn(time.Now()) },
		SetOf: controller.SetOf, Collisions: func(*appsv1.DaemonSet) *int32 { return nil },
		Sets:      func(string) revision.OwnerClient[*appsv1.DaemonSet] { return client.AppsV1().DaemonSets("") },
		Pods:      func(string) edge.Pods { return client.CoreV1().Pods("") },
		Revisions: func(string) revision.Client { return client.AppsV1().ControllerRevisions("") },
	})
	require.NoError(t, err)
	node := func(status corev1.ConditionStatus, beat int) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "ant", UID: "u", ResourceVersion: fmt.Sprint(beat)},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Unix(int64(beat), 0)}}},
		}
	}
	e.Nodes.OnAdd(node("True", 1), true)
	e.Nodes.OnUpdate(node("True", 1), node("True", 2))
	require.Equal(t, 1, turns)
	e.Nodes.OnUpdate(node("True", 2), node("False", 3))
	tainted := node("False", 4)
	tainted.Spec.Taints = []corev1.Taint{{Key: "broken"}}
	e.Nodes.OnUpdate(node("False", 3), tainted)
	require.Equal(t, 3, turns)
}

func TestTrimKeepsWhatIsRead(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "c", ResourceVersion: "7",
			Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"much": "text"},
			OwnerReferences: []metav1.OwnerReference{{UID: "o", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Affinity: &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
					Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"ant"}}}}}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled}, {Type: corev1.PodReady, Status: "True"}}},
	}
	trimmed, err := edge.Trim(pod)
	require.NoError(t, err)
	kept, ok := trimmed.(*corev1.Pod)
	require.True(t, ok)
	require.Equal(t, "ant", daemon.TargetNode(kept))
	require.Equal(t, pod.OwnerReferences, kept.OwnerReferences)
	require.Equal(t, pod.Labels, kept.Labels)
	require.Equal(t, []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}, kept.Status.Conditions)
	require.Empty(t, kept.Spec.Containers)
	require.Empty(t, kept.Annotations)
}

func TestConfigSaysAllThatIsMissing(t *testing.T) {
	_, err := edge.NewEdge(edge.Config[*appsv1.DaemonSet]{})
	require.ErrorIs(t, err, edge.ErrInvalidConfig)
	for _, field := range []string{"Controller", "Observe", "SetOf", "Collisions", "Sets", "Pods", "Revisions"} {
		require.ErrorContains(t, err, "Config."+field)
	}
}
