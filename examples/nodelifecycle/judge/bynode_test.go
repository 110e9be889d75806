package judge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
)

const timeout = 2 * time.Minute

func byNode(s *judge.Settings) { s.ByNode, s.Timeout = true, timeout }

// lost makes nodes fall, and returns the pod of the first.
func (c *court) lost(nodes ...string) string {
	pod := c.podOn(nodes[0])
	c.fall(nodes...)
	return pod
}

func TestNodesAreEmptiedAfterTheirTimeout(t *testing.T) {
	after := func(wait time.Duration) *court {
		c := newCourt(t, 4, byNode)
		pod := c.lost("a-0")
		c.run(wait)
		c.evict(pod)
		return c
	}
	after(timeout + time.Second).clean()
	after(timeout - time.Second).guilty(judge.NeverEarly)
}

func TestNoNodeIsTaintedThatIsEmptied(t *testing.T) {
	c := newCourt(t, 4, byNode)
	c.lost("a-0")
	c.run(wave)
	c.execute("a-0")
	c.guilty(judge.AsConfigured)
}

// An administrator's taint acts as ever.
func TestTaintsOfOthersActWithoutATimeout(t *testing.T) {
	c := newCourt(t, 4, byNode)
	c.evict(c.drained("a-0")[0])
	c.clean()
	c.evict(c.podOn("a-1"))
	c.guilty(judge.NeverEarly)
}

func TestNodesThatAreReadyAgainAreSpared(t *testing.T) {
	c := newCourt(t, 4, byNode)
	pod := c.lost("a-0")
	c.run(timeout + time.Second)
	c.recover("a-0")
	c.evict(pod)
	c.guilty(judge.NeverEarly)
}

// A node that is ready may keep our taint, because no client led when it came
// back. It loses no pod for that, and in time none has to leave.
func TestPodsOfTaintedNodesThatAreReadyAreSpared(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.restore["a-0"]()
	c.run(patience + time.Minute)
	c.judge.Check()
	require.NotContains(t, c.found(), judge.InTime)
	c.evict(pod)
	require.Contains(t, c.found(), judge.NeverEarly)
}

func TestPodsOfDaemonSetsStay(t *testing.T) {
	c := newCourt(t, 4, byNode)
	agent := c.world.AddWorkload("agent", model.InPlace, nil)
	agent.Place("a-0")
	c.run(time.Second)
	c.fall("a-0")
	c.run(timeout + time.Second)
	c.checks = false
	c.evict("agent-0")
	c.guilty(judge.NeverEarly)
}

func TestNodesAreEmptiedAtTheRateOfTheirZone(t *testing.T) {
	empty := func(apart time.Duration) *court {
		c := newCourt(t, 8, byNode)
		nodes := []string{"a-0", "a-1", "a-2"}
		var pods []string
		for _, node := range nodes {
			pods = append(pods, c.podOn(node))
		}
		c.fall(nodes...)
		c.checks = false // which of them has to be the first is not what this is about
		c.run(timeout + time.Second)
		for _, pod := range pods {
			c.evict(pod)
			c.run(apart)
		}
		return c
	}
	empty(10 * time.Second).clean()
	empty(time.Second).guilty(judge.WithinRate)
}

func TestNodesOfADisruptedZoneAreNotEmptied(t *testing.T) {
	c := newCourt(t, 4, byNode)
	pod := c.lost("a-0", "a-1", "a-2")
	c.run(timeout + time.Second)
	c.evict(pod)
	c.guilty(judge.WithinRate)
}

// While it sees all zones down, and for grace and the timeout after.
func TestNodesAreSparedInAnOutage(t *testing.T) {
	c := newCourt(t, 1, byNode)
	pod := c.lost("a-0")
	c.fall("b-0")
	c.run(timeout + time.Second)
	c.evict(pod)
	c.guilty(judge.SparedInOutage)

	after := func(wait time.Duration) *court {
		c := newCourt(t, 1, byNode)
		pod := c.lost("a-0")
		c.fall("b-0")
		c.run(timeout)
		c.recover("b-0")
		c.run(wait)
		c.evict(pod)
		return c
	}
	after(grace + timeout).clean()
	after(grace + timeout - 5*time.Second).guilty(judge.NeverEarly)
	after(grace - 5*time.Second).guilty(judge.SparedInOutage)
}

// A node that could be emptied is, and then all its pods go, also those that
// come later.
func TestNodesAreEmptiedInTime(t *testing.T) {
	c := newCourt(t, 4, byNode)
	c.lost("a-0")
	c.run(timeout + 4*time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.NoIdleToken)

	c = newCourt(t, 4, byNode)
	c.world.Workload("web").Place("a-0")
	c.run(time.Second)
	pods := c.world.PodsOn("a-0")
	c.fall("a-0")
	c.run(timeout + time.Second)
	c.evict(pods[0].Name)
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
	c.evict(pods[1].Name)

	c.world.Workload("web").Place("a-0")
	before := len(c.judge.Violations())
	c.run(10 * time.Second)
	if len(c.judge.Violations()) == before {
		t.Error("a pod that has come to an emptied node may stay")
	}
}

// A node whose pods leave for a taint anyway, or were refused a moment ago,
// does not show that it was released.
func TestNodesThatShowNothingAreNotIdle(t *testing.T) {
	short := func(s *judge.Settings) { s.ByNode, s.Timeout = true, 15*time.Second }
	c, _ := protectedCourt(t, judge.Evict, short)
	pod := c.lost("a-0")
	c.world.Machine("a-0").Edit(func(n *corev1.Node) {
		n.Spec.Taints = append(slices.Clone(n.Spec.Taints),
			corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	})
	c.run(time.Second) // the disruption controller needs some time to see which pods are not ready
	require.True(t, model.Refused(c.askToEvict(pod)))
	c.run(3 * calmBound)
	c.clean()

	c, _ = protectedCourt(t, judge.Evict, short)
	pod = c.podOn("a-0")
	c.fall("a-0")
	c.run(16 * time.Second)
	require.True(t, model.Refused(c.askToEvict(pod)))
	c.recover("a-0")
	asked := c.world.Elapsed()
	c.fall("a-0")
	c.runUntil(asked + calmBound)
	c.clean()
	c.run(10 * time.Second)
	c.guilty(judge.NoIdleToken)
}
