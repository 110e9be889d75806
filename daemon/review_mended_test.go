package daemon_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon"
)

// doubt has a creation whose answer is lost, on the first node, with maxSurge
// 1.
func (s *set) doubt() *set {
	plan := s.rollout(surge(1)).template("new").Plan(s.now)
	require.Equal(s, "create on a: Surging", listed(plan))
	s.Report(s.now, ended{Create: &plan.Create[0], Err: context.DeadlineExceeded})
	return s
}

func TestReviewDoubtfulCreationIsNotTriedAgainWhereNoneShouldBe(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a").pod("b-1", "b", "new").doubt()
	s.tainted("a").
		after(time.Minute).
		want("read the creation on a").
		want("")
		// a-1 stays as long as it is the only one that is available
	s.change("b-1", available).want("delete a-1: Misscheduled")
}

func TestReviewUnclearCreationThatIsNotRetriedDelaysNothingForever(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) {
		c.Eligible = func(node *corev1.Node) bool { return node.Labels["rank"] == "" }
	}).nodes("a", "b").running("a", "b").doubt()
	s.ranked("a", "not selected").after(29 * time.Second).want("").after(time.Second)
	s.readCreation("a", ended{Gone: true}).want("create on b: Surging")
}

// #18 of the histories' faults, seed 113150. The pod that may have been created
// counts as a second one, also on a node that should have none any more.
func TestDoubtfulCreationKeepsItsPlaceWhereNoneShouldBeAnyMore(t *testing.T) {
	s := newSet(t).nodes("a", "b", "d").running("a", "b").pod("d-1", "d", "new").doubt()
	s.tainted("a").after(29 * time.Second).want("") // a-1 must stay as long as d-1 is not available
	s.wantWait("b", daemon.WaitLimited).after(time.Second)
	s.readCreation("a", ended{Gone: true}).want("create on b: Surging")
}

// It was made all the same, was seen, and has gone since.
func TestReviewDoubtEndsWhenThePodWasSeen(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").doubt()
	s.pod("a-2", "a", "new").after(time.Minute).want("")
	s.gone("a-2").pod("b-2", "b", "new") // has the only place
	s.want("")
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
func TestReviewRefreshDuringADeletionDoesNotUndoIt(t *testing.T) {
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

func TestReviewUnseenPodIsReadAlsoAfterARefusedDeletion(t *testing.T) {
	// refused deletions are tried again after a minute
	for _, timeout := range []time.Duration{30 * time.Second, 5 * time.Minute} {
		t.Run(timeout.String(), func(t *testing.T) {
			s := newSet(t, func(c *daemon.Config) { c.Burst, c.ExpectationTimeout = 1, timeout }).nodes("a")
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

// The order and the history of observations must not matter. A new planner that
// observes the present state counts and plans the same.
func TestReviewAnOldPlannerKnowsWhatANewOneObserves(t *testing.T) {
	modes := map[string]func(*daemon.Rollout){
		"rolling": func(*daemon.Rollout) {},
		"surging": surge(2),
		"strict":  func(r *daemon.Rollout) { r.Strict = true },
	}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			was := newSet(
				t,
			).nodes("a", "b", "c", "d").
				running("a", "b", "c", "d").
				rollout(mode).
				template("new")
			was.Status() // evaluates the changes so far
			nodes, tainted := []string{"d", "c", "b", "a"}, ""
			for _, change := range []func(){
				func() { was.change("b-1", unready) },
				func() { was.tainted("d"); tainted = "d" },
				func() { was.pod("c-2", "c", "new", available) },
				func() { was.gone("c-1") },
				func() { was.rollout(func(r *daemon.Rollout) { *r = daemon.Rollout{OnDelete: true} }) },
				func() { was.rollout(surge(1)) },
				func() { was.ForgetNode(was.now, "c"); nodes = []string{"d", "b", "a"} },
				func() { was.pod("c-3", "c", "new", unscheduled) },
				func() { was.pod("b-2", "b", "new", available, created(start.Add(-time.Hour))) },
				func() { was.template("newer") },
				func() {
					was.rollout(func(r *daemon.Rollout) {
						*r = daemon.Rollout{MaxUnavailable: intstr.FromInt32(1)}
					})
				},
				func() { was.rollout(mode) },
				func() { was.change("a-1", terminating) },
				func() { was.nodes("d"); tainted = "" },
			} {
				change()
				is := newSet(t).nodes(nodes...)
				if tainted != "" {
					is.tainted(tainted)
				}
				is.spec = was.spec
				require.NoError(t, is.SetSpec(is.now, is.spec))
				for _, pod := range was.pods {
					is.ObservePod(is.now, pod)
				}
				require.Equal(t, is.Status(), was.Status())
				require.Equal(t, slices.Collect(is.Waits()), slices.Collect(was.Waits()))
			}
		})
	}
}
