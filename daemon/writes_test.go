package daemon_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
)

func TestWhatIsHandedOutIsNotHandedOutAgain(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "gone", "old", unscheduled)
	require.Equal(t, "create on a: Missing\ndelete x: NodeGone", listed(s.Plan(s.now)))
	require.Empty(t, listed(s.Plan(s.now.Add(time.Hour))))
	s.wantWait("a", daemon.WaitUnderWay)
}

// #65309, #76370.
// #123232.
// #117204, #139226.
// #118823.
// #106417.
var errRefused = errors.New("exceeded quota")

func TestRefusedCreationsAreNotTriedInThousands(t *testing.T) {
	s := newSet(t)
	for i := range 500 {
		s.nodes(fmt.Sprintf("n%03d", i))
	}
	calls := 0
	for s.now.Before(start.Add(10 * time.Minute)) {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			calls++
			s.Report(s.now, ended{Create: &plan.Create[i], Err: errRefused})
		}
		if plan.Empty() {
			require.True(t, plan.Next.After(s.now))
			s.now = plan.Next
		}
	}
	require.Less(t, calls, 310) // one every two seconds
}

func TestOneNodeThatRefusesDoesNotHoldUpOthers(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c")
	done := map[string]bool{}
	for len(done) < 2 {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			if step.Node == "a" {
				s.Report(s.now, ended{Create: step, Err: errRefused})
				continue
			}
			done[step.Node] = true
			s.Report(
				s.now,
				ended{
					Create: step,
					Pod: &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Name: step.Node},
						Spec:       corev1.PodSpec{NodeName: step.Node},
					},
				},
			)
		}
		if plan.Empty() {
			s.now = plan.Next
		}
		require.Less(t, s.now.Sub(start), time.Second)
	}
	s.wantWait("a", daemon.WaitCreationRefused)
}

func TestCreationWhoseAnswerWasLostIsTriedUnderTheSameName(t *testing.T) {
	s := newSet(t).nodes("a")
	first := s.Plan(s.now).Create[0]
	s.Report(s.now, ended{Create: &first, Err: errRefused})
	s.after(time.Minute)
	second := s.Plan(s.now).Create[0]
	require.Equal(t, first.Attempt, second.Attempt)
	s.Report(s.now, ended{Create: &second, Taken: true})
	s.wantWait("a", daemon.WaitCreationRefused).after(time.Second)
	require.Equal(t, first.Attempt+1, s.Plan(s.now).Create[0].Attempt)
}

// #72155, #136932: kube-controller-manager waits five minutes, for the whole
// set.
func TestLostWatchEventStallsNothing(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "x",
			UID:             "x",
			ResourceVersion: "10",
			Labels:          map[string]string{"controller-revision-hash": "old"},
		},
		Spec: corev1.PodSpec{NodeName: "a"},
	}
	s.Report(s.now, ended{Create: &step, Pod: made})
	plan := s.Plan(s.now)
	require.True(t, plan.Empty())
	require.Equal(t, start.Add(30*time.Second), plan.Next)

	s.after(30 * time.Second)
	plan = s.Plan(s.now)
	require.Equal(t, "refresh x", listed(plan))
	s.Report(s.now, ended{Refresh: &plan.Refresh[0], Err: errRefused})
	s.after(29 * time.Second).want("").after(time.Second)
	plan = s.Plan(s.now)
	require.Equal(t, "refresh x", listed(plan))
	s.Report(s.now, ended{Refresh: &plan.Refresh[0], Gone: true})
	s.want("create on a: Missing")
}

// Released before the watch has told of it, it is no news of the set's any
// more.
func TestPodThatWasReleasedUnseenIsReplaced(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "x"},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}
	s.Report(s.now, ended{Create: &step, Pod: made})
	refresh := s.after(30 * time.Second).Plan(s.now).Refresh[0]
	s.Report(s.now, ended{Refresh: &refresh, Pod: made, Released: true})
	s.want("create on a: Missing")
	s.ObservePod(s.now, made) // adopted again
	require.Equal(t, "delete x: Duplicate", s.steps())
}

func TestLostDeletionIsAskedForAgain(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	plan := s.Plan(s.now)
	s.Report(s.now, ended{Delete: &plan.Delete[0]})
	s.change("a-1", unready) // of before the deletion, or from a server that lost it
	s.want("").wantWait("a", daemon.WaitTerminating)
	s.after(30 * time.Second)
	plan = s.Plan(s.now)
	require.Equal(t, "refresh a-1", listed(plan))
	s.Report(s.now, ended{Refresh: &plan.Refresh[0], Pod: s.pods["a-1"]})
	s.want("delete a-1: OutdatedUnavailable")
}

func TestOldNewsDoNotUndoWhatWeWrote(t *testing.T) {
	s := newSet(t).nodes("a").running("a")
	stale := s.pods["a-1"]
	s.change("a-1", terminating)
	s.ObservePod(s.now, stale)
	s.want("").wantWait("a", daemon.WaitTerminating)
	again := s.pods["a-1"].DeepCopy()
	s.gone("a-1")
	s.pod("a-1", "a", "old", available) // recreated under the name
	s.ForgetPod(s.now, again)           // news of the former one, late
	s.want("")
	require.Equal(t, 1, s.Status().Current)
}

// #113287.
func TestBurstLimitsWhatWasNotSeenYet(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) { c.Burst = 3 })
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
	s.wantWait("7", daemon.WaitBurst)
	s.ObservePod(
		s.now,
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "0", UID: "0"},
			Spec:       corev1.PodSpec{NodeName: "0"},
		},
	)
	s.want("create on 3: Missing")
}

// #63465: terminating pods that no kubelet ends held up all others. #124388:
// with maxSurge the next pod came at once, though the failed one was held back.
func TestPodThatIsGoneDoesNotComeBackWithLateNews(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	ghost := s.pods["a-1"]
	s.want("delete a-1: Outdated")
	late := ghost.DeepCopy()
	late.ResourceVersion = "999999"
	s.ObservePod(s.now, late)
	s.want("create on a: Missing")
	s.ObservePod(s.now, late)
	require.Equal(t, 1, s.Status().Current)
	s.want("")
}

func TestPodThatWentBeforeTheAnswerCameIsNotExpected(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	s.pod("x", "a", "old").gone("x")
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "uid-1"},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}
	s.Report(s.now, ended{Create: &step, Pod: made})
	s.want("create on a: Missing")
}
