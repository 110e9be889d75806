package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const evictFor = time.Minute

func action(a judge.Action) func(*judge.Settings) {
	return func(s *judge.Settings) { s.Action, s.EvictFor = a, evictFor }
}

// drained taints nodes so that their pods have to leave now, and returns the
// pods.
func (c *court) drained(nodes ...string) []string {
	var pods []string
	for _, node := range nodes {
		c.world.Machine(node).Edit(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
		})
		pods = append(pods, c.podOn(node))
	}
	c.pass(20 * time.Millisecond)
	return pods
}

func TestPodsLeaveByTheActionAlone(t *testing.T) {
	evict := func(c *court) { c.askToEvict(c.drained("a-0")[0]) }
	remove := func(c *court) { c.evict(c.drained("a-0")[0]) }
	for _, test := range []struct {
		action judge.Action
		does   func(*court)
		right  bool
	}{
		{judge.Delete, remove, true},
		{judge.Delete, evict, false},
		{judge.Evict, evict, true},
		{judge.Evict, remove, false},
		{judge.EvictThenDelete, evict, true},
		{judge.EvictThenDelete, remove, false},
		{judge.DryRun, evict, false},
		{judge.DryRun, remove, false},
	} {
		c := newCourt(t, 4, action(test.action))
		test.does(c)
		if test.right {
			c.clean(test.action)
		} else {
			c.guilty(judge.AsConfigured, test.action)
		}
	}
}

func TestEvictThenDeleteDeletesAfterATimeAndNotBefore(t *testing.T) {
	after := func(wait time.Duration) *court {
		c := newCourt(t, 4, action(judge.EvictThenDelete))
		pod := c.drained("a-0")[0]
		c.checks = false
		c.run(wait)
		c.evict(pod)
		return c
	}
	after(evictFor + time.Second).clean()
	after(evictFor - time.Second).guilty(judge.AsConfigured)
}

// An eviction has to be due as a delete has.
func TestNeverEarlyHoldsForEvictions(t *testing.T) {
	c := newCourt(t, 4, action(judge.Evict))
	c.askToEvict(c.podOn("a-0"))
	c.guilty(judge.NeverEarly)
}

// It would have been early had the PodDisruptionBudget allowed it.
func TestNeverEarlyHoldsForRefusedEvictions(t *testing.T) {
	c, _ := protectedCourt(t, judge.Evict)
	require.True(t, model.Refused(c.askToEvict(c.podOn("a-0"))))
	c.guilty(judge.NeverEarly)
}

func TestNotTwiceHoldsForEvictions(t *testing.T) {
	c := newCourt(t, 4, action(judge.Evict))
	pod := c.drained("a-0")[0]
	c.world.Machine("a-0").Silence() // or the pod would be gone soon
	c.askToEvict(pod)
	c.askToEvict(pod)
	c.guilty(judge.NotTwice)
}

// protectedCourt has a PodDisruptionBudget that keeps all pods.
func protectedCourt(t *testing.T, a judge.Action, changes ...func(*judge.Settings)) (*court,
	*model.DisruptionBudget) {
	c := emptyCourt(t, 0, append(changes, action(a))...)
	owner := c.world.Workload("web")
	budget := owner.Protect(4)
	for _, node := range []string{"a-0", "a-1", "b-0", "b-1"} {
		c.world.AddMachine(node, node[:1], node[:1])
		owner.Place(node)
	}
	c.startClient()
	c.run(calmBound + 20*time.Second)
	require.Zero(t, budget.Allowed)
	return c, budget
}

// What a PodDisruptionBudget keeps is not late, as long as it does and a retry
// may take.
func TestAPodDisruptionBudgetExcusesEvictions(t *testing.T) {
	c, budget := protectedCourt(t, judge.Evict)
	pod := c.drained("a-0")[0]
	c.run(10 * time.Minute)
	require.True(t, model.Refused(c.askToEvict(pod)))
	c.clean()
	c.world.Workload("web").Place("b-1")
	c.run(calmBound)
	require.Equal(t, 1, budget.Allowed)
	c.clean()
	c.run(10 * time.Second)
	c.guilty(judge.InTime)
}

func TestAPodDisruptionBudgetDoesNotExcuseTheFinalDelete(t *testing.T) {
	c, _ := protectedCourt(t, judge.EvictThenDelete)
	c.drained("a-0")
	c.run(evictFor + calmBound)
	c.clean()
	c.run(10 * time.Second)
	c.guilty(judge.InTime)

	c, _ = protectedCourt(t, judge.Delete)
	c.drained("a-0")
	c.run(10 * time.Second)
	c.guilty(judge.InTime)
}

// To ask again for what was refused is not noise, for as long as a retry may
// take.
func TestQuietLetsAskAgain(t *testing.T) {
	c, _ := protectedCourt(t, judge.Evict)
	pod := c.drained("a-0")[0]
	c.askToEvict(pod)
	c.judge.Quiet(c.world.Elapsed())
	c.run(time.Minute)
	c.askToEvict(pod)
	c.clean()
	c.run(2 * time.Minute)
	c.askToEvict(pod)
	c.guilty(judge.Quiet)
}

func TestWithinBudget(t *testing.T) {
	nodes := []string{"a-0", "a-1", "a-2", "b-0", "b-1"}
	for name, test := range map[string]struct {
		change func(*judge.Settings)
		wait   time.Duration
		right  bool
	}{
		"overall, slowly":       {func(s *judge.Settings) { s.Overall = 0.5 }, 2 * time.Second, true},
		"overall, fast":         {func(s *judge.Settings) { s.Overall = 0.5 }, time.Second, false},
		"overall, with a burst": {func(s *judge.Settings) { s.Overall, s.BudgetBurst = 0.5, 4 }, time.Second, true},
		"a namespace":           {func(s *judge.Settings) { s.PerNamespace = 0.5 }, time.Second, false},
		"nodes of their own":    {func(s *judge.Settings) { s.PerNode = 0.1 }, time.Second, true},
	} {
		c := newCourt(t, 4, test.change)
		for _, pod := range c.drained(nodes...) {
			c.evict(pod)
			c.run(test.wait)
		}
		if test.right {
			c.clean(name)
		} else {
			c.guilty(judge.WithinBudget, name)
		}
	}
}

func TestWithinBudgetOfANode(t *testing.T) {
	for wait, right := range map[time.Duration]bool{5 * time.Second: true, 2 * time.Second: false} {
		c := newCourt(t, 4, func(s *judge.Settings) { s.PerNode = 0.2 })
		c.world.Workload("web").Place("a-0")
		for _, pod := range c.world.PodsOn("a-0") {
			c.world.Tolerate(pod.Name, nil)
		}
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
		})
		c.pass(20 * time.Millisecond)
		for _, pod := range c.world.PodsOn("a-0") {
			c.evict(pod.Name)
			c.pass(wait)
		}
		require.Equal(t, right, len(c.judge.Violations()) == 0, "%v: %v", wait, c.judge.Violations())
	}
}

// A failure uses a token up, a refusal or a pod that is gone does not.
func TestWithinBudgetCountsFailures(t *testing.T) {
	for name, test := range map[string]struct {
		code  int
		right bool
	}{
		"the server has failed": {500, false},
		"it has too much to do": {429, false},
		"another pod was there": {409, true},
	} {
		c := newCourt(t, 4, func(s *judge.Settings) { s.Overall = 0.1 })
		pods := c.drained("a-0", "a-1")
		end := c.world.FailCalls(1, []int{test.code}, network.Delete)
		c.evict(pods[0])
		end()
		c.evict(pods[1])
		if test.right {
			c.clean(name)
		} else {
			c.guilty(judge.WithinBudget, name)
		}
	}
	c, _ := protectedCourt(t, judge.Evict, func(s *judge.Settings) { s.Overall = 0.1 })
	pods := c.drained("a-0", "a-1")
	for range 5 {
		c.askToEvict(pods[0])
		c.askToEvict(pods[1])
	}
	c.clean()
}

// A client that fears that it does not lead any more uses tokens without a
// call, and when it leads again they are missing.
func TestABudgetExcusesTokensUsedBeforeTheCalm(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.Overall, s.CalmBound = 0.05, time.Second })
	c.calmSince = c.world.Elapsed()
	c.drained("a-0")
	c.run(24 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
}

// A pod that waits for a token is not late; a pod that could have one is.
func TestABudgetExcusesAPodWithoutAToken(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.Overall = 0.05 })
	pods := c.drained("a-0", "a-1")
	c.evict(pods[0])
	c.run(24 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
}

func TestPodsOfDaemonSetsThatAreSparedStay(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.SpareDaemons = true })
	c.world.AddWorkload("agent", model.InPlace, nil).Place("a-0")
	c.run(time.Second)
	c.world.Machine("a-0").Edit(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	})
	c.pass(20 * time.Millisecond)
	c.evict("web-0")
	c.run(time.Minute)
	c.clean()
	c.evict("agent-0")
	c.guilty(judge.AsConfigured)
}

// How long a pod was asked counts from what the API server says of the taint,
// also for a process that has just started. Only if the taint does not say it,
// it counts from the start.
func TestEvictThenDeleteCountsFromTheTaint(t *testing.T) {
	restarted := func(dated bool) *court {
		c := newCourt(t, 4, action(judge.EvictThenDelete))
		taint := corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}
		if dated {
			taint.TimeAdded = c.at(c.world.Elapsed() - evictFor - 2*time.Second)
		}
		c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint} })
		c.startClient()
		c.evict(c.podOn("a-0"))
		return c
	}
	restarted(true).clean()
	restarted(false).guilty(judge.AsConfigured)
}

// An attempt that finds the pod changed and looks again has had its token
// before.
func TestWithinBudgetGoesOnAfterAConflict(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.Overall = 0.1 })
	pods := c.drained("a-0", "a-1")
	end := c.world.FailCalls(1, []int{409}, network.Delete)
	c.evict(pods[0])
	end()
	c.run(2 * time.Second)
	c.evict(pods[0])
	c.run(8 * time.Second)
	c.evict(pods[1])
	c.clean()
}
