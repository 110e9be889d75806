package simulation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// again does something now and every so often until it is stopped.
func (s *Simulation) again(every time.Duration, do func()) (stop func()) {
	stopped := false
	var tick func()
	tick = func() {
		if stopped {
			return
		}
		do()
		s.world.After(every, tick)
	}
	tick()
	return func() { stopped = true }
}

// drift steps a machine's clock again and again, until it is set right.
func (s *Simulation) drift(drift *scenario.ClockDrift, m *model.Machine) (restore func()) {
	var steps []func()
	stop := s.again(drift.Every.D(), func() { steps = append(steps, m.StepClock(drift.By.D())) })
	return func() {
		stop()
		for _, back := range steps {
			back()
		}
	}
}

// hostile makes a machine's kubelet write into its own node and lease what it
// should not.
func (s *Simulation) hostile(hostile *scenario.Hostile, m *model.Machine) (restore func()) {
	honest := func() {}
	if hostile.Leases != "" {
		honest = m.Renew(renewals[hostile.Leases])
	}
	turn, back := 0, func() {}
	stop := s.again(hostile.Every.D(), func() {
		if !m.Reaches() {
			return
		}
		if n := len(hostile.Zones); n > 0 {
			former := back
			back = s.edits.move(m, hostile.Zones[turn%n])
			former() // the later move counts, so this changes nothing
			turn++
		}
		switch hostile.Taints {
		case scenario.TakeOffTaints:
			takeOff(m)
		case scenario.PutOnTaints:
			s.putOn(m)
		}
	})
	return func() {
		stop()
		back()
		honest()
	}
}

// renewals are what hostile kubelets write as the times of their leases. Beats
// is how often they have.
var renewals = map[string]func(now time.Time, beats int) time.Time{
	scenario.FutureLeases: func(now time.Time, _ int) time.Time { return now.Add(24 * time.Hour) },
	scenario.ZeroLeases: func(now time.Time, beats int) time.Time {
		if beats%2 == 0 {
			return time.Time{}
		}
		return now
	},
	scenario.BackwardsLeases: func(_ time.Time, beats int) time.Time {
		return start.Add(-time.Duration(beats) * time.Minute)
	},
}

// ofIllness reports whether a taint is one of those that the controller sets
// for NoExecute.
func ofIllness(taint corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable)
}

func takeOff(m *model.Machine) {
	m.EditIf(func(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, ofIllness) },
		func(node *corev1.Node) {
			node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), ofIllness)
		})
}

func (s *Simulation) putOn(m *model.Machine) {
	m.EditIf(func(node *corev1.Node) bool { return !slices.ContainsFunc(node.Spec.Taints, ofIllness) },
		func(node *corev1.Node) {
			node.Spec.Taints = append(slices.Clone(node.Spec.Taints), corev1.Taint{
				Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute,
				TimeAdded: &metav1.Time{Time: s.world.Now().Truncate(time.Second)},
			})
		})
}
