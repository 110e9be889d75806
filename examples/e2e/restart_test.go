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
	// The lease of a killed leader has to end before the deadlines do.
	election := []string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s",
		"--leader-elect-retry-period=1s"}
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

	var want []string
	for _, node := range failed {
		want = append(want, fleet.PodName("web-a", node), fleet.PodName("web-b", node))
	}
	c.eventually("their pods are evicted", wantEvicted(want...))
	for _, node := range failed {
		began := c.taintedAt(node)
		for _, kind := range []string{"web-a", "web-b"} {
			at := c.deletedAt(fleet.PodName(kind, node))
			late := at.Sub(began) - tolerated
			t.Logf("pod %s left %.3fs after the end of its toleration", fleet.PodName(kind, node), late.Seconds())
			require.GreaterOrEqual(t, late, time.Duration(0), "evicted early")
			require.LessOrEqual(t, late, 2*time.Second, "evicted late")
		}
	}
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

// TestSuspendedLeaderBeginsAnew: the only replica is stopped in its tracks for
// longer than its lease. It ends with an error when it wakes, as one does whose
// machine was suspended, and the next process keeps the deadlines.
func TestSuspendedLeaderBeginsAnew(t *testing.T) {
	long(t)
	const tolerated = 30 * time.Second
	c := newCluster(t, map[string]int{"a": 12},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(new(int64(tolerated.Seconds())))})
	election := []string{"--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s",
		"--leader-elect-retry-period=1s"}
	first := c.startController(election...)
	settle(t)
	failed := c.fleet.Nodes("a")[:2]
	c.fleet.Cut(failed...)
	c.eventually("they are tainted", func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	require.NoError(t, first.Pause())
	time.Sleep(8 * time.Second)
	require.NoError(t, first.Resume())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.Error(t, first.Wait(ctx), "its lease has ended, and nobody has taken it")
	second := c.startController(election...)
	require.True(t, second.Running())
	c.eventually("their pods are evicted",
		wantEvicted(fleet.PodName("web", failed[0]), fleet.PodName("web", failed[1])))
	for _, node := range failed {
		late := c.deletedAt(fleet.PodName("web", node)).Sub(c.taintedAt(node)) - tolerated
		t.Logf("pod on %s left %.3fs after the end of its toleration", node, late.Seconds())
		require.GreaterOrEqual(t, late, time.Duration(0))
		require.LessOrEqual(t, late, 2*time.Second)
	}
}

// TestLeaderKilled: of two replicas the second takes over, and keeps the
// deadlines. A leader that was stopped in its tracks writes nothing when it
// wakes.
func TestLeaderKilled(t *testing.T) {
	long(t)
	const tolerated = 40 * time.Second
	c := newCluster(t, map[string]int{"a": 12},
		fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(new(int64(tolerated.Seconds())))})
	election := []string{"--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s",
		"--leader-elect-retry-period=1s"}
	first := c.startController(election...)
	time.Sleep(2 * time.Second)
	second := c.startController(election...)
	settle(t)
	failed := c.fleet.Nodes("a")[:2]
	c.fleet.Cut(failed...)
	c.eventually("they are tainted", func(w *witness) error { return w.each(failed, (*nodeSeen).wantIll) })
	require.NoError(t, first.Pause())
	time.Sleep(8 * time.Second)
	woken := time.Now()
	require.NoError(t, first.Resume())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.Error(t, first.Wait(ctx), "a leader that has lost its lease ends with an error")
	require.True(t, second.Running())
	c.eventually("the second evicts their pods",
		wantEvicted(fleet.PodName("web", failed[0]), fleet.PodName("web", failed[1])))
	for _, node := range failed {
		late := c.deletedAt(fleet.PodName("web", node)).Sub(c.taintedAt(node)) - tolerated
		t.Logf("pod on %s left %.3fs after the end of its toleration", node, late.Seconds())
		require.GreaterOrEqual(t, late, time.Duration(0))
		require.LessOrEqual(t, late, 2*time.Second)
	}
	requests, err := c.plane.Requests(context.Background(),
		controlplane.Filter{UserAgent: "nodelifecycle", Verb: "delete", Since: woken})
	require.NoError(t, err)
	require.Len(t, requests, 2, "nothing is deleted twice")
}
