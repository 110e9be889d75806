package bench

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	// manySets is how many DaemonSets there are at a time.
	manySets = 500
	// pools is how many parts the nodes have. A set selects one: 5 %.
	pools    = 20
	poolName = "node.kubernetes.io/pool"
)

// pooledNodes returns nodes, each in a pool, and the same after a label has
// changed that no set asks for.
func pooledNodes(size int) (versions [2][]*corev1.Node) {
	for i := range size {
		node := readyNode(fmt.Sprintf("node-%06d", i))
		node.Labels[poolName] = strconv.Itoa(i % pools)
		changed := *node
		changed.ResourceVersion = "2"
		changed.Labels = maps.Clone(node.Labels)
		changed.Labels["example.com/load"] = "some"
		versions[0], versions[1] = append(versions[0], &changed), append(versions[1], node)
	}
	return versions
}

// poolSet is the agentSet of one pool.
func poolSet(number int) *appsv1.DaemonSet {
	set := agentSet()
	set.Name = fmt.Sprintf("agent-%03d", number)
	set.UID = types.UID("uid-of-" + set.Name)
	set.Spec.Template.Spec.NodeSelector[poolName] = strconv.Itoa(number % pools)
	return set
}

// The planners share one store of nodes, and each has a pod on each node of its
// pool. The change is observed, and all planners are asked for a task, as a
// dispatcher asks them.
func manySetsOurs(tb testing.TB, size int) work {
	versions := pooledNodes(size)
	var nodes daemon.Nodes
	for _, node := range versions[1] {
		nodes.Observe(epoch, node)
	}
	var planners []timedqueue.Source[daemon.Task]
	for number := range manySets {
		c := &daemonCluster{set: poolSet(number), hash: "current"}
		planner, err := daemon.NewPlanner(daemon.Config{
			Owner: c.set.UID, Nodes: &nodes, Spec: daemon.SpecOf(c.set, c.hash),
		}, epoch)
		if err != nil {
			tb.Fatal(err)
		}
		for i := number % pools; i < size; i += pools {
			planner.ObservePod(epoch, c.pod(versions[1][i].Name))
		}
		for _, whole := planner.Status(); !whole; { // all nodes are evaluated
			_, whole = planner.Status()
		}
		planners = append(planners, planner)
	}
	all, lock, i := timedqueue.RoundRobin(planners...), sync.Mutex{}, 0
	return work{op: func() {
		node := versions[i/size%2][i*7919%size]
		i++
		lock.Lock()
		nodes.Observe(epoch, node)
		_, some := all.Start(epoch)
		lock.Unlock()
		if some {
			tb.Fatal("nothing is to be done")
		}
	}}
}

// Upstream: NodeShouldRunDaemonPod for each set, as syncNodeUpdate of the
// controller calls it for a node whose labels or taints have changed. The rest
// of that, which finds the pods of the node by set, is left out, and no set is
// synced.
func manySetsUpstream(tb testing.TB, size int) work {
	versions, logger := pooledNodes(size), klog.Background()
	var sets []*appsv1.DaemonSet
	for number := range manySets {
		sets = append(sets, poolSet(number))
	}
	i := 0
	return work{op: func() {
		node := versions[i/size%2][i*7919%size]
		i++
		selected := 0
		for _, set := range sets {
			if run, _ := upstreamdaemon.NodeShouldRunDaemonPod(logger, node, set); run {
				selected++
			}
		}
		if selected != manySets/pools {
			tb.Fatalf("%d sets select it", selected)
		}
	}}
}
