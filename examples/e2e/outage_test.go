package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// kinds are ten pods a node: some that leave at once, some after a short and
// some after a long time, and some that stay.
func kinds() []fleet.Pod {
	return []fleet.Pod{
		{Name: "short-a", Tolerations: fleet.Tolerate(ptr.To[int64](4))},
		{Name: "short-b", Tolerations: fleet.Tolerate(ptr.To[int64](4))},
		{Name: "short-c", Tolerations: fleet.Tolerate(ptr.To[int64](4))},
		{Name: "none-a", Tolerations: fleet.Tolerate(ptr.To[int64](0))},
		{Name: "none-b", Tolerations: fleet.Tolerate(ptr.To[int64](0))},
		{Name: "long-a", Tolerations: fleet.Tolerate(ptr.To[int64](3600))},
		{Name: "long-b", Tolerations: fleet.Tolerate(ptr.To[int64](3600))},
		{Name: "ever-a", Tolerations: fleet.Tolerate(nil)},
		{Name: "ever-b", Tolerations: fleet.Tolerate(nil)},
		{Name: "ever-c", Tolerations: fleet.Tolerate(nil)},
	}
}

// leaving returns the names of the pods of these nodes that have to leave.
func leaving(nodes []string) []string {
	var names []string
	for _, node := range nodes {
		for _, kind := range []string{"short-a", "short-b", "short-c", "none-a", "none-b"} {
			names = append(names, fleet.PodName(kind, node))
		}
	}
	return names
}

// TestTenOfAHundredNodesFail is the failure path from end to end: 100 nodes and
// 1,000 pods, 10 nodes cut off and brought back.
func TestTenOfAHundredNodesFail(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 40, "b": 30, "c": 30}, kinds()...)
	running := c.startController()
	settle(t)

	failed := slices.Concat(c.fleet.Nodes("a")[:4], c.fleet.Nodes("b")[:3], c.fleet.Nodes("c")[:3])
	healthy := without(c.fleet.AllNodes(), failed)
	cut := time.Now()
	c.fleet.Cut(failed...)
	c.eventually("all 10 are Unknown and tainted", func(w *witness) error {
		return w.each(failed, (*nodeSeen).wantIll)
	})
	c.eventually("exactly their pods that do not tolerate that for ever are evicted", wantEvicted(leaving(failed)...))
	c.eventually("the pods that stay are not ready", func(w *witness) error { return wantPodsNotReady(w, failed) })
	c.report(cut, failed)

	c.fleet.Restore(failed...)
	c.eventually("the nodes are back and their taints gone", func(w *witness) error {
		return w.each(failed, (*nodeSeen).wantHealthy)
	})
	time.Sleep(2 * interval)
	require.NoError(t, c.witness.ask(wantEvicted(leaving(failed)...)), "nothing more may be evicted")
	require.NoError(t, c.witness.ask(func(w *witness) error {
		return w.each(healthy, func(n *nodeSeen) error {
			require.Empty(t, n.tainted, "node %s was never ill", n.name)
			return n.wantHealthy()
		})
	}))
	c.wantCalls(failed)
	c.wantMetrics(running, len(failed), len(leaving(failed)))
	c.wantEvents()
	c.stop(running)
}

// settle waits until the controller, which has just started, may taint nodes.
func settle(t *testing.T) {
	t.Helper()
	t.Logf("waiting %v for the controller to settle", grace)
	time.Sleep(grace)
}

func wantPodsNotReady(w *witness, nodes []string) error {
	return w.each(nodes, func(n *nodeSeen) error {
		for _, kind := range []string{"long-a", "ever-a"} {
			if p := w.pods[fleet.PodName(kind, n.name)]; p.ready != corev1.ConditionFalse {
				return wantStatus(kind, p.ready)
			}
		}
		return nil
	})
}

// report logs how long it took.
func (c *cluster) report(cut time.Time, failed []string) {
	var unknown, tainted []time.Duration
	_ = c.witness.ask(func(w *witness) error {
		for _, name := range failed {
			n := w.nodes[name]
			unknown = append(unknown, n.since.Sub(cut))
			tainted = append(tainted, n.tainted[len(n.tainted)-1].Sub(cut))
		}
		return nil
	})
	for what, times := range map[string][]time.Duration{"Unknown": unknown, "NoExecute": tainted} {
		slices.Sort(times)
		c.t.Logf("after the cut, %s: first %.1fs, median %.1fs, last %.1fs (grace %v, a beat every %v)", what,
			times[0].Seconds(), times[len(times)/2].Seconds(), times[len(times)-1].Seconds(), grace, interval)
	}
}

// wantCalls counts what the outage has cost on the real API server.
func (c *cluster) wantCalls(failed []string) {
	c.t.Helper()
	count := func(verb, resource string) map[string]int {
		requests, err := c.plane.Requests(context.Background(),
			controlplane.Filter{UserAgent: "nodelifecycle", Verb: verb, Resource: resource})
		require.NoError(c.t, err)
		return controlplane.CountBy(requests, controlplane.Request.Object)
	}
	// Two changes of taints on the way down, since NoExecute comes later than
	// NoSchedule, and one on the way up. One more at the very start took away the
	// not-ready taint that the API server gives to a new node. On a machine so
	// slow that the two on the way down are due together they are one.
	taints := count("patch", "nodes")
	for _, node := range failed {
		require.Contains(c.t, []int{3, 4}, taints[node], "patches of node %s", node)
	}
	status := count("patch", "nodes/status")
	require.Len(c.t, status, len(failed), "only failed nodes are declared")
	for _, node := range failed {
		require.Equal(c.t, 1, status[node], "status patches of node %s", node)
	}
	marks, deletes := count("patch", "pods/status"), count("delete", "pods")
	require.Len(c.t, deletes, len(leaving(failed)))
	for _, pod := range leaving(failed) {
		pod = fleet.Namespace + "/" + pod
		require.Equal(c.t, 1, deletes[pod], "deletes of pod %s", pod)
		// One says that it is not ready, one that it is about to be evicted.
		require.LessOrEqual(c.t, marks[pod], 2, "status patches of pod %s", pod)
	}
	require.Empty(c.t, count("get", "pods"), "reads of pods")
	require.Empty(c.t, count("get", "nodes"), "reads of nodes")
	for _, resource := range []string{"nodes", "nodes/status", "pods", "pods/status"} {
		require.Empty(c.t, count("update", resource), "updates of %s", resource)
	}
}

func (c *cluster) wantMetrics(running *controller, nodes, pods int) {
	c.t.Helper()
	body, err := running.get("/metrics")
	require.NoError(c.t, err)
	require.NoError(c.t, running.answers("/healthz"))
	require.Contains(c.t, body, "taint_eviction_controller_pod_deletions_total "+itoa(pods))
	require.Contains(c.t, body, "node_collector_zone_size{zone=")
	var tainted int
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "node_collector_evictions_total{") {
			tainted += atoi(c.t, strings.Fields(line)[1])
		}
	}
	require.Equal(c.t, nodes, tainted, "node_collector_evictions_total over all zones")
}

// wantEvents looks for an event of each reason that an outage has.
func (c *cluster) wantEvents() {
	c.t.Helper()
	events, err := c.client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	require.NoError(c.t, err)
	reasons := map[string]int{}
	for _, e := range events.Items {
		reasons[e.InvolvedObject.Kind+" "+e.Reason]++
	}
	for _, want := range []string{"Node RegisteredNode", "Node NodeNotReady", "Pod NodeNotReady",
		"Pod TaintManagerEviction"} {
		require.Positive(c.t, reasons[want], "events %q among %v", want, reasons)
	}
}
