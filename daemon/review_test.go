package daemon_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon"
)

func surge(by int32) func(*daemon.Rollout) {
	return func(r *daemon.Rollout) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(by),
			intstr.FromInt32(0)
	}
}

// ranked observes a node whose place in the order of byRank is the rank.
func (s *set) ranked(name, rank string) *set {
	s.ObserveNode(
		s.now,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rank": rank}}},
	)
	return s
}

func byRank(c *daemon.Config) {
	c.Less = func(a, b *corev1.Node) bool { return a.Labels["rank"] < b.Labels["rank"] }
}

// tainted observes a node where a pod may stay, but none should be.
func (s *set) tainted(name string) *set {
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "repair", Effect: corev1.TaintEffectNoSchedule}},
		},
	})
	return s
}

// #65309, #124388: a kubelet that rejects the new pod next to the old one.
func TestReviewSurgeMakesNoFurtherPodWhileAFailedOneWaits(t *testing.T) {
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

func TestReviewSurgeSlotIsHeldByAFailedPod(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").rollout(surge(1)).template("new")
	s.want("create on a: Surging")
	s.change("a-new-2", phase(corev1.PodFailed))
	s.want("delete a-new-2: PodFailed").want("create on a: Surging")
	s.change("a-new-3", phase(corev1.PodFailed))
	s.want("").wantWait("a", daemon.WaitBackoff) // and neither a nor b gets another
}

// #65309: the watch may be faster than the report, and is if the pod goes at
// once.
func TestReviewFailureCountsWhenThePodIsGoneBeforeTheReport(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "old", phase(corev1.PodFailed))
	plan := s.Plan(s.now)
	require.Equal(t, "delete x: PodFailed", listed(plan))
	s.gone("x")
	s.Report(s.now, ended{Delete: &plan.Delete[0]})
	s.pod("y", "a", "old", phase(corev1.PodFailed))
	s.want("").wantWait("a", daemon.WaitBackoff)
}

func TestReviewFailedPodsAreReplacedOneAtATimeAlsoBeforeTheReport(t *testing.T) {
	s := newSet(
		t,
	).nodes("a").
		pod("x", "a", "old", phase(corev1.PodFailed)).
		pod("y", "a", "old", phase(corev1.PodFailed))
	require.Equal(t, "delete x: PodFailed", listed(s.Plan(s.now)))
}

func TestReviewDeletionOfUnknownOutcomeHoldsItsPlaceInTheBudget(t *testing.T) {
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
}

func TestReviewCreationOfUnknownOutcomeHoldsItsPlaceInTheSurge(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	plan := s.Plan(s.now)
	require.Equal(t, "create on a: Surging", listed(plan))
	s.Report(
		s.now,
		ended{Create: &plan.Create[0], Err: context.DeadlineExceeded},
	) // the API server has done it
	s.after(249 * time.Millisecond).want("")
	s.after(time.Millisecond).want("create on a: Surging")
}

func TestReviewOrderOfLessHoldsWhenSeveralNodesChange(t *testing.T) {
	s := newSet(t, byRank).ranked("x", "1").ranked("between", "2").ranked("y", "5")
	s.Status()
	s.ranked("y", "4").ranked("x", "7")
	s.want("create on between: Missing")
}

// What was refused is forgiven on all nodes at once, in the order of a map.
func TestReviewOrderOfLessHoldsAfterANewRevision(t *testing.T) {
	for range 20 {
		s := newSet(t)
		for i := range 20 {
			s.nodes(fmt.Sprintf("n%02d", i))
		}
		s.refuse(func(string) bool { return true }, "", time.Hour)
		s.template("new")
		var order []string
		for len(order) < 20 {
			plan := s.Plan(s.now)
			for i := range plan.Create {
				step := &plan.Create[i]
				order = append(order, step.Node)
				s.pod(step.Node+"-1", step.Node, step.Revision, available)
				s.Report(s.now, ended{Create: step, Pod: s.pods[step.Node+"-1"]})
			}
		}
		require.IsIncreasing(t, order)
	}
}

// refuse has creations on some nodes refused and lets others succeed, until a
// node has its pod or some time has passed.
func (s *set) refuse(bad func(node string) bool, until string, most time.Duration) *set {
	end := s.now.Add(most)
	for s.now.Before(end) {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			if bad(step.Node) {
				s.Report(s.now, ended{Create: step, Err: errRefused, Refused: true})
				continue
			}
			s.pod(step.Node+"-1", step.Node, step.Revision, available)
			s.Report(s.now, ended{Create: step, Pod: s.pods[step.Node+"-1"]})
			if step.Node == until {
				return s
			}
		}
		if plan.Empty() {
			require.True(s, plan.Next.After(s.now), "nothing is to be done, nor ever will be")
			s.now = plan.Next
		}
	}
	return s
}

func TestReviewOneNodeThatAlwaysRefusesDoesNotHoldUpANewOne(t *testing.T) {
	bad := func(node string) bool { return node == "bad" }
	s := newSet(t).nodes("bad").refuse(bad, "", time.Hour)
	step := s.Plan(s.now).Create[0]
	s.Report(s.now, ended{Create: &step, Err: errRefused, Refused: true})
	joined := s.after(time.Second).nodes("good").now
	s.refuse(bad, "good", time.Hour)
	require.Less(t, s.now.Sub(joined), 5*time.Second)
}

func TestReviewTwentyNodesThatRefuseDoNotHoldUpAnotherForMinutes(t *testing.T) {
	s := newSet(t).nodes("z")
	for i := range 20 {
		s.nodes(fmt.Sprintf("bad-%02d", i))
	}
	s.refuse(func(node string) bool { return node != "z" }, "z", 24*time.Hour)
	require.Less(t, s.now.Sub(start), 2*time.Minute)
}

func TestReviewNegativePercentageIsAProblem(t *testing.T) {
	for _, amount := range []string{"-5%", "-99%"} {
		spec := daemon.Spec{Template: &corev1.PodTemplateSpec{}, Revision: "r"}
		spec.Rollout.MaxUnavailable = intstr.FromString(amount)
		require.Error(t, spec.Problems(), amount)
	}
}

func TestReviewStrictHoldsWithSurgeToo(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c", "d")
	for _, node := range []string{"a", "b", "c", "d"} {
		s.pod(node+"-1", node, "old", unready)
	}
	s.rollout(surge(1)).rollout(func(r *daemon.Rollout) { r.Strict = true }).template("new")
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

// Both pods are ready when surge is switched off; only the new one is
// available.
func TestReviewAvailablePodIsNotTheDuplicateOfOneThatIsNot(t *testing.T) {
	s := newSet(
		t,
		func(c *daemon.Config) { c.Spec.MinReady = time.Minute },
	).nodes("a", "b", "c").
		running("a", "b", "c")
	s.rollout(surge(3)).template("new")
	for _, node := range []string{"a", "b", "c"} {
		s.change(node+"-1", readyFrom(start.Add(-time.Second))) // it was restarted
		s.pod(node+"-2", node, "new", available, created(start.Add(time.Second)))
	}
	s.rollout(func(r *daemon.Rollout) { *r = daemon.Rollout{MaxUnavailable: intstr.FromInt32(1)} })
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
	s.rollout(func(r *daemon.Rollout) {
		*r = daemon.Rollout{MaxUnavailable: intstr.FromInt32(1)}
	})
	plan := s.Plan(s.now)
	require.Equal(t, "delete a-2: Duplicate", listed(plan))
	s.Report(s.now, ended{Delete: &plan.Delete[0], Gone: true})
	s.gone("a-2").want("delete a-1: Outdated")
}

func TestReviewPartitionOfAllKeepsAll(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").tainted("z").running("z")
	s.rollout(func(r *daemon.Rollout) { r.Partition = intstr.FromString("100%") }).
		template("new").
		want("")
}

// A policy that rewrites the affinity of all pods, as many do.
func TestReviewMadePodThatIsForNoNodeIsNotMadeAgainAtOnce(t *testing.T) {
	s := newSet(t).nodes("a")
	made := 0
	for range 100 { // no time passes
		plan := s.Plan(s.now)
		for i := range plan.Create {
			made++
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(made), UID: types.UID(fmt.Sprint(made))},
			}
			s.Report(s.now, ended{Create: &plan.Create[i], Pod: pod})
			s.ObservePod(s.now, pod)
		}
	}
	require.Less(t, made, 10)
}

func TestReviewSurgeKeepsToItsLimitWhenDeletionsAreRefused(t *testing.T) {
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

// The answer that the pod is gone was faster than the watch.
func TestReviewLateNewsOfAPodThatIsGoneDoNotBringItBack(t *testing.T) {
	s := newSet(t).nodes("a").running("a").template("new")
	plan := s.Plan(s.now)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Gone: true}) // another client was faster
	s.want("create on a: Missing")
	s.change("a-1", available) // of before it went
	s.want("")                 // and not: delete a-new-2: Duplicate
}

func TestReviewAnotherMachineUnderTheNameIsForgiven(t *testing.T) {
	s := newSet(t)
	machine := func(uid types.UID) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid}}
	}
	s.ObserveNode(s.now, machine("first"))
	s.pod("x", "a", "old", phase(corev1.PodFailed)).want("delete x: PodFailed")
	s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", daemon.WaitBackoff)
	s.ForgetNode(s.now, "a")
	s.want("")
	s.ObserveNode(s.now, machine("second"))
	s.want("delete y: PodFailed")
}

// The refresh was for the creation. Its answer was read before the pod was
// deleted.
func TestReviewRefreshThatWasUnderWayBeforeTheDeletionDoesNotUndoIt(t *testing.T) {
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

func TestReviewWaitForATerminatingPodHasNoEndOfItsOwn(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) { c.Spec.MinReady = time.Minute }).nodes("a").running("a")
	s.change("a-1", terminating, readyFrom(start.Add(-time.Second)))
	wait := s.WaitOf("a")
	require.Equal(t, daemon.WaitTerminating, wait.Reason)
	require.Zero(t, wait.Until)
}

func TestReviewWaitsStandsChangesWhileItIsRead(t *testing.T) {
	s := newSet(t).nodes("a", "b")
	require.NotPanics(t, func() {
		for range s.Waits() {
			s.ForgetNode(s.now, "b")
			s.Status()
		}
	})
}

// The pod was made, seen, and deleted by another client before Execute
// returned.
func TestReviewPodThatWentBeforeTheReportIsNotWaitedFor(t *testing.T) {
	s := newSet(t).nodes("a")
	plan := s.Plan(s.now)
	s.pod("x", "a", "old")
	made := s.pods["x"]
	s.gone("x")
	s.Report(s.now, ended{Create: &plan.Create[0], Pod: made})
	s.want("create on a: Missing")
}

// D2: nor for one whose name another pod has had since. That it went was never
// shown.
func TestD2PodWhoseNameWasTakenBeforeTheReportIsNotWaitedFor(t *testing.T) {
	s := newSet(t).nodes("a")
	plan := s.Plan(s.now)
	s.pod("x", "a", "old")
	made := s.pods["x"]
	s.pod("x", "a", "old").gone("x")
	s.Report(s.now, ended{Create: &plan.Create[0], Pod: made})
	s.want("create on a: Missing")
}

// etcd was restored from a backup: all informers list again.
func TestReviewVersionsThatBeginAgainAreBelievedAfterALiveRead(t *testing.T) {
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

// The other side of unknown outcomes: one pod that may never be deleted stops
// no other.
func TestReviewDeletionThatIsAlwaysRefusedHoldsUpNoOtherNode(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	for s.now.Before(start.Add(2 * time.Minute)) {
		plan := s.Plan(s.now)
		for i := range plan.Refresh {
			s.Report(s.now, ended{Refresh: &plan.Refresh[i], Pod: s.pods[plan.Refresh[i].Pod]})
		}
		for i := range plan.Delete {
			if plan.Delete[i].Pod == "b-1" {
				return
			}
			s.Report(s.now, ended{Delete: &plan.Delete[i], Err: errRefused})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	t.Error("b-1 was not replaced within two minutes")
}
