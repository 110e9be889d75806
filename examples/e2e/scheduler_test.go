package e2e

import (
	"errors"
	"net/http"
	"slices"
	"strings"
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

// knownAfter is how long after the answer to a binding another scheduler must
// count it. A watch shows it within milliseconds on a machine that is not busy.
const knownAfter = 2 * time.Second

// TestSchedulerBesideKubeScheduler: examples/scheduler and kube-scheduler place
// pods on the same 50 nodes at the same time, each for its own schedulerName.
// Those of the other have filled four fifths of one zone. Neither writes to a
// pod of the other. No binding of ours overcommits a node by what its scheduler
// could know. That is its own bindings, and those of the other that are older
// than the delay of a watch.
func TestSchedulerBesideKubeScheduler(t *testing.T) {
	const before, meanwhile, own = 400, 60, 500 // of 1,000 places
	c := newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 25, "b": 25})
	c.eventually("all nodes report", func(w *witness) error {
		return w.each(c.fleet.AllNodes(), func(n *nodeSeen) error { return n.wantReady("True") })
	})
	c.openNodes(c.fleet.AllNodes())
	c.addPriorities()
	limits := []string{"--kube-api-qps=50", "--kube-api-burst=50"}
	running := c.launchScheduler(limits...)
	other := c.startUpstream(controlplane.KubeScheduler, limits...)

	theirs := scheduledBy(corev1.DefaultSchedulerName, manyPods("theirs", before+meanwhile, "200m",
		func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"} }))
	c.create(theirs[:before])
	c.within(2*time.Minute, "the first are bound", func(*witness) error { return c.wantAllBound("low") })
	time.Sleep(knownAfter)
	c.create(slices.Concat(manyPods("ours", own, "200m", nil), theirs[before:]))
	c.within(2*time.Minute, "all are bound", func(*witness) error { return c.wantAllBound("low") })
	c.stop(running)
	other.Stop(10 * time.Second)

	for agent, prefix := range map[string]string{"scheduler": "ours-", "kube-scheduler": "theirs-"} {
		for _, r := range c.requests(controlplane.Filter{UserAgent: agent, Resource: "*"}) {
			if r.Resource == "pods" && r.Name != "" {
				require.True(t, strings.HasPrefix(r.Name, prefix), "%s: %s %s/%s of %s", agent, r.Verb, r.Resource,
					r.Subresource, r.Name)
			}
		}
	}
	all := c.boundBy("scheduler", "kube-scheduler")
	require.Len(t, all, before+meanwhile+own)
	require.Empty(t, unfit(all, "scheduler", knownAfter))
	first := slices.MinFunc(all, func(a, b binding) int { return a.sent.Compare(b.sent) })
	last := slices.MaxFunc(all, func(a, b binding) int { return a.sent.Compare(b.sent) })
	t.Logf("%d pods were bound in %v; %d nodes got more than they have, which neither could know", len(all),
		last.sent.Sub(first.sent).Round(time.Millisecond), len(overcommitted(all)))
}

// A binding is one that the API server has accepted.
type binding struct {
	pod, node, by  string
	cpu            int64 // in thousandths
	sent, answered time.Time
}

// boundBy returns the bindings of schedulers. No pod may have been deleted.
func (c *cluster) boundBy(agents ...string) []binding {
	c.t.Helper()
	pods := map[string]*corev1.Pod{}
	list := c.allPods()
	for i := range list {
		pods[list[i].Name] = &list[i]
	}
	var all []binding
	for _, agent := range agents {
		for _, r := range c.requests(controlplane.Filter{UserAgent: agent, Resource: "pods/binding"}) {
			if r.Code != http.StatusCreated {
				continue
			}
			pod := pods[r.Name]
			require.NotNil(c.t, pod, r.Name)
			all = append(all, binding{
				pod: r.Name, node: pod.Spec.NodeName, by: agent, sent: r.Received, answered: r.Answered,
				cpu: pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(),
			})
		}
	}
	return all
}

// unfit returns the bindings of one scheduler for which the node had no room by
// what that scheduler could know.
func unfit(all []binding, by string, knownAfter time.Duration) []binding {
	var found []binding
	for _, b := range all {
		if b.by != by {
			continue
		}
		taken := b.cpu
		for _, x := range all {
			own := x.by == by && x.sent.Before(b.sent)
			seen := x.by != by && x.answered.Add(knownAfter).Before(b.sent)
			if x.node == b.node && (own || seen) {
				taken += x.cpu
			}
		}
		if taken > nodeCPU {
			found = append(found, b)
		}
	}
	return found
}

// overcommitted returns the nodes that got more than they have.
func overcommitted(all []binding) []string {
	taken := map[string]int64{}
	for _, b := range all {
		taken[b.node] += b.cpu
	}
	var nodes []string
	for node, cpu := range taken {
		if cpu > nodeCPU {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func TestAnOvercommitIsToldFromWhatCouldNotBeKnown(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	full := binding{pod: "a", node: "n", by: "theirs", cpu: nodeCPU, sent: at(0), answered: at(10)}
	late := binding{pod: "b", node: "n", by: "ours", cpu: 1, sent: at(111), answered: at(120)}
	early := binding{pod: "c", node: "n", by: "ours", cpu: 1, sent: at(109), answered: at(120)}
	elsewhere := binding{pod: "d", node: "m", by: "ours", cpu: nodeCPU, sent: at(111), answered: at(120)}
	require.Equal(t, []binding{late}, unfit([]binding{full, late}, "ours", 100*time.Millisecond))
	require.Empty(t, unfit([]binding{full, early, elsewhere}, "ours", 100*time.Millisecond))
	require.Equal(t, []string{"n"}, overcommitted([]binding{full, early, elsewhere}))
	own := binding{pod: "e", node: "m", by: "ours", cpu: 1, sent: at(112), answered: at(120)}
	require.Equal(t, []binding{own}, unfit([]binding{elsewhere, own}, "ours", time.Hour))
}
