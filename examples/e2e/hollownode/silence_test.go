package hollownode

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// nodeSet are nodes by name.
type nodeSet map[string]bool

// silenceZone cuts a zone off until its pods are replaced, and lets it return
// in halves. The fleet is killed in each step.
func (c *cluster) silenceZone() {
	zone := c.nodesWhere(func(node *corev1.Node) bool { return node.Labels[corev1.LabelTopologyZone] == silent })
	c.annotate(zone, "silent", "")
	c.eventually("a node is tainted", func() string { return unless(c.tainted(zone) > 0, true) })
	require.NotZero(c, c.left(zone), "their pods are not evicted yet")
	c.killFleet()
	begun := time.Now()
	c.startFleet()
	c.eventually("a replacement starts elsewhere", func() string { return unless(c.replaced(zone, false) > 0, true) })
	c.killFleet()
	c.startFleet()
	c.eventually("its pods are evicted", func() string { return unless(c.left(zone), 0) })
	c.eventually("all replacements are ready elsewhere", func() string { return unless(c.replaced(zone, true), replicas) })
	c.eventually("pods that stay are not ready", func() string { return unless(c.staying(zone), 0) })
	require.Greater(c, len(c.pods("web")), replicas, "no kubelet has ended the evicted pods")
	c.wantSilence(zone, begun)

	names := slices.Sorted(maps.Keys(zone))
	first, second := nodeSet{}, nodeSet{}
	for _, name := range names[:len(names)/2] {
		first[name] = true
	}
	for _, name := range names[len(names)/2:] {
		second[name] = true
	}
	namesake := c.replaceStaying(names[len(names)-1])
	c.annotate(first, "silent", "false")
	assert.Less(c, c.untilReady(first), readyAgain)
	c.annotate(second, "silent", "false")
	c.killFleet()
	c.startFleet()
	assert.Less(c, c.untilReady(second), readyAgain)
	c.eventually("the evicted pods have ended", func() string { return unless(len(c.pods("web")), replicas) })
	for _, pod := range slices.Concat(c.pods("stays"), c.pods("agent"), c.pods("web")) {
		assert.Zero(c, pod.Status.ContainerStatuses[0].RestartCount, pod.Name)
	}
	assert.Equal(c, namesake.UID, c.pod(namesake.Name).UID)
}

// untilReady returns after which time the pods that have stayed on nodes are
// ready again.
func (c *cluster) untilReady(nodes nodeSet) time.Duration {
	c.Helper()
	return c.eventually("pods that stayed are ready again", func() string {
		return unless(c.staying(nodes), 2*len(nodes))
	})
}

// tainted returns how many of the nodes have lost their pods.
func (c *cluster) tainted(nodes nodeSet) (n int) {
	c.Helper()
	for _, node := range c.nodes() {
		if nodes[node.Name] && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Effect == corev1.TaintEffectNoExecute
		}) {
			n++
		}
	}
	return n
}

// left returns how many pods on the nodes are to be evicted yet.
func (c *cluster) left(nodes nodeSet) (n int) {
	c.Helper()
	for _, pod := range c.pods("web") {
		if nodes[pod.Spec.NodeName] && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// replaced returns how many pods that are ready, or not, run elsewhere.
func (c *cluster) replaced(nodes nodeSet, ready bool) (n int) {
	c.Helper()
	for _, pod := range c.pods("web") {
		elsewhere := pod.Spec.NodeName != "" && !nodes[pod.Spec.NodeName]
		if elsewhere && fleet.IsReady(&pod) == ready && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// staying returns how many pods that stay on the nodes are ready.
func (c *cluster) staying(nodes nodeSet) (n int) {
	c.Helper()
	for _, pod := range append(c.pods("stays"), c.pods("agent")...) {
		if nodes[pod.Spec.NodeName] && fleet.IsReady(&pod) {
			n++
		}
	}
	return n
}

// wantSilence wants that nothing was written of these nodes and their pods.
func (c *cluster) wantSilence(nodes nodeSet, since time.Time) {
	c.Helper()
	of := map[types.NamespacedName]bool{}
	for _, app := range []string{"web", "stays", "agent"} {
		for _, pod := range c.pods(app) {
			of[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = nodes[pod.Spec.NodeName]
		}
	}
	others := 0
	for _, r := range c.fleetRequests(controlplane.Filter{Since: since}, nil) {
		switch {
		case slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		case r.Resource == "nodes" && r.Subresource == "" && r.Verb == "create": // it is asked whether it is there
		case r.Resource == "pods" && of[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}],
			r.Resource != "pods" && nodes[r.Name]:
			c.Errorf("%s %s/%s of %s by a silent node", r.Verb, r.Resource, r.Subresource, r.Name)
		default:
			others++
		}
	}
	require.Positive(c, others, "the other nodes write")
}

// replaceStaying puts a namesake in the place of the pod that stays on a node.
func (c *cluster) replaceStaying(node string) *corev1.Pod {
	c.Helper()
	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	name := stayingName(node)
	require.NoError(c, pods.Delete(c.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	return c.stay(node)
}
