package e2e

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// TestSchedulerTakesOver: the leader is killed while it binds and preempts. The
// other replica goes on: no pod is lost, and no node gets more than it has.
func TestSchedulerTakesOver(t *testing.T) {
	c := newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 30})
	c.eventually("all nodes report", func(w *witness) error {
		return w.each(c.fleet.AllNodes(), func(n *nodeSeen) error { return n.wantReady("True") })
	})
	c.openNodes(c.fleet.AllNodes())
	c.addPriorities()
	election := []string{
		"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
		"--node-blind-after=4s", "--kube-api-qps=50", "--kube-api-burst=10", "--budget-overall=10",
	}
	first := c.launchScheduler(election...)
	c.eventually("it leads", func(*witness) error { return c.wantLeader("scheduler") })
	second := c.launchScheduler(election...)

	c.create(manyPods("low", 590, "200m", nil)) // of 600 places
	c.eventually("it is in the middle of them", func(*witness) error { return c.wantSomeBound("low", 100) })
	first.Kill()
	require.Error(t, c.wantAllBound("low"))
	c.eventually("all are bound", func(*witness) error { return c.wantAllBound("low") })

	third := c.launchScheduler(election...)
	c.create(manyPods("high", 20, "1", func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "high" }))
	c.eventually("some make room", func(*witness) error { return c.wantSomeBound("high", 1) })
	second.Kill()
	require.Error(t, c.wantAllBound("high"))
	c.eventually("all important ones are bound", func(*witness) error { return c.wantAllBound("high") })
	c.want(c.landing(nil, nil))
	c.stop(third)
	// A binding that was under way when its process was killed is there, and its
	// answer need not be.
	bound := map[string]int{}
	for _, request := range c.requests(controlplane.Filter{UserAgent: "scheduler", Resource: "pods/binding"}) {
		answered := 0
		if request.Code == http.StatusCreated {
			answered = 1
		}
		bound[request.Name] += answered
	}
	require.Len(t, bound, 610)
	for name, n := range bound {
		require.LessOrEqual(t, n, 1, name)
	}
}

// wantLeader wants that a program's lease is held.
func (c *cluster) wantLeader(program string) error {
	lease, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(c.t.Context(), program, metav1.GetOptions{})
	if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
		err = errors.New("the lease has no holder")
	}
	return err
}

// schedulerSilence is how long a node may be silent and still get pods.
const schedulerSilence = 2*interval + time.Second

// launchScheduler starts the scheduler and waits until its caches have synced.
func (c *cluster) launchScheduler(flags ...string) *controller {
	c.t.Helper()
	running := c.launchProgram("scheduler", c.plane.Kubeconfig(), schedulerFlags(flags...)...)
	c.eventually("the scheduler is ready", func(*witness) error { return running.answers("/readyz") })
	return running
}

// schedulerFlags make the scheduler as fast as the fleet.
func schedulerFlags(flags ...string) []string {
	return append([]string{
		"--node-heartbeat-interval=" + interval.String(), "--node-silent-after=" + schedulerSilence.String(),
		"--kube-api-qps=500", "--kube-api-burst=500",
	}, flags...)
}

// openNodes removes the taint that the API server gives each new node, as
// kube-controller-manager does.
func (c *cluster) openNodes(nodes []string) { c.patchNodes(nodes, `{"spec":{"taints":null}}`) }
