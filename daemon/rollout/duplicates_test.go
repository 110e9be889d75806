package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func TestOfDuplicatesTheScheduledReadyOlderOneStays(t *testing.T) {
	old, young := created(start.Add(-time.Hour)), created(start)
	for name, test := range map[string]struct{ stays, leaves []func(*corev1.Pod) }{
		"scheduled": {[]func(*corev1.Pod){young, unready}, []func(*corev1.Pod){old, available,
			unscheduled}},
		"ready": {[]func(*corev1.Pod){young, available}, []func(*corev1.Pod){old, unready}},
		"older": {[]func(*corev1.Pod){old, available}, []func(*corev1.Pod){young, available}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(
				t,
			).nodes("a").
				pod("leaves", "a", "old", test.leaves...).
				pod("stays", "a", "old", test.stays...)
			s.want("delete leaves: Duplicate").want("")
		})
	}
}

// Both pods are ready when surge is switched off; only the new one is
// available.
func TestAvailablePodIsNotTheDuplicateOfOneThatIsNot(t *testing.T) {
	s := newSet(
		t,
		func(c *rollout.Config) { c.Spec.MinReady = time.Minute },
	).nodes("a", "b", "c").
		running("a", "b", "c")
	s.rollout(surge(3)).template("new")
	for _, node := range []string{"a", "b", "c"} {
		s.change(node+"-1", readyFrom(start.Add(-time.Second))) // it was restarted
		s.pod(node+"-2", node, "new", available, created(start.Add(time.Second)))
	}
	s.rollout(func(r *rollout.Strategy) { *r = rollout.Strategy{MaxUnavailable: intstr.FromInt32(1)} })
	plan := s.Plan(s.now)
	gone := 0
	for _, step := range plan.Delete {
		if s.pods[step.Pod].Labels["controller-revision-hash"] == "new" {
			gone++
		}
	}
	require.LessOrEqual(t, gone, 1, "available pods deleted with maxUnavailable 1: %s", listed(plan))
}

// Surge is switched off while a new pod does not become available. The old one
// serves until the new one is surely gone: its deletion may fail.
func TestPodIsNotReplacedWhileItsDuplicateMayStay(t *testing.T) {
	s := newSet(t).nodes("a").running("a")
	s.rollout(surge(1)).template("new")
	s.pod("a-2", "a", "new", unready, created(start.Add(time.Second)))
	s.rollout(func(r *rollout.Strategy) {
		*r = rollout.Strategy{MaxUnavailable: intstr.FromInt32(1)}
	})
	plan := s.Plan(s.now)
	require.Equal(t, "delete a-2: Duplicate", listed(plan))
	s.Report(s.now, ended{Delete: &plan.Delete[0], Gone: true})
	s.gone("a-2").want("delete a-1: Outdated")
}
