package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func surge(by int32) func(*rollout.Strategy) {
	return func(r *rollout.Strategy) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(by),
			intstr.FromInt32(0)
	}
}

func TestSurgeMakesTheNewPodFirst(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(func(r *rollout.Strategy) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)
	}).template("new")
	s.want("create on a: Surging")
	s.want("").wantWait("a", rollout.WaitNotAvailable).wantWait("b", rollout.WaitLimited)
	s.change("a-new-2", available).want("delete a-1: Replaced").want("create on b: Surging")
}

// #118823.
func TestSurgeRetiresAMisscheduledPodOnlyWhenThereAreEnough(t *testing.T) {
	s := newSet(t).nodes("a").running("a").rollout(func(r *rollout.Strategy) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)
	})
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "repair", Effect: corev1.TaintEffectNoSchedule}},
		},
	})
	s.running("b").template("new").change("a-1", unready)
	s.want("create on a: Surging").want("delete a-1: Replaced").want("") // which was not ready anyway
	s.change("a-new-2", available).want("delete b-1: Misscheduled").want("")
}

// #124388: with maxSurge the next pod came at once, though the failed one was
// held back.
func TestSurgeReplacesFailedPodsWithBackoffToo(t *testing.T) {
	s := newSet(t).nodes("a").rollout(func(r *rollout.Strategy) { r.MaxSurge = intstr.FromInt32(1) })
	s.pod("x", "a", "old", phase(corev1.PodFailed)).want("create on a: Missing", "delete x: PodFailed")
	s.change("a-old-2", phase(corev1.PodFailed)).want("").wantWait("a", rollout.WaitBackoff)
	s.after(time.Second).want("create on a: Missing", "delete a-old-2: PodFailed")
}

// #65309, #124388: a kubelet that rejects the new pod next to the old one.
func TestSurgeMakesNoFurtherPodWhileAFailedOneWaits(t *testing.T) {
	s := newSet(t).nodes("a").running("a").rollout(surge(1)).template("new")
	made := 0
	for range 100 { // no time passes
		plan := s.Plan(s.now)
		for i := range plan.Create {
			made++
			s.Report(s.now, ended{Create: &plan.Create[i], Taken: true}) // its pod is the one below
			s.pod(fmt.Sprintf("rejected-%d", made), "a", "new", phase(corev1.PodFailed))
		}
		for i := range plan.Delete {
			s.Report(s.now, ended{Delete: &plan.Delete[i], Gone: true})
		}
	}
	require.LessOrEqual(t, made, 2) // the second one waits for its backoff
}

func TestSurgeSlotIsHeldByAFailedPod(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").rollout(surge(1)).template("new")
	s.want("create on a: Surging")
	s.change("a-new-2", phase(corev1.PodFailed))
	s.want("delete a-new-2: PodFailed").want("create on a: Surging")
	s.change("a-new-3", phase(corev1.PodFailed))
	s.want("").wantWait("a", rollout.WaitBackoff) // and neither a nor b gets another
}

func TestSurgeKeepsToItsLimitWhenDeletionsAreRefused(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	s := newSet(t).nodes(nodes...).running(nodes...).rollout(surge(1)).template("new")
	created := 0
	for range 20 {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			created++
			name := step.Node + "-2"
			s.Report(
				s.now,
				ended{
					Create: step,
					Pod: &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Name: name, UID: "made"},
						Spec:       corev1.PodSpec{NodeName: step.Node},
					},
				},
			)
			s.pod(name, step.Node, "new", available)
		}
		for i := range plan.Delete {
			s.Report(s.now, ended{Delete: &plan.Delete[i], Err: errRefused})
		}
		s.after(time.Minute)
	}
	require.Equal(t, 1, created, "nodes that run two pods with maxSurge 1")
}

func TestSurgeIsStrictToo(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c", "d")
	for _, node := range []string{"a", "b", "c", "d"} {
		s.pod(node+"-1", node, "old", unready)
	}
	s.rollout(surge(1)).rollout(func(r *rollout.Strategy) { r.Strict = true }).template("new")
	for range 10 {
		s.steps()
	}
	news := 0
	for _, pod := range s.pods {
		if pod.Labels["controller-revision-hash"] == "new" {
			news++
		}
	}
	require.Equal(t, 1, news) // it is not available, and the next one waits for that
}

// D3: a new pod next to the old one that a later taint keeps from being
// scheduled takes no place in the surge. It goes, and so does the old one, if
// there are enough others.
func TestD3SurgedPodThatCannotBeScheduledAnyMoreStopsNoRollout(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").
		change("a-new-2", unscheduled).
		want("").
		wantWait("b", rollout.WaitLimited)
	s.tainted("a").
		want("delete a-new-2: Misscheduled").
		want("create on b: Surging", "delete a-1: Misscheduled")
	s.change("b-new-2", available).want("delete b-1: Replaced").want("")
	s.nodes("a").want("create on a: Missing") // and when the taint goes, so does the wait
}

// D3: one that was scheduled before the taint came stays.
func TestD3SurgedPodThatWasScheduledStays(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").tainted("a").want("").wantWait("a", rollout.WaitNotAvailable)
	s.change("a-new-2", available).want("delete a-1: Replaced").want("create on b: Surging")
}

// D3: its deletion may be refused, and stops no rollout either.
func TestD3SurgedPodThatCannotBeDeletedStopsNoRollout(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").change("a-new-2", unscheduled).tainted("a")
	o := s.carryOut(func(node string) bool { return node == "a" }, time.Minute)
	require.Equal(t, 2, o.done) // b gets its new pod, and loses the old one
}
