package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// taintedByAdmin makes an administrator taint a node with what its pod
// tolerates for a while.
func (c *court) taintedByAdmin(node string, added *metav1.Time) {
	c.world.Machine(node).Edit(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute, TimeAdded: added}}
	})
	seconds := int64(patience / time.Second)
	c.world.Tolerate(c.podOn(node),
		[]corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}})
}

func (c *court) at(wall time.Duration) *metav1.Time {
	at := metav1.NewTime(start.Add(wall).Truncate(time.Second))
	return &at
}

func TestInTime(t *testing.T) {
	c := newCourt(t, 4)
	c.taintedByAdmin("a-0", c.at(c.world.Elapsed()))
	c.run(patience + 4*time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
}

// A restart starts no wait again if TimeAdded is there, and every wait if not.
func TestInTimeAcrossARestart(t *testing.T) {
	restarted := func(added *metav1.Time) *court {
		c := newCourt(t, 4)
		c.taintedByAdmin("a-0", added)
		c.run(patience - 10*time.Second)
		c.startClient()
		c.run(20 * time.Second)
		return c
	}
	restarted(nil).clean()
	restarted((&court{}).at(calmBound + 20*time.Second)).guilty(judge.InTime)
}

// An administrator's clock that is behind takes ten seconds from a pod, and one
// that is ahead gives it its time from the first sight on.
func TestInTimeDoesNotBelieveAWrongClock(t *testing.T) {
	for off, takes := range map[time.Duration]time.Duration{-time.Hour: 10 * time.Second, time.Hour: 0} {
		c := newCourt(t, 4)
		c.taintedByAdmin("a-0", c.at(c.world.Elapsed()+off))
		c.run(patience - takes + 4*time.Second)
		c.clean()
		c.run(4 * time.Second)
		c.guilty(judge.InTime)
	}
}

// A process that begins with an old list sees all late. What it is late by, and
// is more than ten seconds, is excused.
func TestInTimeAfterAnOldList(t *testing.T) {
	c := newCourt(t, 4)
	past := c.world.Remember()
	c.run(5 * time.Second)
	c.taintedByAdmin("a-0", c.at(c.world.Elapsed()))
	c.run(8 * time.Second)
	c.world.ShowPast(past, func(client *network.Client) bool { return client.Life == 2 })
	c.startClient()
	sees := c.world.Elapsed() + 5*time.Second
	c.runUntil(sees - 10*time.Second + patience + 4*time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
}

func TestInTimeAfterAChangeOfTolerations(t *testing.T) {
	c := newCourt(t, 4)
	c.taintedByAdmin("a-0", c.at(c.world.Elapsed()))
	c.world.Tolerate(c.podOn("a-0"), []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
	c.run(10 * time.Minute)
	c.clean()
	c.world.Tolerate(c.podOn("a-0"), tolerations(patience))
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime, "it tolerates the taint no more")
}

// A client that has as many calls under way as it may cannot do more.
func TestInTimeWaitsForABusyClient(t *testing.T) {
	c := newCourt(t, 4)
	c.taintedByAdmin("a-0", c.at(c.world.Elapsed()))
	c.world.SlowCalls(network.Span{Min: 20 * time.Second, Max: 20 * time.Second})
	c.run(patience)
	for range 16 {
		c.client.Call(&network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a-1"}, func(*network.Call) {})
	}
	c.run(24 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.InTime)
}

// Our own taints do not count in an outage, others do.
func TestInTimeInAnOutage(t *testing.T) {
	outage := func(key string) *court {
		c := newCourt(t, 1)
		c.checks = false
		c.fall("a-0", "b-0")
		pod := c.podOn("a-0")
		c.world.Tolerate(pod, nil)
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints[:1:1], corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		})
		c.checks = true
		c.run(10 * time.Second)
		return c
	}
	outage("maintenance").guilty(judge.InTime)
	outage(corev1.TaintNodeUnreachable).guilty(judge.SparedInOutage, "the taint should be gone, the pod need not")
}

func TestPodsNotReady(t *testing.T) {
	c := newCourt(t, 4)
	c.silence("a-0")
	c.expire("a-0")
	c.declare("a-0")
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable))
	c.run(4 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.PodsNotReady)
}

func TestNothingLeft(t *testing.T) {
	right := judge.Memory{Nodes: 8, Pods: 8, Zones: 2}
	for name, test := range map[string]struct {
		wrong func(*judge.Memory)
		want  bool
	}{
		"nothing wrong":       {func(*judge.Memory) {}, false},
		"a node too many":     {func(m *judge.Memory) { m.Nodes++ }, true},
		"a node too few":      {func(m *judge.Memory) { m.Nodes-- }, true},
		"a pod too many":      {func(m *judge.Memory) { m.Pods++ }, true},
		"a zone too many":     {func(m *judge.Memory) { m.Zones++ }, true},
		"the one that waits":  {func(m *judge.Memory) { m.Queued = 1 }, false},
		"a node more queued":  {func(m *judge.Memory) { m.Queued = 2 }, true},
		"the one that leaves": {func(m *judge.Memory) { m.Pending = 1 }, false},
		"a pod more pending":  {func(m *judge.Memory) { m.Pending = 2 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			c.checks = false
			c.fall("a-0")
			seconds := int64(3600)
			c.world.Machine("a-1").Edit(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
			})
			c.world.Tolerate(c.podOn("a-1"),
				[]corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}})
			c.run(10 * time.Second)
			memory := right
			test.wrong(&memory)
			c.memory = &memory
			c.judge.End()
			if !test.want {
				c.clean()
				return
			}
			c.guilty(judge.NothingLeft)
		})
	}
}

// The two taints that say that a node is ill are one clock.
func TestInTimeFollowsTheLineage(t *testing.T) {
	c := newCourt(t, 4)
	c.checks = false
	set := func(key string) {
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			fails(n)
			n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute}}
		})
	}
	c.silence("a-0")
	set(corev1.TaintNodeNotReady)
	c.run(patience - 10*time.Second)
	set(corev1.TaintNodeUnreachable)
	c.run(14 * time.Second)
	c.judge.Check()
	require.NotContains(t, c.found(), judge.InTime)
	c.run(4 * time.Second)
	c.judge.Check()
	require.Contains(t, c.found(), judge.InTime)
}

// However few calls a client may send, a pod that had to leave first leaves
// first. Priorities may come before that.
func TestPodsLeaveInTheOrderInWhichTheyHadTo(t *testing.T) {
	second := func(retried bool, changes ...func(*judge.Settings)) *court {
		c := newCourt(t, 4, append(changes, func(s *judge.Settings) { s.QPS, s.Concurrent = 0.1, 0 })...)
		first := c.drained("a-0")[0]
		if retried {
			c.setPodCondition(first, corev1.DisruptionTarget, "True", "DeletionByTaintManager")
		}
		c.run(10 * time.Second)
		c.evict(c.drained("a-1")[0])
		c.run(2 * time.Second)
		return c
	}
	second(false).guilty(judge.EvictedInOrder)
	second(true).clean("it may wait for its retry")
	second(false, func(s *judge.Settings) { s.LowPriorityFirst = true }).clean()
}

// A moment in which a client could not send another call excuses no more than
// that moment.
func TestABusyClientHasSoMuchLonger(t *testing.T) {
	c := newCourt(t, 4, func(s *judge.Settings) { s.Concurrent = 1 })
	c.drained("a-0")
	for range 8 { // the bound is 5 s
		c.call(&network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-1"})
		c.run(time.Second)
	}
	c.guilty(judge.InTime)

	c = newCourt(t, 4, func(s *judge.Settings) { s.Concurrent = 1 })
	c.drained("a-0")
	slow := c.world.SlowCalls(network.Span{Min: 8 * time.Second, Max: 8 * time.Second})
	c.client.Call(&network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-1"}, func(*network.Call) {})
	slow()
	c.run(12 * time.Second)
	c.clean()
	c.run(3 * time.Second)
	c.guilty(judge.InTime)
}
