package judge_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A node dies and comes back, and the controller does everything right.
func TestACareOfTheDeadAndTheLivingViolatesNothing(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.podOn("a-0")
	c.fall("a-0")
	c.run(wave)
	c.execute("a-0")
	c.run(patience + time.Second)
	c.mark(pod)
	c.evict(pod)
	c.run(2 * calmBound)
	c.recover("a-0")
	c.run(calmBound)
	c.judge.End()
	c.clean()
}

// No client does anything although a node dies.
func TestEverythingLeftUndoneIsFound(t *testing.T) {
	c := newCourt(t, 4)
	c.silence("a-0")
	c.run(5 * time.Minute)
	c.guilty("declared in time")
	c.declare("a-0")
	c.run(time.Minute)
	c.setTaints("a-0", noSchedule(corev1.TaintNodeUnreachable), c.noExecute(corev1.TaintNodeUnreachable))
	c.run(5 * time.Minute)
	for i, want := range []string{"declared in time", "taints follow the conditions", "no idle token",
		"pods of unknown nodes are not ready", "in time"} {
		if got := c.judge.Violations()[i].Invariant; string(got) != want {
			t.Errorf("violation %d is %q, want %q", i, got, want)
		}
	}
}

// While no client can act nothing is expected.
func TestNothingIsExpectedWithoutCalm(t *testing.T) {
	c := newCourt(t, 4)
	client := c.client
	c.silence("a-0")
	c.client = nil
	c.run(10 * time.Minute)
	c.client = client
	c.clean()
}
