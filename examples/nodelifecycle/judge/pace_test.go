package judge_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
)

// C2: a node that was written to three times must be opened as soon as any
// other. One that was written to five times may stay closed for half a minute,
// or for 5 s if pods leave it.
func TestRecoveredLateAfterManyWrites(t *testing.T) {
	flapped := func(times int) *court {
		c := newCourt(t, 4)
		c.fall("a-0")
		closed := noSchedule(corev1.TaintNodeUnreachable)
		for write := 1; write < times; write++ {
			wants := []corev1.Taint{closed}
			if write%2 == 1 {
				wants = append(wants, noSchedule(corev1.TaintNodePIDPressure))
			}
			c.setTaints("a-0", wants...)
		}
		return c
	}
	c := flapped(3)
	c.restore["a-0"]()
	c.run(8 * time.Second)
	c.guilty(judge.Recovered)

	c = flapped(5)
	c.restore["a-0"]()
	c.run(34 * time.Second)
	c.clean()
	c.run(4 * time.Second)
	c.guilty(judge.Recovered)

	c = flapped(5)
	c.run(10 * time.Second)
	c.restore["a-0"]()
	c.run(24 * time.Second)
	c.clean("it counts from the last write")
	c.run(4 * time.Second)
	c.guilty(judge.Recovered)

	c = newCourt(t, 4)
	c.fall("a-0")
	c.run(wave)
	c.execute("a-0")
	for _, pressed := range []bool{true, false, true, false} {
		wants := c.world.Node("a-0").Spec.Taints[:2:2]
		if pressed {
			wants = append(wants, noSchedule(corev1.TaintNodePIDPressure))
		}
		c.setTaints("a-0", wants...)
	}
	c.restore["a-0"]()
	c.run(9 * time.Second)
	c.clean()
	c.run(3 * time.Second)
	c.guilty(judge.Recovered)
}
