package bench

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	upstreamcontroller "k8s.io/kubernetes/pkg/controller"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/e2e/conformance/upstream"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	// manySets is how many DaemonSets there are at a time.
	manySets = 500
	// pools is how many parts the nodes have. A set selects one: 5 %.
	pools    = 20
	poolName = "node.kubernetes.io/pool"
)

func manySetsComparisons() []comparison {
	return []comparison{
		{name: "a node's labels have changed, 500 sets select 5 % each", of: "nodes", sizes: []int{2_000},
			ours: manySetsChangeOurs, upstream: manySetsChangeUpstream},
		{name: "memory of each pod, 500 sets select 5 % each", of: "nodes", sizes: []int{2_000},
			ours: manySetsMemoryOurs, upstream: manySetsMemoryUpstream},
	}
}

// manyObjects is a cluster in which each set has a pod on each node that it
// selects, and nothing is to be done.
type manyObjects struct {
	nodes, changed []*corev1.Node // the same with a label that no set asks for
	sets           []*appsv1.DaemonSet
	pods           []*corev1.Pod
}

func newManyObjects(size int) *manyObjects {
	m := &manyObjects{}
	for i := range size {
		node := readyNode(fmt.Sprintf("node-%06d", i))
		node.Labels[poolName] = strconv.Itoa(i % pools)
		changed := *node
		changed.ResourceVersion = "2"
		changed.Labels = maps.Clone(node.Labels)
		changed.Labels["example.com/load"] = "some"
		m.nodes, m.changed = append(m.nodes, node), append(m.changed, &changed)
	}
	for number := range manySets {
		set := poolSet(number)
		c := &daemonCluster{set: set, hash: upstreamcontroller.ComputeHash(&set.Spec.Template, nil)}
		var selected int32
		for i := number % pools; i < size; i += pools {
			pod := c.pod(m.nodes[i].Name)
			pod.Name = set.Name + "-" + m.nodes[i].Name
			pod.UID = types.UID("uid-of-" + pod.Name)
			pod.Labels["app"] = set.Name
			m.pods = append(m.pods, pod)
			selected++
		}
		set.Status = appsv1.DaemonSetStatus{
			ObservedGeneration: set.Generation, DesiredNumberScheduled: selected, CurrentNumberScheduled: selected,
			UpdatedNumberScheduled: selected, NumberReady: selected, NumberAvailable: selected,
		}
		m.sets = append(m.sets, set)
	}
	return m
}

// poolSet is the agentSet of one pool.
func poolSet(number int) *appsv1.DaemonSet {
	set := agentSet()
	set.Name = fmt.Sprintf("agent-%03d", number)
	set.UID = types.UID("uid-of-" + set.Name)
	chosen := map[string]string{"app": set.Name}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: chosen}
	set.Spec.Template.Labels = chosen
	set.Spec.Template.Spec.NodeSelector[poolName] = strconv.Itoa(number % pools)
	return set
}

// atRest returns the controller of examples/daemonset when it has made the
// revisions and has nothing more to do.
func (m *manyObjects) atRest(
	tb testing.TB,
) (*controller.Controller, timedqueue.Source[timedqueue.Job]) {
	tb.Helper()
	c, err := controller.NewController(controller.Config{}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	for _, node := range m.nodes {
		c.ObserveNode(epoch, node)
	}
	for _, set := range m.sets {
		c.ObserveSet(epoch, controller.SetOf(set))
	}
	for _, pod := range m.pods {
		c.ObservePod(epoch, pod)
	}
	c.MarkSynced(epoch)
	jobs, err := c.Jobs(controller.Actions{
		Claim:       unexpected[controller.Claim, controller.Result[controller.Claimed]],
		ChangePod:   unexpected[controller.ChangePod, controller.Result[rollout.Result]],
		WriteStatus: unexpected[controller.WriteStatus, controller.Result[controller.Set]],
		Record:      unexpected[controller.Event, struct{}],
		Revise: func(_ context.Context, revise controller.Revise) controller.Result[revision.Result] {
			return controller.Result[revision.Result]{
				Done: &revision.Result{Current: revise.Plan.Create, Created: true},
			}
		},
	}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	drain(jobs, func(job timedqueue.Job) {
		revise, ok := job.Task().(controller.Revise)
		if !ok || revise.Plan.Create == nil {
			tb.Fatalf("%T is to be done, want a revision to be created", job.Task())
		}
		job.Perform(tb.Context())
		job.Finish(epoch)
	})
	for set := range c.Sets() {
		if set.Phase != "managed" || set.Problem != nil || set.Counts.Available != set.Counts.Desired {
			tb.Fatalf("%+v", set)
		}
	}
	return c, jobs
}

// drain has all tasks done that may start now, as a dispatcher does.
func drain(jobs timedqueue.Source[timedqueue.Job], do func(timedqueue.Job)) {
	for {
		if job, some := jobs.Start(epoch); some {
			do(job)
		} else if next, more := jobs.Next(epoch); !more || next.After(epoch) {
			return
		}
	}
}

// The whole controller observes the change, and evaluates the node for each
// set.
func manySetsChangeOurs(tb testing.TB, size int) work {
	m := newManyObjects(size)
	c, jobs := m.atRest(tb)
	dispatcher, i := lockedJobs(tb, jobs), 0
	return work{op: func() {
		_, node := m.next(&i)
		dispatcher.Update(func() {
			c.ObserveNode(epoch, node)
			drain(jobs, func(job timedqueue.Job) { tb.Fatalf("%T is to be done", job.Task()) })
		})
	}}
}

// next returns two versions of a node, of which the second is the next. Each
// node has its turn, the order is mixed.
func (m *manyObjects) next(i *int) (former, next *corev1.Node) {
	size := len(m.nodes)
	at, changes := *i*7919%size, *i/size%2 == 0
	*i++
	if changes {
		return m.nodes[at], m.changed[at]
	}
	return m.changed[at], m.nodes[at]
}

// Upstream: the whole controller that NewDaemonSetsController returns, with its
// own worker for changes of nodes. It finds the pods of the node and asks for
// each set whether it belongs there. No set is synced.
func manySetsChangeUpstream(tb testing.TB, size int) work {
	m := newManyObjects(size)
	c := m.inUpstream(tb)
	tb.Cleanup(c.Close)
	i := 0
	return work{op: func() {
		c.ChangeNode(m.next(&i))
	}}
}

// inUpstream returns upstream's controller with all in its caches.
func (m *manyObjects) inUpstream(tb testing.TB) *upstream.DaemonSets {
	tb.Helper()
	c, err := upstream.NewDaemonSets(context.Background(), epoch)
	if err != nil {
		tb.Fatal(err)
	}
	for _, node := range m.nodes {
		c.Nodes.Put(node)
	}
	for _, set := range m.sets {
		c.Sets.Put(set)
	}
	for _, pod := range m.pods {
		c.Pods.Put(pod)
	}
	return c
}

// All that stays besides the objects, with an informer's index of each kind.
func manySetsMemoryOurs(tb testing.TB, size int) work {
	m := newManyObjects(size)
	type controllerWithCaches struct {
		controller *controller.Controller
		caches     []cache.Indexer
	}
	return held(len(m.pods), func() any {
		c, _ := m.atRest(tb)
		return controllerWithCaches{c, []cache.Indexer{
			indexed(tb, m.nodes), indexed(tb, m.sets), indexed(tb, m.pods),
		}}
	}, func(any) { runtime.KeepAlive(m) })
}

// indexed returns the cache that a shared informer has.
func indexed[T any](tb testing.TB, objects []T) cache.Indexer {
	tb.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	for _, object := range objects {
		if err := indexer.Add(object); err != nil {
			tb.Fatal(err)
		}
	}
	return indexer
}

// Upstream: the caches, to which its controller adds indexes of pods by node
// and by owner. What it knows of sets that are synced is not in it.
func manySetsMemoryUpstream(tb testing.TB, size int) work {
	m := newManyObjects(size)
	return held(len(m.pods), func() any { return m.inUpstream(tb) }, func(c any) {
		if daemonSets, ok := c.(*upstream.DaemonSets); ok {
			daemonSets.Close()
		}
		runtime.KeepAlive(m)
	})
}
