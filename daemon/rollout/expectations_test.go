package rollout_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

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
	s.want("").wantWait("a", rollout.WaitTerminating)
	s.after(30 * time.Second)
	plan = s.Plan(s.now)
	require.Equal(t, "refresh a-1", listed(plan))
	s.Report(s.now, ended{Refresh: &plan.Refresh[0], Pod: s.pods["a-1"]})
	s.want("delete a-1: OutdatedUnavailable")
}

// The API server's store went back to a backup, with the same UID and whatever
// resource version: what the watch shows then is the truth.
func TestD2APodThatIsRestoredIsManagedAgain(t *testing.T) {
	for _, version := range []string{"", "5", "1000005"} {
		s := newSet(t).nodes("a").running("a").template("new")
		before := s.pods["a-1"].DeepCopy()
		before.ResourceVersion = version
		s.change("a-1", terminating).want("").wantWait("a", rollout.WaitTerminating)
		s.pods["a-1"] = before
		s.ObservePod(s.now, before)
		s.want("delete a-1: Outdated")
	}
}

// The API server had no such pod, and until the watch has shown that, it is
// behind. Afterwards a pod that it shows is back from a backup.
func TestD2APodThatWasGoneAndIsRestoredIsManagedAgain(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	before := s.pods["a-1"]
	s.Report(s.now, ended{Delete: &s.Plan(s.now).Delete[0], Gone: true})
	s.ObservePod(s.now, before)
	require.Zero(t, s.Status().Current, "the watch is behind")
	s.gone("a-1")
	s.pods["a-1"] = before
	s.ObservePod(s.now, before)
	s.want("delete a-1: Outdated")
}

// A pod that the watch does not show is read, and each read is later than the
// answer before it.
func TestD2APodThatIsReadRestoredIsManagedAgain(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "x", ResourceVersion: "9"},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}
	restored := made.DeepCopy()
	restored.ResourceVersion = "5"
	terminating(made)
	s.Report(s.now, ended{Create: &step, Pod: made})
	refresh := s.after(30 * time.Second).Plan(s.now).Refresh[0]
	s.Report(s.now, ended{Refresh: &refresh, Pod: restored})
	s.want("delete x: OutdatedUnavailable")
}

// A read shows what the watch has shown already, so that is not behind.
func TestD2AReadOfWhatTheWatchHasShownCountsNoMoreThanIt(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	s.change("a-1", func(pod *corev1.Pod) { pod.ResourceVersion = "5" })
	s.Report(s.now, ended{Delete: &s.Plan(s.now).Delete[0]})
	refresh := s.after(30 * time.Second).Plan(s.now).Refresh[0]
	s.Report(s.now, ended{Refresh: &refresh, Pod: s.pods["a-1"].DeepCopy()})
	require.Equal(t, 1, s.Status().Ready)
	restored := s.pods["a-1"].DeepCopy()
	restored.ResourceVersion = "3"
	unready(restored)
	s.ObservePod(s.now, restored)
	require.Zero(t, s.Status().Ready)
}

// After an answer the watch may be behind, but not for ever.
func TestD2AnAnswerCountsMoreThanTheWatchForFiveMinutes(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "x", ResourceVersion: "9"},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}
	terminating(made)
	s.Report(s.now, ended{Create: &step, Pod: made})
	restored := made.DeepCopy()
	restored.DeletionTimestamp, restored.ResourceVersion = nil, "5"
	s.ObservePod(s.now, restored)
	s.want("").wantWait("a", rollout.WaitTerminating)
	s.after(5*time.Minute).ObservePod(s.now, restored)
	s.want("delete x: OutdatedUnavailable")
}

func TestOldNewsDoNotUndoWhatWeWrote(t *testing.T) {
	s := newSet(t).nodes("a").running("a")
	s.change("a-1", terminating).want("").wantWait("a", rollout.WaitTerminating)
	again := s.pods["a-1"].DeepCopy()
	s.gone("a-1")
	s.pod("a-1", "a", "old", available) // recreated under the name
	s.ForgetPod(s.now, again)           // news of the former one, late
	s.want("")
	require.Equal(t, 1, s.Status().Current)
}

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

func TestLostDeletionHoldsItsPlaceInTheBudget(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	plan := s.Plan(s.now)
	require.Equal(t, "delete a-1: Outdated", listed(plan))
	s.Report(
		s.now,
		ended{Delete: &plan.Delete[0], Err: context.DeadlineExceeded},
	) // the API server has done it
	require.Empty(
		t,
		s.Plan(s.now).Delete,
	) // a-1 may be terminating already
	s.after(250 * time.Millisecond).want("delete a-1: Outdated") // and not b-1
	s.want("create on a: Missing")
}

// D2: a pod whose name another pod has had since its creation is not waited for,
// although the watch never showed that it went.
func TestD2PodWhoseNameWasTakenBeforeTheReportIsNotWaitedFor(t *testing.T) {
	s := newSet(t).nodes("a")
	plan := s.Plan(s.now)
	s.pod("x", "a", "old")
	made := s.pods["x"]
	s.pod("x", "a", "old").gone("x")
	s.Report(s.now, ended{Create: &plan.Create[0], Pod: made})
	s.want("create on a: Missing")
}

// The refresh was for the creation. Its answer was read before the pod was
// deleted.
func TestRefreshThatWasUnderWayBeforeTheDeletionDoesNotUndoIt(t *testing.T) {
	s := newSet(t, byRank).ranked("a", "1")
	step := s.Plan(s.now).Create[0]
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "a-1",
			UID:             "a-1",
			ResourceVersion: "10",
			Labels:          map[string]string{"controller-revision-hash": "old"},
		},
		Spec: corev1.PodSpec{NodeName: "a"},
	}
	available(made)
	s.Report(s.now, ended{Create: &step, Pod: made})
	refresh := s.after(30 * time.Second).Plan(s.now)
	require.Equal(t, "refresh a-1", listed(refresh))
	s.ranked("b", "2").running("b")
	s.ObservePod(s.now, made)
	deletion := s.template("new").Plan(s.now)
	require.Equal(t, "delete a-1: Outdated", listed(deletion))
	s.Report(s.now, ended{Delete: &deletion.Delete[0]})
	s.Report(s.now, ended{Refresh: &refresh.Refresh[0], Pod: made})
	s.ranked("a", "3")
	s.want("") // and not b-1, too
}

// makes reports the one creation of a plan, and nothing of it is observed.
func (s *set) makes(node string) *corev1.Pod {
	plan := s.Plan(s.now)
	require.Len(s, plan.Create, 1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: node + "-1", UID: types.UID(node), ResourceVersion: "10",
			Labels: map[string]string{"controller-revision-hash": plan.Create[0].Revision},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	s.Report(s.now, ended{Create: &plan.Create[0], Pod: pod})
	return pod
}

// The pod was read while it was being deleted, and before that was done.
func TestRefreshDuringADeletionDoesNotUndoIt(t *testing.T) {
	s := newSet(t).nodes("a")
	pod := s.makes("a")
	deletion := s.template("new").Plan(s.now)
	require.Equal(t, "delete a-1: OutdatedUnavailable", listed(deletion))
	refresh := s.after(time.Minute).Plan(s.now)
	if len(refresh.Refresh) == 0 {
		return // it is not even read
	}
	s.Report(s.now, ended{Delete: &deletion.Delete[0]})
	s.Report(s.now, ended{Refresh: &refresh.Refresh[0], Pod: pod})
	s.want("") // and not: delete a-1 again
}

// etcd was restored from a backup: all informers list again.
func TestVersionsThatBeginAgainAreBelievedAfterALiveRead(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	plan := s.Plan(s.now)
	s.Report(s.now, ended{Delete: &plan.Delete[0]})
	refresh := s.after(30 * time.Second).Plan(s.now)
	require.Equal(t, "refresh a-1", listed(refresh))
	restored := s.pods["a-1"].DeepCopy()
	restored.ResourceVersion = "7"
	unready(restored)
	s.Report(
		s.now,
		ended{Refresh: &refresh.Refresh[0], Pod: restored},
	) // which may be older than the news
	s.ObservePod(
		s.now,
		restored,
	) // no: the informers have listed again
	s.want("delete a-1: OutdatedUnavailable")
}

// D5: pods that a watch does not show are read once, however many there are.
func TestD5SilentPodsAreReadOnce(t *testing.T) {
	for _, silent := range []int{5, 1000} {
		s := newSet(t, func(c *rollout.Config) { c.Burst = silent })
		for i := range silent {
			s.nodes(fmt.Sprintf("n%04d", i))
		}
		pods, reads := map[string]*corev1.Pod{}, 0
		for s.now.Before(start.Add(time.Hour)) {
			plan := s.Plan(s.now)
			for i := range plan.Create {
				step := &plan.Create[i]
				pods[step.Node] = &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{
						Name: step.Node, UID: types.UID(step.Node), ResourceVersion: "7",
						Labels: map[string]string{"controller-revision-hash": "old"},
					},
					Spec: corev1.PodSpec{NodeName: step.Node},
				}
				s.Report(s.now, ended{Create: step, Pod: pods[step.Node]})
			}
			for i := range plan.Refresh {
				reads++
				s.Report(s.now, ended{Refresh: &plan.Refresh[i], Pod: pods[plan.Refresh[i].Pod]})
			}
			if plan.Empty() && plan.Next.IsZero() {
				break
			}
			if plan.Empty() {
				s.now = plan.Next
			}
		}
		require.Len(t, pods, silent)
		require.Equal(t, silent, reads)
	}
}

// D4: creations go on while the watch shows nothing. Each is read once after half
// a minute and no longer counts against Burst.
func TestD4AWatchThatShowsNothingDoesNotStallCreations(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) { c.Burst = 50 })
	for i := range 200 {
		s.nodes(fmt.Sprintf("n%04d", i))
	}
	pods := map[string]*corev1.Pod{}
	for s.now.Before(start.Add(4 * 30 * time.Second)) {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			pods[step.Node] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: step.Node, UID: types.UID(step.Node), ResourceVersion: "7",
				Labels: map[string]string{"controller-revision-hash": "old"},
			}, Spec: corev1.PodSpec{NodeName: step.Node}}
			s.Report(s.now, ended{Create: step, Pod: pods[step.Node]})
		}
		for i := range plan.Refresh {
			s.Report(s.now, ended{Refresh: &plan.Refresh[i], Pod: pods[plan.Refresh[i].Pod]})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	require.Len(t, pods, 200)
}
