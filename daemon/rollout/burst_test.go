package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// #113287.
func TestBurstLimitsWhatWasNotSeenYet(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) { c.Burst = 3 })
	for i := range 10 {
		s.nodes(fmt.Sprint(i))
	}
	made := 0
	for range 10 {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			made++
			step := &plan.Create[i]
			s.Report(
				s.now,
				ended{
					Create: step,
					Pod: &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Name: step.Node, UID: types.UID(step.Node)},
						Spec:       corev1.PodSpec{NodeName: step.Node},
					},
				},
			)
		}
	}
	require.Equal(t, 3, made)
	s.wantWait("7", rollout.WaitBurst)
	s.ObservePod(
		s.now,
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "0", UID: "0"},
			Spec:       corev1.PodSpec{NodeName: "0"},
		},
	)
	s.want("create on 3: Missing")
}

// What vanishes in the middle takes no room with it for ever: Burst is 1.
func TestNothingThatVanishesKeepsItsRoomInTheBurst(t *testing.T) {
	made := func(name, node string) *corev1.Pod {
		revision := map[string]string{"controller-revision-hash": "old"}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: revision},
			Spec:       corev1.PodSpec{NodeName: node},
		}
	}
	for name, vanish := range map[string]func(s *set){
		"node, creation is refused": func(s *set) {
			step := s.nodes("x").Plan(s.now).Create[0]
			s.ForgetNode(s.now, "x")
			s.Report(s.now, ended{Create: &step, Err: errRefused, Refused: true})
			s.Report(s.now, ended{Create: &step, Err: errRefused, Refused: true})
		},
		"node, creation is lost": func(s *set) {
			step := s.nodes("x").Plan(s.now).Create[0]
			s.ForgetNode(s.now, "x")
			s.Status()
			s.Report(s.now, ended{Create: &step, Err: errLost})
		},
		"node, creation succeeds, pod goes": func(s *set) {
			step := s.nodes("x").Plan(s.now).Create[0]
			s.ForgetNode(s.now, "x")
			s.Status()
			s.Report(s.now, ended{Create: &step, Pod: made("x-1", "x")})
			s.Status()
			s.ForgetPod(s.now, made("x-1", "x"))
		},
		"node comes again": func(s *set) {
			step := s.nodes("x").Plan(s.now).Create[0]
			s.ForgetNode(s.now, "x")
			s.Status()
			s.nodes("x")
			s.Report(s.now, ended{Create: &step, Pod: made("x-1", "x")})
			s.ObservePod(s.now, made("x-1", "x"))
		},
		"pod, before the deletion is reported": func(s *set) {
			s.pod("y", "gone", "old", unscheduled)
			step := s.Plan(s.now).Delete[0]
			s.gone("y")
			s.Report(s.now, ended{Delete: &step})
		},
		"pod, after the deletion was reported": func(s *set) {
			s.pod("y", "gone", "old", unscheduled)
			step := s.Plan(s.now).Delete[0]
			s.Report(s.now, ended{Delete: &step})
			s.gone("y")
		},
		"pod is another": func(s *set) {
			s.pod("y", "gone", "old", unscheduled)
			step := s.Plan(s.now).Delete[0]
			s.pod("y", "gone", "old", unscheduled, terminating)
			s.Report(s.now, ended{Delete: &step, Gone: true})
		},
		"pod comes again": func(s *set) {
			s.pod("y", "gone", "old", unscheduled)
			step, pod := s.Plan(s.now).Delete[0], s.pods["y"]
			s.ForgetPod(s.now, pod)
			s.ObservePod(s.now, pod)
			s.Report(s.now, ended{Delete: &step, Gone: true})
			s.ForgetPod(s.now, pod)
		},
		"spec": func(s *set) {
			step := s.nodes("x").Plan(s.now).Create[0]
			s.template("other")
			s.Report(s.now, ended{Create: &step, Err: errRefused})
			s.ForgetNode(s.now, "x")
		},
		"steps of others": func(s *set) {
			s.Report(s.now, ended{Create: &rollout.Creation{Node: "nowhere"}})
			s.Report(s.now, ended{Delete: &rollout.Deletion{Pod: "none"}})
			s.Report(s.now, ended{Refresh: &rollout.Refresh{Pod: "none"}})
			s.Report(s.now, ended{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, func(c *rollout.Config) { c.Burst = 1 })
			vanish(s)
			s.after(time.Hour)
			s.nodes("fine").pod("unwanted", "absent", "old", unscheduled)
			s.want("create on fine: Missing", "delete unwanted: NodeGone").want("")
			s.gone("fine-" + s.spec.Revision + "-2").want("create on fine: Missing")
			require.Zero(t, s.Plan(s.now).Next)
		})
	}
}

func TestUnseenPodIsReadAlsoAfterARefusedDeletion(t *testing.T) {
	// refused deletions are tried again after a minute
	for _, timeout := range []time.Duration{30 * time.Second, 5 * time.Minute} {
		t.Run(timeout.String(), func(t *testing.T) {
			s := newSet(t, func(c *rollout.Config) { c.Burst, c.ExpectationTimeout = 1, timeout }).nodes("a")
			pod := s.makes("a")
			s.template("new").nodes("b") // Burst is taken by a-1, which was not seen
			for s.now.Before(start.Add(time.Hour)) {
				plan := s.Plan(s.now)
				if len(plan.Create) > 0 {
					return
				}
				for i := range plan.Refresh {
					s.Report(s.now, ended{Refresh: &plan.Refresh[i], Pod: pod})
				}
				for i := range plan.Delete {
					s.Report(s.now, ended{Delete: &plan.Delete[i], Err: errRefused, Refused: true})
				}
				if plan.Empty() {
					require.False(t, plan.Next.IsZero())
					s.now = plan.Next
				}
			}
			t.Error("a pod that was never seen holds up all creations")
		})
	}
}
