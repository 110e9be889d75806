package hollownode

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

const (
	callNodes = 50
	// failingShare is the part of the calls of some nodes that fail. All calls of
	// others do.
	failingShare = "0.3"
	// leaseTime is how long a lease lasts.
	leaseTime = 40 * time.Second
	// renewal is how far apart two renewals of a lease are at most: 10 s and 4 %.
	renewal = 10400 * time.Millisecond
	// backInTime is how long heartbeats and statuses of pods may take when calls
	// no longer fail. Both a kubelet tries each 10 s.
	backInTime = 10*time.Second + rounding
)

// All calls of a tenth of the nodes fail, and a part of those of another tenth.
// Nothing is heard of the first, and the second is late at most. All others
// renew their leases and show their pods in time. So do all when that is over.
func TestNodesWhoseCallsFailAreNotHeardAndReturnInTime(t *testing.T) {
	c := newPlane(t)
	c.startNodes(fmt.Sprintf("--nodes=%d", callNodes), "--name-prefix=calls")
	c.awaitReady(callNodes)
	ends := func(digit string) func(*corev1.Node) bool {
		return func(node *corev1.Node) bool { return strings.HasSuffix(node.Name, digit) }
	}
	failing, partly := c.nodesWhere(ends("3")), c.nodesWhere(ends("6"))
	others := c.nodesWhere(func(node *corev1.Node) bool { return !failing[node.Name] && !partly[node.Name] })
	require.Len(t, others, callNodes*8/10)
	c.annotate(failing, "api-failures", "1")
	c.annotate(partly, "api-failures", failingShare)
	// One watch shows both in this order, and the second can be reported.
	c.eventually("the faults are known", func() string { return unless(len(c.reporting()), len(partly)) })
	since := time.Now()
	c.addStaying()
	assert.Less(t, c.eventually("pods of the other nodes are ready", func() string {
		return unless(c.staying(others), len(others))
	}), readyAgain)
	c.eventually("pods are ready of nodes with some calls that fail", func() string {
		return unless(c.staying(partly), len(partly))
	})
	c.eventually("the leases of failing nodes have expired", func() string {
		return unless(c.renewedOf(failing, time.Now().Add(-leaseTime)), 0)
	})
	assert.Zero(t, c.staying(failing))
	assert.Equal(t, partly, c.reporting())
	c.wantSilence(failing, since)
	c.wantRenewals(others, since, renewal+rounding)
	c.wantRenewals(partly, since, leaseTime)

	mended := time.Now()
	c.unannotate(failing, "api-failures")
	c.unannotate(partly, "api-failures")
	assert.Less(t, c.eventually("failing nodes are heard and show their pods", func() string {
		return unless(min(c.renewedOf(failing, mended), c.staying(failing)), len(failing))
	}), backInTime)
	c.eventually("no fault is reported", func() string { return unless(len(c.reporting()), 0) })
	for _, pod := range c.pods("stays") {
		require.True(t, fleet.IsReady(&pod), pod.Name)
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount, pod.Name)
	}
}

// reporting returns which nodes report that a part of their calls fails.
func (c *cluster) reporting() nodeSet {
	c.Helper()
	return c.nodesWhere(func(node *corev1.Node) bool {
		return node.Status.NodeInfo.OSImage == "hollownode with api-failures="+failingShare
	})
}

// renewedOf returns how many of the nodes have renewed their lease after a
// time.
func (c *cluster) renewedOf(nodes nodeSet, after time.Time) (n int) {
	c.Helper()
	leases, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	for i := range leases.Items {
		lease := &leases.Items[i]
		if renewed := lease.Spec.RenewTime; nodes[lease.Name] && renewed != nil && renewed.After(after) {
			n++
		}
	}
	return n
}

// wantRenewals wants that each node has renewed its lease from one time until
// now, so often that no two renewals are further apart than that.
func (c *cluster) wantRenewals(nodes nodeSet, since time.Time, apart time.Duration) {
	c.Helper()
	last := map[string]time.Time{}
	for node := range nodes {
		last[node] = since
	}
	now := time.Now()
	filter := controlplane.Filter{Verb: "update", Resource: "leases", Since: since}
	longest := time.Duration(0)
	renewals := c.fleetRequests(filter, func(r *controlplane.Request) bool {
		return nodes[r.Name] && r.Code == http.StatusOK
	})
	for _, r := range renewals {
		longest = max(longest, r.Received.Sub(last[r.Name]))
		last[r.Name] = r.Received
	}
	for _, at := range last {
		longest = max(longest, now.Sub(at))
	}
	c.Logf("%d nodes renewed their leases at most %v apart", len(nodes), longest.Round(time.Millisecond))
	assert.Less(c, longest, apart)
}
