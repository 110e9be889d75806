package judge_test

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// follow has the client watch the leader's lease.
func (c *court) follow() {
	c.client.Inform(network.LeaderLease, cache.ResourceEventHandlerFuncs{})
	c.pass(10 * time.Millisecond)
}

// dueOn makes a node fall and waits until its pod has to leave.
func (c *court) dueOn(node string) (pod string) {
	c.fall(node)
	c.run(wave)
	c.execute(node)
	c.run(patience + 2*time.Second)
	return c.podOn(node)
}

func TestHaltedHoldsEvictionsOnceShown(t *testing.T) {
	c := newCourt(t, 5)
	c.follow()
	c.checks = false
	pod := c.dueOn("a-0")
	c.world.Halt()
	c.pass(10 * time.Millisecond)
	c.pass(20 * time.Millisecond) // calls that wait for the client's rate
	c.evict(pod)
	c.guilty(judge.Halted)
}

func TestHaltedHoldsTaintsOnceShown(t *testing.T) {
	c := newCourt(t, 5)
	c.follow()
	c.fall("a-0")
	c.run(wave)
	c.world.Halt()
	c.pass(time.Second)
	c.execute("a-0")
	c.guilty(judge.Halted)
}

func TestHaltedMustBeShown(t *testing.T) {
	c := newCourt(t, 5)
	c.fall("a-0")
	c.world.Halt()
	c.run(wave)
	c.clean("nothing was sent")
	c.run(time.Minute)
	c.execute("a-0")
	c.guilty(judge.Halted, "the client does not look")
}

func TestHaltedEndsWithTheAnnotation(t *testing.T) {
	c := newCourt(t, 5)
	c.follow()
	end, other := c.world.Halt(), c.world.Halt()
	c.fall("a-0")
	c.run(2 * time.Minute)
	c.clean("a node that waits for its taint in a halt")
	end()
	c.run(time.Minute)
	c.clean("one of two operators has taken the annotation off")
	other()
	c.pass(10 * time.Millisecond)
	c.execute("a-0")
	c.clean()
}

func TestInTimeInAHalt(t *testing.T) {
	c := newCourt(t, 5)
	c.follow()
	c.fall("a-0")
	c.run(wave)
	c.execute("a-0")
	end := c.world.Halt()
	c.run(10 * time.Minute)
	c.clean("the pod is due, and held")
	end()
	c.run(time.Second)
	c.clean()
	c.run(time.Minute)
	c.guilty(judge.InTime)
}

func TestNoIdleTokenAfterAHalt(t *testing.T) {
	c := newCourt(t, 5)
	c.follow()
	c.fall("a-0")
	end := c.world.Halt()
	c.run(10 * time.Minute)
	end()
	c.run(time.Second)
	c.clean()
	c.run(time.Minute)
	c.guilty(judge.NoIdleToken)
}
