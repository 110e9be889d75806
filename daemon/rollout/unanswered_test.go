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
	"k8s.io/apimachinery/pkg/util/intstr"

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

// sendsAgain wants a creation to be sent again, as it was, after a back-off. It
// returns the answer.
func (s *set) sendsAgain(lost rollout.Creation, answer ended) *set {
	s.Helper()
	plan := s.after(time.Second).Plan(s.now)
	require.Equal(s, []rollout.Creation{lost}, plan.Create)
	require.Equal(s, lost.Revision, plan.Specs[0].Revision)
	answer.Create = &lost
	s.Report(s.now, answer)
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

// D2: the answer to a creation was lost, and the template changes. If the pod of
// the new revision came now, two might run. So the same creation is sent again,
// under its name, until it is known what became of it.
func TestD2UnansweredCreationHoldsTheNextRevision(t *testing.T) {
	for name, c := range map[string]struct {
		answer ended
		then   []string
	}{
		"it is created, now or before": {
			ended{Pod: late(rollout.Creation{Node: "a", Revision: "old"})},
			[]string{"delete late: OutdatedUnavailable", "create on a: Missing"},
		},
		"another owner has the name": {ended{Taken: true}, []string{"create on a: Missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a")
			lost := s.lose("a")
			s.template("new").sendsAgain(lost, c.answer)
			if c.answer.Taken {
				s.after(time.Minute) // which counts as a refusal
			}
			for _, step := range c.then {
				s.want(step)
			}
			require.Equal(t, "new", s.spec.Revision)
		})
	}
}

// D2: neither a lost answer nor a refusal says what became of the call before.
// The next one is sent after a back-off that grows to a minute.
func TestD2UnansweredCreationIsSentAgainUntilItIsAnswered(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new")
	for range 5 {
		s.sendsAgain(lost, ended{Err: errLost}).want("").after(time.Minute)
		s.sendsAgain(lost, ended{Err: errRefused, Refused: true}).want("").after(time.Minute)
	}
	s.sendsAgain(lost, ended{Pod: late(lost)})
	s.want("delete late: OutdatedUnavailable").want("create on a: Missing")
}

// D2: a former template that is refused for ever holds its node for as long as a
// watch may be late, and no longer.
func TestD2UnansweredCreationThatIsRefusedDelaysNothingForever(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new")
	for s.now.Before(start.Add(5*time.Minute - time.Second)) {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			require.Equal(t, lost, plan.Create[i])
			s.Report(s.now, ended{Create: &plan.Create[i], Err: errRefused, Refused: true})
		}
		s.after(time.Second)
	}
	plan := s.after(2 * time.Minute).Plan(s.now)
	require.Equal(t, "new", plan.Create[0].Revision)
}

func TestD2UnansweredCreationThatTheWatchShowsIsNotSentAgain(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new").ObservePod(s.now, late(lost))
	s.want("delete late: OutdatedUnavailable").after(time.Second)
	plan := s.Plan(s.now)
	require.Equal(t, "new", plan.Create[0].Revision)
}

// The watch shows the pod before it is known that the answer is lost.
func TestD2CreationThatWasShownBeforeItsAnswerWasLostIsOver(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.Plan(s.now).Create[0]
	s.ObservePod(s.now, late(lost))
	s.Report(s.now, ended{Create: &lost, Err: errLost})
	s.template("new").want("delete late: OutdatedUnavailable")
	require.Equal(t, "new", s.after(time.Second).Plan(s.now).Create[0].Revision)
}

// The watch shows the pod and its end while the creation is sent again.
func TestD2UnansweredCreationThatWentWhileItWasSentAgainIsNotThere(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	again := s.template("new").after(time.Second).Plan(s.now).Create[0]
	s.ObservePod(s.now, late(lost))
	s.ForgetPod(s.now, late(lost))
	s.want("").wantWait("a", rollout.WaitUnderWay)
	s.Report(s.now, ended{Create: &again, Pod: late(lost)})
	require.Equal(t, "new", s.Plan(s.now).Create[0].Revision)
}

// The template changes and changes back.
func TestD2UnansweredCreationIsSentAgainWhenItsRevisionReturns(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.template("new")
	s.template("old").sendsAgain(lost, ended{Pod: late(lost)}).want("")
	require.Equal(t, 1, s.Status().Updated)
}

// A node that is gone may return, and its creation may still land.
func TestD2UnansweredCreationHoldsANodeThatReturns(t *testing.T) {
	s := newSet(t).nodes("a")
	lost := s.lose("a")
	s.ForgetNode(s.now, "a")
	s.template("new").after(time.Minute).want("")
	s.nodes("a").sendsAgain(lost, ended{Pod: late(lost)})
	s.want("delete late: OutdatedUnavailable").want("create on a: Missing")
}

// D5: calls without an answer cost a bounded number of calls for the set, not
// for the node, and no reads. Once they are answered all goes on at full speed.
func TestD5UnansweredCreationsAreNotSentInThousands(t *testing.T) {
	const nodes, minutes = 500, 20
	s := newSet(t, func(c *rollout.Config) { c.Burst = 20 })
	for i := range nodes {
		s.nodes(fmt.Sprintf("n%03d", i))
	}
	sent := 0
	for end := s.now.Add(minutes * time.Minute); s.now.Before(end); {
		plan := s.Plan(s.now)
		require.Empty(t, plan.Refresh)
		for i := range plan.Create {
			sent++
			s.Report(s.now, ended{Create: &plan.Create[i], Err: errLost})
		}
		if plan.Empty() {
			s.now = plan.Next
		}
	}
	require.Less(t, sent, 20+31*minutes)
	require.Greater(t, sent, 20*minutes)
	answered := s.now
	for made := 0; made < nodes; {
		plan := s.Plan(s.now)
		require.Empty(t, plan.Refresh)
		for i := range plan.Create {
			made++
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
	require.Less(t, s.now.Sub(answered), 2*time.Minute)
}

// loseSurging has a creation whose answer is lost, on the first node, with maxSurge
// 1.
func (s *set) loseSurging() *set {
	plan := s.rollout(surge(1)).template("new").Plan(s.now)
	require.Equal(s, "create on a: Surging", listed(plan))
	s.Report(s.now, ended{Create: &plan.Create[0], Err: context.DeadlineExceeded})
	return s
}

func TestD3UnansweredCreationHoldsItsPlaceInTheSurge(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").loseSurging() // the API server has done it
	s.after(249 * time.Millisecond).want("")
	s.after(time.Millisecond).want("create on a: Surging")
}

// D3: a pod of a former revision that may exist counts against maxSurge.
func TestD3UnansweredCreationOfAFormerRevisionHasItsPlaceInTheSurge(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	lost := s.lose("a")
	s.template("newer").wantWait("b", rollout.WaitLimited)
	s.sendsAgain(lost, ended{Taken: true}).after(time.Minute).want("create on b: Surging")
}

// D3: a surge that has begun is finished, also on a node that is no longer
// eligible, or in a pause. Its place is for others then.
func TestD3UnansweredCreationDelaysNothingForever(t *testing.T) {
	for what, stop := range map[string]func(s *set){
		"not eligible": func(s *set) { s.ranked("a", "not selected") },
		"paused":       func(s *set) { s.rollout(func(r *rollout.Strategy) { r.Paused = true }) },
	} {
		t.Run(what, func(t *testing.T) {
			s := newSet(t, func(c *rollout.Config) {
				c.Spec.Policy = &choices{eligible: func(node *corev1.Node) bool { return node.Labels["rank"] == "" }}
			}).nodes("a", "b").running("a", "b").loseSurging()
			stop(s)
			s.want("").after(time.Second).want("create on a: Surging")
		})
	}
}

// D3: the pod that may have been created counts as a second one, also on a node
// that should have none any more. Nothing is sent there.
func TestD3UnansweredCreationKeepsItsPlaceWhereNoneShouldBeAnyMore(t *testing.T) {
	s := newSet(t).nodes("a", "b", "d").running("a", "b").pod("d-1", "d", "new").loseSurging()
	s.tainted("a").after(5*time.Minute - time.Second).want("") // a-1 must stay as long as d-1 is not available
	s.wantWait("b", rollout.WaitLimited).after(time.Second)
	s.want("create on b: Surging")
}

func TestD3UnansweredCreationIsNotSentAgainWhereNoneShouldBe(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a").pod("b-1", "b", "new").loseSurging()
	s.tainted("a").after(time.Minute).want("")
	// a-1 stays as long as it is the only one that is available
	s.change("b-1", available).want("delete a-1: Misscheduled")
}

// It was made all the same, was seen, and has gone since.
func TestD3UnansweredCreationIsOverOnceThePodWasSeen(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").loseSurging()
	s.pod("a-2", "a", "new").after(time.Minute).want("")
	s.gone("a-2").pod("b-2", "b", "new") // has the only place
	s.want("")
}

func TestD2RefusedCreationKeepsItsName(t *testing.T) {
	s := newSet(t).nodes("a")
	first := s.Plan(s.now).Create[0]
	s.Report(s.now, ended{Create: &first, Err: errRefused})
	s.after(time.Minute)
	second := s.Plan(s.now).Create[0]
	require.Equal(t, first.Attempt, second.Attempt)
	s.Report(s.now, ended{Create: &second, Taken: true})
	s.wantWait("a", rollout.WaitRefused).after(time.Second)
	require.Equal(t, first.Attempt+1, s.Plan(s.now).Create[0].Attempt)
}

// D2: a new planner counts attempts from zero. It skips the names of pods that it
// knows, which may take their time to go.
func TestD2NewPlannerSkipsNamesThatAreTaken(t *testing.T) {
	spec, owner := *specWith(everything()), agents()
	made := func(attempt int) *corev1.Pod {
		pod := newPod(t, &spec, rollout.Creation{Node: "a", Revision: spec.Revision, Attempt: attempt})
		pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprint(attempt)), "a"
		return pod
	}
	spec.Template.Spec.Affinity, spec.Template.Spec.NodeSelector = nil, nil
	spec.Strategy = rollout.Strategy{MaxSurge: intstr.FromInt32(1)} // the next one comes while they go
	for name, uid := range map[string]types.UID{"known": owner.Object.GetUID(), "not known": ""} {
		t.Run(name, func(t *testing.T) {
			planner, err := rollout.NewPlanner(rollout.Config{Owner: uid, Spec: spec}, start)
			require.NoError(t, err)
			planner.ObserveNode(start, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			for attempt := range 2 {
				pod := made(attempt)
				terminating(pod)
				planner.ObservePod(start, pod)
			}
			task, ok := planner.Start(start)
			require.True(t, ok)
			if uid == "" {
				require.Zero(t, task.Create.Attempt)
				return
			}
			require.Equal(t, 2, task.Create.Attempt)
			planner.Finish(start, task, rollout.Result{})
			task, ok = planner.Start(start.Add(time.Minute))
			require.True(t, ok)
			require.Equal(t, 2, task.Create.Attempt, "the same one is sent again")
		})
	}
}

// loseDeletion has the answer to the only deletion that is planned be lost.
func (s *set) loseDeletion(want string) *set {
	s.Helper()
	plan := s.Plan(s.now)
	require.Equal(s, want, listed(plan))
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errLost})
	return s.want("")
}

// D2: an API server that restarts in the middle of a rollout delays it by the
// back-off. A deletion has the UID of its pod, so that to send it again is
// harmless.
func TestD2UnansweredDeletionIsSentAgain(t *testing.T) {
	for what, begin := range map[string]func(s *set) (*set, string){
		"of the rollout": func(s *set) (*set, string) {
			return s.nodes("a").running("a").template("new"), "delete a-1: Outdated"
		},
		"of the rollout, unavailable": func(s *set) (*set, string) {
			return s.nodes("a").pod("a-1", "a", "old", unready).template("new"), "delete a-1: OutdatedUnavailable"
		},
		"misscheduled": func(s *set) (*set, string) {
			return s.unfit("a").running("a"), "delete a-1: Misscheduled"
		},
		"of a failed pod": func(s *set) (*set, string) {
			return s.nodes("a").pod("a-1", "a", "old", phase(corev1.PodFailed)), "delete a-1: PodFailed"
		},
		"of a duplicate": func(s *set) (*set, string) {
			return s.nodes("a").running("a").pod("a-2", "a", "old", unready), "delete a-2: Duplicate"
		},
		"replaced in a surge": func(s *set) (*set, string) {
			return s.nodes("a").running("a").rollout(surge(1)).template("new").pod("a-2", "a", "new", available),
				"delete a-1: Replaced"
		},
		"of a node that is gone": func(s *set) (*set, string) {
			return s.pod("a-1", "a", "old", unscheduled), "delete a-1: NodeGone"
		},
	} {
		t.Run(what, func(t *testing.T) {
			// the only place in the burst is its own
			s, deletion := begin(newSet(t, func(c *rollout.Config) { c.Burst = 1 }))
			s.loseDeletion(deletion)
			for range 3 { // once answered by a refusal, which says nothing of the first one
				plan := s.after(2 * time.Second).Plan(s.now)
				require.Equal(t, deletion, listed(plan))
				s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errRefused, Refused: true})
				s.want("")
			}
		})
	}
}

// D3: the limits hold for a deletion that is sent again. If the first was not
// done, the pod may be the last that is available.
func TestD3UnansweredDeletionIsSentAgainWithinTheLimits(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	s.loseDeletion("delete a-1: Outdated")
	s.change("b-1", func(pod *corev1.Pod) { terminating(pod) }) // by another client
	s.after(time.Second).want("")
	s.gone("b-1").want("create on b: Missing")
	s.want("").change("b-new-2", available).want("delete a-1: Outdated")
}

// D3: a deletion that would no longer be made is not sent again. What became of
// it is read when the watch has not shown it in time.
func TestD3UnansweredDeletionIsNotSentAgainIfItIsNotWantedAnyMore(t *testing.T) {
	for what, change := range map[string]func(s *set){
		"rolled back":  func(s *set) { s.template("old") },
		"paused":       func(s *set) { s.rollout(func(r *rollout.Strategy) { r.Paused = true }) },
		"on delete":    func(s *set) { s.rollout(func(r *rollout.Strategy) { r.OnDelete = true }) },
		"halted":       func(s *set) { s.Halt(s.now) },
		"with a surge": func(s *set) { s.rollout(surge(1)) },
	} {
		t.Run(what, func(t *testing.T) {
			s := newSet(t).nodes("a", "b").running("a", "b").template("new")
			s.loseDeletion("delete a-1: Outdated")
			change(s)
			s.after(29 * time.Second)
			require.Empty(t, s.Plan(s.now).Delete)
			plan := s.after(time.Second).Plan(s.now)
			require.Equal(t, "a-1", plan.Refresh[0].Pod)
			s.Report(s.now, ended{Refresh: &plan.Refresh[0], Pod: s.pods["a-1"]})
			require.Empty(t, s.Plan(s.now).Delete)
		})
	}
}

// A read that is under way when the deletion is sent again is of before.
func TestD2ReadDuringADeletionThatIsSentAgainDoesNotUndoIt(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	s.Halt(s.now)
	s.Resume(s.now)
	s.loseDeletion("delete a-1: Outdated")
	s.Halt(s.now)
	read := s.after(30 * time.Second).Plan(s.now)
	require.Equal(t, "refresh a-1", listed(read))
	s.Resume(s.now)
	again := s.Plan(s.now)
	require.Equal(t, "delete a-1: Outdated", listed(again))
	s.Report(s.now, ended{Delete: &again.Delete[0], Err: errLost})
	s.Report(s.now, ended{Refresh: &read.Refresh[0], Pod: s.pods["a-1"]})
	s.want("").after(time.Second).want("delete a-1: Outdated") // and not b-1
}
