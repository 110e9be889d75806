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

// ill makes a node a while ago dead and tainted, and returns its pod. A test
// about deletes needs no checks of what else is left undone.
func (c *court) ill(node string) (pod string) {
	c.checks = false
	c.fall(node)
	c.run(wave)
	c.execute(node)
	return c.podOn(node)
}

func TestNeverEarlyLooksAtTheToleration(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		early bool
	}{
		"in time":        {patience + time.Millisecond, false},
		"a second early": {patience - time.Second, true},
		"at once":        {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			pod := c.ill("a-0")
			stored := c.world.Elapsed()
			c.runUntil(stored + test.after)
			c.evict(pod)
			if !test.early {
				c.clean()
				return
			}
			c.guilty(judge.NeverEarly)
		})
	}
}

func TestNeverEarlyKnowsThatAPodNeedNotLeave(t *testing.T) {
	c := newCourt(t, 4)
	c.evict(c.podOn("a-1"))
	c.guilty(judge.NeverEarly, "its node has no taint")
}

func TestNeverEarlyTakesTheFirstToleration(t *testing.T) {
	long, short := int64(600), int64(1)
	both := []corev1.Toleration{
		{Operator: corev1.TolerationOpExists, TolerationSeconds: &long},
		{Operator: corev1.TolerationOpExists, TolerationSeconds: &short},
	}
	c := newCourt(t, 4)
	c.world.Tolerate(c.podOn("a-0"), both)
	pod := c.ill("a-0")
	c.run(2 * time.Minute)
	c.evict(pod)
	c.guilty(judge.NeverEarly)

	c = newCourt(t, 4)
	c.world.Tolerate(c.podOn("a-0"), []corev1.Toleration{both[1], both[0]})
	pod = c.ill("a-0")
	c.run(2 * time.Second)
	c.evict(pod)
	c.clean()
}

func TestNeverEarlyKnowsForEver(t *testing.T) {
	c := newCourt(t, 4)
	c.world.Tolerate(c.podOn("a-0"), []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
	pod := c.ill("a-0")
	c.run(time.Hour)
	c.evict(pod)
	c.guilty(judge.NeverEarly)
}

// An administrator's taint counts from TimeAdded if that is earlier, and at
// once for a pod that does not tolerate it.
func TestNeverEarlyBelievesTimeAdded(t *testing.T) {
	admins := func(ago time.Duration) corev1.Taint {
		added := metav1.NewTime(start.Add(calmBound - ago))
		return corev1.Taint{Key: corev1.TaintNodeNotReady, Value: "admin", Effect: corev1.TaintEffectNoExecute,
			TimeAdded: &added}
	}
	for name, test := range map[string]struct {
		ago   time.Duration
		early bool
	}{
		"an hour ago":    {time.Hour, true}, // it appeared only now
		"in an hour":     {-time.Hour, true},
		"20 seconds ago": {20 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			c.checks = false
			c.silence("a-0")
			c.world.Machine("a-0").Edit(func(n *corev1.Node) {
				fails(n)
				n.Spec.Taints = []corev1.Taint{admins(test.ago)}
			})
			c.run(2 * time.Second)
			c.evict(c.podOn("a-0"))
			if !test.early {
				c.clean()
				return
			}
			c.guilty(judge.NeverEarly)
		})
	}
	c := newCourt(t, 4)
	c.world.Machine("a-0").Edit(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	})
	c.pass(10 * time.Millisecond)
	c.evict(c.podOn("a-0"))
	c.clean("it tolerates no such taint")
}

// A node that flaps between the two taints keeps its clock. One that was
// without a taint for a moment does not, unless the client could not see that.
func TestNeverEarlyFollowsTheLineage(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	first := c.world.Node("a-0").Spec.Taints[1]
	c.run(patience - time.Second)
	swapped := first
	swapped.Key = corev1.TaintNodeNotReady
	c.setTaints("a-0", swapped)
	c.run(2 * time.Second)
	c.evict(pod)
	c.clean()

	c = newCourt(t, 4)
	pod = c.ill("a-0")
	edit := func(taints ...corev1.Taint) {
		c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Taints = taints })
	}
	edit()
	c.run(10 * time.Second)
	edit(corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	c.run(patience - 5*time.Second)
	c.evict(pod)
	c.guilty(judge.NeverEarly)
}

// What the watch has not shown cannot be known.
func TestNeverEarlyForgivesAnOldCache(t *testing.T) {
	evict := func(broken bool) *court {
		c := newCourt(t, 4)
		pod := c.ill("a-0")
		if broken {
			c.world.BreakWatches(func(*network.Client, network.Kind) bool { return true })
		}
		c.run(30 * time.Second)
		c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Taints = nil })
		c.run(40 * time.Second)
		c.evict(pod)
		return c
	}
	evict(true).clean("it still sees the taint")
	evict(false).guilty(judge.NeverEarly, "it has seen the taint go 40 s ago")
}

// An eviction that was decided before news came, and marked, is called off.
func TestNeverEarlyWantsASecondLookAfterTheMark(t *testing.T) {
	evict := func(newsTakes time.Duration) *court {
		c := newCourt(t, 4)
		pod := c.ill("a-0")
		c.run(patience + time.Second)
		c.mark(pod)
		c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Taints = nil })
		c.pass(newsTakes)
		c.evict(pod)
		return c
	}
	evict(0).clean("the news is on its way")
	evict(time.Second).guilty(judge.NeverEarly, "it has seen the taint go")
}

// A pod that comes to a node that was tainted long ago has its time too.
func TestNeverEarlyCountsFromThePodsArrival(t *testing.T) {
	arrive := func(stays time.Duration) *court {
		c := newCourt(t, 4)
		c.checks = false
		c.silence("a-0")
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			fails(n)
			n.Spec.Taints = []corev1.Taint{c.noExecute(corev1.TaintNodeNotReady)}
		})
		c.run(10 * time.Minute)
		c.world.Workload("web").Place("a-0")
		pods := c.world.PodsOn("a-0")
		c.run(stays)
		c.evict(pods[len(pods)-1].Name)
		return c
	}
	arrive(patience + time.Second).clean()
	arrive(patience - 2*time.Second).guilty(judge.NeverEarly)
}

func TestNeverEarlyWantsTheUID(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.run(2 * patience)
	c.call(&network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod})
	c.guilty(judge.NeverEarly)
}

// While it sees all zones down our own taints do not count, an administrator's
// do.
func TestNeverEarlyHoldsOurTimersInAnOutage(t *testing.T) {
	c := newCourt(t, 1)
	pod := c.ill("a-0")
	c.fall("b-0")
	c.run(2 * patience)
	c.evict(pod)
	require.Equal(t, []judge.Invariant{judge.NeverEarly, judge.SparedInOutage}, c.found())

	c = newCourt(t, 1)
	pod = c.ill("a-0")
	c.fall("b-0")
	c.world.Machine("a-0").Edit(func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints[:1:1], corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	})
	c.run(time.Second)
	c.evict(pod)
	c.clean()
}

// A client swaps the taints and writes another time: it is the same illness.
func TestNeverEarlyKeepsTheClockOfALineage(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.run(patience - time.Second)
	c.world.Machine("a-0").
		Edit(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{c.noExecute(corev1.TaintNodeNotReady)} })
	c.run(2 * time.Second)
	c.evict(pod)
	c.clean()
}

// A call waits for its client's rate, for a few milliseconds in this court.
func TestNeverEarlyForgivesNewsWhileACallWaits(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.run(patience + time.Second)
	c.world.Machine("a-0").Edit(func(n *corev1.Node) { n.Spec.Taints = nil })
	c.pass(5 * time.Millisecond)
	c.evict(pod)
	c.clean()
}

// A taint that comes while the call is under way is no reason to have sent it.
func TestNeverEarlyLooksAtTheTimeOfSending(t *testing.T) {
	c := newCourt(t, 4)
	c.checks = false
	c.world.SlowCalls(network.Span{Min: 2 * time.Second, Max: 2 * time.Second})
	c.world.After(500*time.Millisecond, func() {
		c.world.Machine("a-0").Edit(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
		})
	})
	c.evict(c.podOn("a-0"))
	c.guilty(judge.NeverEarly)
}
