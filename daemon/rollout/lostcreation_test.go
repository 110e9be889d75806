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

// lose has the answer to the only creation that is planned be lost.
func (s *set) lose(node string) rollout.Creation {
	s.Helper()
	plan := s.Plan(s.now)
	require.Len(s, plan.Create, 1)
	require.Equal(s, node, plan.Create[0].Node)
	s.Report(s.now, ended{Create: &plan.Create[0], Err: errLost})
	return plan.Create[0]
}

// readCreation wants nothing but the read of a creation, and says how it ends.
func (s *set) readCreation(node string, e ended) *set {
	s.Helper()
	plan := s.Plan(s.now)
	require.Equal(s, "read the creation on "+node, listed(plan))
	e.Refresh = &plan.Refresh[0]
	s.Report(s.now, e)
	return s
}

// late returns the pod of a creation.
func late(c rollout.Creation) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "late", UID: "late", ResourceVersion: "10",
			Labels: map[string]string{"controller-revision-hash": c.Revision},
		},
		Spec: corev1.PodSpec{NodeName: c.Node},
	}
}

// The answer to a creation was lost, and the template changes. If the new
// revision's pod came now and the old creation later, two would run.
func TestLostCreationHoldsTheNextRevision(t *testing.T) {
	for name, c := range map[string]struct {
		read func(lost rollout.Creation) ended
		then []string
	}{
		"there is none": {
			func(rollout.Creation) ended { return ended{Gone: true} },
			[]string{"create on a: Missing"},
		},
		"it is there": {
			func(lost rollout.Creation) ended { return ended{Pod: late(lost)} },
			[]string{"delete late: OutdatedUnavailable", "create on a: Missing"},
		},
		"it is another owner's": {
			func(lost rollout.Creation) ended { return ended{Pod: late(lost), Released: true} },
			[]string{"create on a: Missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a")
			lost := s.lose("a")
			s.template("new").want("").wantWait("a", rollout.WaitCreationUnclear)
			s.after(30*time.Second - 1).want("").after(1)
			s.readCreation("a", c.read(lost))
			for _, step := range c.then {
				s.want(step)
			}
			require.Equal(t, "new", s.spec.Revision)
		})
	}
}

func TestLostCreationHoldsUntilAReadSucceeds(t *testing.T) {
	s := newSet(t).nodes("a")
	s.lose("a")
	s.template("new").after(30 * time.Second)
	for range 20 { // far longer than a watch may be late
		s.readCreation("a", ended{Err: errLost})
		s.want("").wantWait("a", rollout.WaitCreationUnclear)
		s.after(30*time.Second - 1).want("").after(1)
	}
	s.readCreation("a", ended{Gone: true}).want("create on a: Missing")
}

func TestLostCreationThatTheWatchShowsIsNotRead(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new").want("")
	s.ObservePod(s.now, late(lost))
	s.want("delete late: OutdatedUnavailable").want("create on a: Missing")
	s.after(time.Hour)
	require.NotContains(t, listed(s.Plan(s.now)), "read")
}

// The template changes and changes back. The name is the same, so the retry
// makes no second pod.
func TestLostCreationIsRetriedWhenItsRevisionReturns(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new").want("")
	s.template("old").after(time.Second)
	plan := s.Plan(s.now)
	require.Equal(t, []rollout.Creation{lost}, plan.Create)
	require.Empty(t, plan.Refresh)
}

// The first call may arrive after the pod of its retry has gone. It makes no
// second pod if the next one has the same name.
func TestLostCreationKeepsItsNameUntilItCannotArrive(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	retry := s.after(time.Second).Plan(s.now).Create[0]
	require.Equal(t, lost, retry)
	s.Report(s.now, ended{Create: &retry, Pod: late(retry)})
	s.ForgetPod(s.now, late(retry))
	require.Equal(t, []rollout.Creation{lost}, s.Plan(s.now).Create)
}

func TestLostCreationHoldsTheNextRevisionAlsoOnceItsRetryIsAnswered(t *testing.T) {
	for what, answer := range map[string]ended{
		"done":                {Pod: late(rollout.Creation{Node: "a", Revision: "old"})},
		"the name is taken":   {Taken: true},
		"certainly not done":  {Err: errRefused, Refused: true},
		"not answered either": {Err: errLost},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSet(t).nodes("a")
			s.lose("a")
			retry := s.after(time.Second).Plan(s.now).Create[0]
			s.template("new").want("")
			answer.Create = &retry
			s.Report(s.now, answer)
			if answer.Pod != nil {
				s.want("delete late: OutdatedUnavailable")
			}
			s.want("").wantWait("a", rollout.WaitCreationUnclear)
			s.after(30*time.Second).readCreation("a", ended{Gone: true}).want("create on a: Missing")
		})
	}
}

// A retry after the wait says what a read would say.
func TestLostCreationIsClearOnceALateRetryIsAnswered(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	retry := s.after(time.Minute).Plan(s.now).Create[0]
	require.Equal(t, lost, retry)
	s.template("new").want("")
	s.Report(s.now, ended{Create: &retry, Pod: late(retry)})
	s.want("delete late: OutdatedUnavailable").want("create on a: Missing")
}

// A node that is gone may return, and its lost creation may still land.
func TestLostCreationHoldsANodeThatReturns(t *testing.T) {
	s := newSet(t).nodes("a")
	s.lose("a")
	s.ForgetNode(s.now, "a")
	s.template("new").want("")
	s.nodes("a").want("").wantWait("a", rollout.WaitCreationUnclear)
	s.after(30*time.Second).readCreation("a", ended{Gone: true}).want("create on a: Missing")
}

// A pod of a former revision that may exist counts against maxSurge.
func TestLostCreationOfAFormerRevisionHasItsPlaceInTheSurge(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.lose("a")
	s.template("newer").want("").wantWait("a", rollout.WaitCreationUnclear)
	s.wantWait("b", rollout.WaitLimited)
	s.after(30*time.Second).readCreation("a", ended{Gone: true}).want("create on a: Surging")
}

// The watch shows the pod and its end while it is read.
func TestLostCreationThatWentWhileItWasReadIsNotThere(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	read := s.template("new").after(30 * time.Second).Plan(s.now).Refresh[0]
	s.ObservePod(s.now, late(lost))
	s.ForgetPod(s.now, late(lost))
	s.want("").wantWait("a", rollout.WaitCreationUnclear)
	s.Report(s.now, ended{Refresh: &read, Pod: late(lost)})
	s.want("create on a: Missing")
}

// A read carries the creation as a value: two planners that were told the same
// hand out equal tasks, and a second result changes nothing.
func TestReadOfALostCreationIsAValue(t *testing.T) {
	read := func() (*set, rollout.Task) {
		s := newSet(t).nodes("a")
		s.lose("a")
		s.template("new").want("")
		s.after(30 * time.Second)
		task, ok := s.Start(s.now)
		require.True(t, ok)
		return s, task
	}
	s, task := read()
	_, other := read()
	require.Len(t, map[rollout.Refresh]bool{*task.Refresh: true, *other.Refresh: true}, 1)
	s.Finish(s.now, task, rollout.Result{Outcome: rollout.OutcomeGone})
	s.Finish(s.now, task, rollout.Result{})
	s.want("create on a: Missing")
}

// Reads that fail cost a bounded number of calls for the set, not for the node.
func TestReadsOfLostCreationsAreNotTriedInThousands(t *testing.T) {
	const nodes, minutes = 500, 20
	s := newSet(t, func(c *rollout.Config) { c.Burst = 20 })
	for i := range nodes {
		s.nodes(fmt.Sprintf("n%03d", i))
	}
	for unclear(s) < nodes { // each answer is lost
		plan := s.Plan(s.now)
		for i := range plan.Create {
			s.Report(s.now, ended{Create: &plan.Create[i], Err: errLost})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	s.template("new").after(time.Minute)
	reads := 0
	for end := s.now.Add(minutes * time.Minute); s.now.Before(end); {
		plan := s.Plan(s.now)
		require.Empty(t, plan.Create)
		for i := range plan.Refresh {
			reads++
			s.Report(s.now, ended{Refresh: &plan.Refresh[i], Err: errLost})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	require.Less(t, reads, 20+31*minutes)
	require.Greater(t, reads, 20*minutes)
	for unclear(s) > 0 { // and once they succeed, all goes on at full speed
		plan := s.Plan(s.now)
		for i := range plan.Refresh {
			s.Report(s.now, ended{Refresh: &plan.Refresh[i], Gone: true})
		}
		for i := range plan.Create {
			step := &plan.Create[i]
			pod := late(*step)
			pod.Name, pod.UID = step.Node, types.UID(step.Node)
			s.ObservePod(s.now, pod)
			s.Report(s.now, ended{Create: step, Pod: pod})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	require.Less(t, s.now.Sub(start), time.Hour)
}

// unclear returns how many nodes have a creation that is not clear.
func unclear(s *set) int {
	count := 0
	for _, phase := range s.CreationPhases() {
		if phase == "unclear" || phase == "reading" {
			count++
		}
	}
	return count
}

// loseSurging has a creation whose answer is lost, on the first node, with maxSurge
// 1.
func (s *set) loseSurging() *set {
	plan := s.rollout(surge(1)).template("new").Plan(s.now)
	require.Equal(s, "create on a: Surging", listed(plan))
	s.Report(s.now, ended{Create: &plan.Create[0], Err: context.DeadlineExceeded})
	return s
}

func TestLostCreationIsNotTriedAgainWhereNoneShouldBe(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a").pod("b-1", "b", "new").loseSurging()
	s.tainted("a").
		after(time.Minute).
		want("read the creation on a").
		want("")
		// a-1 stays as long as it is the only one that is available
	s.change("b-1", available).want("delete a-1: Misscheduled")
}

func TestLostCreationThatIsNotRetriedDelaysNothingForever(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) {
		c.Eligible = func(node *corev1.Node) bool { return node.Labels["rank"] == "" }
	}).nodes("a", "b").running("a", "b").loseSurging()
	s.ranked("a", "not selected").after(29 * time.Second).want("").after(time.Second)
	s.readCreation("a", ended{Gone: true}).want("create on b: Surging")
}

// The pod that may have been created counts as a second one, also on a node that
// should have none any more.
func TestLostCreationKeepsItsPlaceWhereNoneShouldBeAnyMore(t *testing.T) {
	s := newSet(t).nodes("a", "b", "d").running("a", "b").pod("d-1", "d", "new").loseSurging()
	s.tainted("a").after(29 * time.Second).want("") // a-1 must stay as long as d-1 is not available
	s.wantWait("b", rollout.WaitLimited).after(time.Second)
	s.readCreation("a", ended{Gone: true}).want("create on b: Surging")
}

// It was made all the same, was seen, and has gone since.
func TestLostCreationIsClearOnceThePodWasSeen(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").loseSurging()
	s.pod("a-2", "a", "new").after(time.Minute).want("")
	s.gone("a-2").pod("b-2", "b", "new") // has the only place
	s.want("")
}

func TestLostCreationHoldsItsPlaceInTheSurge(t *testing.T) {
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

func TestLostCreationIsTriedUnderTheSameName(t *testing.T) {
	s := newSet(t).nodes("a")
	first := s.Plan(s.now).Create[0]
	s.Report(s.now, ended{Create: &first, Err: errRefused})
	s.after(time.Minute)
	second := s.Plan(s.now).Create[0]
	require.Equal(t, first.Attempt, second.Attempt)
	s.Report(s.now, ended{Create: &second, Taken: true})
	s.wantWait("a", rollout.WaitCreationRefused).after(time.Second)
	require.Equal(t, first.Attempt+1, s.Plan(s.now).Create[0].Attempt)
}
