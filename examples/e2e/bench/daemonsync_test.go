package bench

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/e2e/conformance/upstream"
)

// Upstream: one sync of the controller that NewDaemonSetsController returns.
// Its caches hold the cluster already, and its API server agrees to everything
// at once. Each sync looks at all nodes and pods, whatever has changed. It
// creates and deletes as many pods as it does before it wants to see them. What
// it would record as events is left out.
func syncUpstream(s state) func(testing.TB, int) work {
	return func(tb testing.TB, size int) work {
		c := newDaemonCluster(s, size)
		sync, err := upstream.NewDaemonSets(context.Background(), epoch)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(sync.Close)
		for _, node := range c.nodes {
			sync.Nodes.Put(node)
		}
		for _, pod := range c.pods {
			sync.Pods.Put(pod)
		}
		sync.Sets.Put(c.set)
		first := sync.Sync(c.set) // makes the revision and writes the status
		sync.Revisions.Put(first.Revisions[0])
		c.set = c.set.DeepCopy()
		c.set.Status = *first.Status
		return work{
			prepare: func() { sync.Forget(c.set) },
			op: func() {
				writes := sync.Sync(c.set)
				if writes.Status != nil || len(writes.Revisions)+len(writes.Others) > 0 {
					tb.Fatal("it writes something else than pods")
				}
				c.check(tb, s, len(writes.Created), len(writes.Deleted))
			},
		}
	}
}

// agreeing is an API server for our executor like the one that upstream has.
type agreeing struct{}

func (agreeing) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	made := *pod
	made.UID = types.UID("uid-of-" + made.Name)
	made.ResourceVersion = "1"
	return &made, nil
}

func (agreeing) Get(context.Context, string, metav1.GetOptions) (*corev1.Pod, error) {
	return nil, errors.New("nothing is in doubt")
}

func (agreeing) Delete(context.Context, string, metav1.DeleteOptions) error { return nil }

// daemonSets is our half of a controller: a planner and an executor.
type daemonSets struct {
	planner  *rollout.Planner
	executor *rollout.Executor
	owner    ownership.Owner
}

func newDaemonSets(tb testing.TB, c *daemonCluster) *daemonSets {
	tb.Helper()
	planner, err := rollout.NewPlanner(rollout.Config{Spec: rollout.SpecOf(c.set, c.hash), Burst: burst}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	executor, err := rollout.NewExecutor(rollout.ExecutorConfig{Pods: func(string) rollout.PodClient { return agreeing{} }})
	if err != nil {
		tb.Fatal(err)
	}
	return &daemonSets{planner: planner, executor: executor, owner: rollout.OwnerOf(c.set)}
}

func (d *daemonSets) observe(c *daemonCluster) {
	for _, node := range c.nodes {
		d.planner.ObserveNode(epoch, node)
	}
	for _, pod := range c.pods {
		d.planner.ObservePod(epoch, pod)
	}
}

// sync does all that may be done before something of it is observed.
func (d *daemonSets) sync(tb testing.TB) (creates, deletes int) {
	tb.Helper()
	for {
		task, ok := d.planner.Start(epoch)
		if !ok {
			if next, more := d.planner.Next(epoch); more && !next.After(epoch) {
				continue // with the next nodes
			}
			return creates, deletes
		}
		if task.Create != nil {
			creates++
		} else {
			deletes++
		}
		result := d.executor.Act(context.Background(), d.owner, task)
		if result.Err != nil {
			tb.Fatal(result.Err)
		}
		d.planner.Finish(epoch, task, result)
	}
}

// What a controller does once, at its start: it learns of all nodes and pods,
// plans and carries out what may be done at once.
func fromNothing(s state) func(testing.TB, int) work {
	return func(tb testing.TB, size int) work {
		c := newDaemonCluster(s, size)
		return work{op: func() {
			sync := newDaemonSets(tb, c)
			sync.observe(c)
			creates, deletes := sync.sync(tb)
			c.check(tb, s, creates, deletes)
		}}
	}
}

// The same when the nodes and pods are known already, which they are but at the
// start.
func known(s state) func(testing.TB, int) work {
	return func(tb testing.TB, size int) work {
		c := newDaemonCluster(s, size)
		var sync *daemonSets
		return work{
			prepare: func() {
				sync = newDaemonSets(tb, c)
				sync.observe(c)
				sync.planner.Evaluate(epoch, 2*size)
			},
			op: func() {
				creates, deletes := sync.sync(tb)
				c.check(tb, s, creates, deletes)
			},
		}
	}
}

// settled is a planner that knows the cluster and has nothing to do.
func settled(tb testing.TB, c *daemonCluster) *rollout.Planner {
	tb.Helper()
	all := newDaemonSets(tb, c)
	all.observe(c)
	creates, deletes := all.sync(tb)
	c.check(tb, idle, creates, deletes)
	return all.planner
}

// One node's labels change, in a way that changes nothing.
func nodeChangeOurs(tb testing.TB, size int) work {
	c := newDaemonCluster(idle, size)
	planner, lock := settled(tb, c), sync.Mutex{}
	changed := make([]*corev1.Node, size)
	for i, node := range c.nodes {
		other := *node
		other.ResourceVersion = "2"
		other.Labels = maps.Clone(node.Labels)
		other.Labels["example.com/load"] = strconv.Itoa(i)
		changed[i] = &other
	}
	versions := [2][]*corev1.Node{changed, c.nodes}
	i := 0
	return work{op: func() {
		node := versions[i/size%2][i*7919%size]
		i++
		lock.Lock()
		planner.ObserveNode(epoch, node)
		_, some := planner.Start(epoch)
		lock.Unlock()
		if some {
			tb.Fatal("nothing is to be done")
		}
	}}
}

// One node's pod becomes unavailable, or available again.
func podChangeOurs(tb testing.TB, size int) work {
	c := newDaemonCluster(idle, size)
	planner, lock := settled(tb, c), sync.Mutex{}
	changed := make([]*corev1.Pod, size)
	for i, pod := range c.pods {
		other := *pod
		other.Status.Conditions = slices.Clone(pod.Status.Conditions)
		other.Status.Conditions[1].Status = corev1.ConditionFalse
		changed[i] = &other
	}
	versions := [2][]*corev1.Pod{changed, c.pods}
	i := 0
	return work{op: func() {
		pod := versions[i/size%2][i*7919%size]
		i++
		lock.Lock()
		planner.ObservePod(epoch, pod)
		_, some := planner.Start(epoch)
		status, _ := planner.Status(epoch)
		lock.Unlock()
		if some || status.Desired != size {
			tb.Fatal("nothing is to be done")
		}
	}}
}
