package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestNodeBackInTimeLosesNoPod: a node that returns before the tolerations of
// its pods end keeps them all.
func TestNodeBackInTimeLosesNoPod(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 10}, fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](15))})
	c.startController("--leader-elect=false")
	settle(t)
	failed := c.fleet.Nodes("a")[:2]
	c.fleet.Cut(failed...)
	c.eventually("they are Unknown and tainted", func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	c.fleet.Restore(failed...)
	c.eventually("they are healthy again", func(w *witness) error { return w.each(failed, (*nodeSeen).wantHealthy) })
	time.Sleep(16 * time.Second)
	require.NoError(t, c.witness.ask(wantEvicted()), "the tolerations would have ended by now")
}

// TestRestartKeepsDeadlines kills the controller while pods wait for the end of
// their tolerations, and starts it again (kubernetes #108268).
func TestRestartKeepsDeadlines(t *testing.T) {
	const tolerated = 20 * time.Second
	seconds := new(int64(tolerated.Seconds()))
	c := newCluster(t, map[string]int{"a": 20}, fleet.Pod{Name: "web-a", Tolerations: fleet.Tolerate(seconds)},
		fleet.Pod{Name: "web-b", Tolerations: fleet.Tolerate(seconds)})
	first := c.startController(election...)
	settle(t)
	failed := c.fleet.Nodes("a")[:3]
	c.fleet.Cut(failed...)
	c.eventually("they are Unknown and tainted", func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	time.Sleep(tolerated / 4)
	require.NoError(t, c.witness.ask(wantEvicted()), "nothing is due yet")
	first.Kill()
	second := c.startController(election...)
	require.True(t, second.Running())

	c.wantDeadlinesKept(failed, tolerated, "web-a", "web-b")
}

// taintedAt returns when the request that tainted a node NoExecute was
// received: the last of its taint patches.
func (c *cluster) taintedAt(node string) time.Time {
	c.t.Helper()
	requests, err := c.plane.Requests(context.Background(),
		controlplane.Filter{UserAgent: "nodelifecycle", Verb: "patch", Resource: "nodes", Name: node})
	require.NoError(c.t, err)
	require.NotEmpty(c.t, requests)
	return requests[len(requests)-1].Received
}

// deletedAt returns when the only request to delete a pod was received.
func (c *cluster) deletedAt(pod string) time.Time {
	c.t.Helper()
	requests, err := c.plane.Requests(context.Background(),
		controlplane.Filter{UserAgent: "nodelifecycle", Verb: "delete", Resource: "pods", Name: pod})
	require.NoError(c.t, err)
	require.Len(c.t, requests, 1, "deletes of pod %s", pod)
	return requests[0].Received
}

func wantStatus(what string, status corev1.ConditionStatus) error {
	return fmt.Errorf("%s is ready: %s", what, status)
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// election gives a lease that ends soon, before the deadlines of the tests do.
var election = []string{
	"--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
}

// loseLease stops a leader in its tracks for longer than its lease, while pods
// of two nodes wait for the end of their tolerations. It ends with an error when
// it wakes, as one does whose machine was suspended. It returns when it woke, and
// the nodes.
func (c *cluster) loseLease(leader *controller) (woken time.Time, failed []string) {
	c.t.Helper()
	settle(c.t)
	failed = c.fleet.Nodes("a")[:2]
	c.fleet.Cut(failed...)
	c.eventually("they are tainted", func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	require.NoError(c.t, leader.Pause())
	time.Sleep(8 * time.Second)
	woken = time.Now()
	require.NoError(c.t, leader.Resume())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.Error(c.t, leader.Wait(ctx), "its lease has ended, whether another has taken it or not")
	return woken, failed
}

// wantDeadlinesKept waits until the pods of nodes that were tainted have left,
// and wants that each left when its toleration ended, and no other.
func (c *cluster) wantDeadlinesKept(failed []string, tolerated time.Duration, names ...string) {
	c.t.Helper()
	var want []string
	for _, node := range failed {
		for _, name := range names {
			want = append(want, fleet.PodName(name, node))
		}
	}
	c.eventually("their pods are evicted", wantEvicted(want...))
	for _, node := range failed {
		began := c.taintedAt(node)
		for _, name := range names {
			late := c.deletedAt(fleet.PodName(name, node)).Sub(began) - tolerated
			c.t.Logf("pod %s left %.3fs after the end of its toleration", fleet.PodName(name, node), late.Seconds())
			require.GreaterOrEqual(c.t, late, time.Duration(0), "evicted early")
			require.LessOrEqual(c.t, late, 2*time.Second, "evicted late")
		}
	}
}

// TestSuspendedLeaderBeginsAnew: the only replica loses its lease, which no
// other has taken, and the next process keeps the deadlines.
func TestSuspendedLeaderBeginsAnew(t *testing.T) {
	long(t)
	const tolerated = 30 * time.Second
	c := newCluster(t, map[string]int{"a": 12},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(new(int64(tolerated.Seconds())))})
	_, failed := c.loseLease(c.startController(election...))
	second := c.startController(election...)
	require.True(t, second.Running())
	c.wantDeadlinesKept(failed, tolerated, "web")
}

// TestLeaderKilled: of two replicas the second takes over, and keeps the
// deadlines. A leader that was stopped in its tracks writes nothing when it
// wakes.
func TestLeaderKilled(t *testing.T) {
	long(t)
	const tolerated = 40 * time.Second
	c := newCluster(t, map[string]int{"a": 12},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(new(int64(tolerated.Seconds())))})
	first := c.startController(election...)
	time.Sleep(2 * time.Second)
	second := c.startController(election...)
	woken, failed := c.loseLease(first)
	require.True(t, second.Running())
	c.wantDeadlinesKept(failed, tolerated, "web")
	requests, err := c.plane.Requests(context.Background(),
		controlplane.Filter{UserAgent: "nodelifecycle", Verb: "delete", Since: woken})
	require.NoError(t, err)
	require.Len(t, requests, 2, "nothing is deleted twice")
}
