package rollout_test

import (
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

// #65309, #76370.
func TestFailedPodIsReplacedWithBackoff(t *testing.T) {
	s := newSet(t).nodes("a")
	wait := time.Duration(0)
	for round := range 14 {
		s.pod("x", "a", "old", phase(corev1.PodFailed))
		if wait > 0 {
			s.after(wait-time.Millisecond).want("").wantWait("a", rollout.WaitBackoff)
			require.Equal(t, s.now.Add(time.Millisecond), s.Plan(s.now).Next)
			s.after(time.Millisecond)
		}
		s.want("delete x: PodFailed")
		s.Plan(s.now) // the creation: its pod is the next x
		s.Report(s.now, ended{Create: &rollout.Creation{Node: "a"}, Taken: true})
		wait = min(time.Second<<round, 15*time.Minute)
	}
	require.Equal(t, 15*time.Minute, wait)
	s.pod("x", "a", "old", phase(corev1.PodFailed)).after(31 * time.Minute).want("delete x: PodFailed")
	s.want("create on a: Missing")
	s.gone("a-old-16").pod("x", "a", "old", phase(corev1.PodFailed)).after(time.Second)
	s.want("delete x: PodFailed") // half an hour without: from the beginning
}

func TestSucceededPodIsReplaced(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "old", phase(corev1.PodSucceeded))
	s.want("delete x: PodSucceeded").want("create on a: Missing").want("")
}

// A pod that succeeds at once is replaced like one that fails.
func TestPodsThatEndAtOnceAreReplacedWithBackoff(t *testing.T) {
	s := newSet(t).nodes("a")
	made := 0
	for range 600 { // a minute
		s.now = s.now.Add(100 * time.Millisecond)
		plan := s.Plan(s.now)
		for i := range plan.Create {
			made++
			s.Report(s.now, ended{Create: &plan.Create[i], Taken: true}) // its pod is the one below
			s.pod(fmt.Sprintf("done-%d", made), "a", "old", phase(corev1.PodSucceeded))
		}
		for i := range plan.Delete {
			s.Report(s.now, ended{Delete: &plan.Delete[i], Gone: true})
		}
	}
	require.LessOrEqual(t, made, 60)
}

// D2: of the terminal pods of a node one is replaced at a time, ever later, however
// many tasks run at a time.
func TestD2TerminalPodsGoOneAtATimeForAnyNumberOfWorkers(t *testing.T) {
	for name, workers := range map[string]int{"one worker": 1, "three": 3, "enough": 10} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a", "b").running("b")
			s.terminal("a", corev1.PodSucceeded, "x", "y").terminal("a", corev1.PodFailed, "f")
			require.Equal(t, map[string]rollout.StepReason{"f": rollout.StepPodFailed}, s.deletions(workers))
			for i, next := range []string{"x", "y"} {
				began, wait := s.now, time.Second<<i
				s.wantWait("a", rollout.WaitBackoff)
				require.Equal(t, began.Add(wait), s.WaitOf("a").Until)
				s.after(wait)
				require.Equal(t, map[string]rollout.StepReason{next: rollout.StepPodSucceeded}, s.deletions(workers))
			}
		})
	}
}

// D2: the wait begins when the deletion is sent again that was not answered,
// which may be the one that has done it.
func TestD2WaitBeginsWithTheDeletionThatIsSentAgain(t *testing.T) {
	s := newSet(t).nodes("a").terminal("a", corev1.PodFailed, "f")
	plan := s.Plan(s.now)
	require.Equal(t, "delete f: PodFailed", listed(plan))
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errRefused})
	s.after(900*time.Millisecond).want("delete f: PodFailed").terminal("a", corev1.PodFailed, "g")
	s.wantWait("a", rollout.WaitBackoff)
	require.Equal(t, s.now.Add(time.Second), s.WaitOf("a").Until)

	s = newSet(t).nodes("a").terminal("a", corev1.PodFailed, "f")
	plan = s.Plan(s.now)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errRefused})
	s.template("new").after(900 * time.Millisecond).want("delete f: PodFailed")
	s.terminal("a", corev1.PodFailed, "g").wantWait("a", rollout.WaitBackoff) // after another template
}

// terminal gives a node pods that have terminated.
func (s *set) terminal(node string, as corev1.PodPhase, pods ...string) *set {
	for _, pod := range pods {
		s.pod(pod, node, s.spec.Revision, phase(as))
	}
	return s
}

// deletions performs all deletions that may be started, with so many workers.
// It returns their reasons by the names of the pods. They start a millisecond
// apart, and the clock stays at the start of the last one. A creation finds its
// name taken.
func (s *set) deletions(workers int) map[string]rollout.StepReason {
	reasons := map[string]rollout.StepReason{}
	var last time.Time
	for {
		var started []*rollout.Deletion
		for len(started) < workers {
			task, ok := s.Start(s.now)
			if ok && task.Create != nil {
				s.Report(s.now, ended{Create: task.Create, Taken: true})
				continue
			}
			if !ok {
				break
			}
			started = append(started, task.Delete)
			reasons[task.Delete.Pod], last = task.Delete.Reason, s.now
			s.after(time.Millisecond)
		}
		if len(started) == 0 {
			s.now = last
			return reasons
		}
		for _, deletion := range started {
			s.Report(s.now, ended{Delete: deletion, Gone: true})
		}
	}
}

// D2: the waits after failures begin again with a revision, and with nothing
// else that raises the generation of a set.
func TestD2WaitsAfterFailuresBeginAgainWithARevisionOnly(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "old", phase(corev1.PodFailed)).want("delete x: PodFailed")
	s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", rollout.WaitBackoff)
	s.rollout(func(r *rollout.Strategy) { r.MaxUnavailable = intstr.FromString("50%") }).want("")
	s.spec.MinReady = time.Minute
	require.NoError(t, s.SetSpec(s.now, s.spec))
	s.want("").wantWait("a", rollout.WaitBackoff)
	s.template("new").want("delete y: PodFailed")
}

// D2: a node keeps its wait as long as it is the same one.
func TestD2WaitOfANodeGoesWithItsUID(t *testing.T) {
	for uid, want := range map[string]string{"first": "", "second": "delete y: PodFailed"} {
		s := newSet(t).machine("a", "first", corev1.ConditionTrue)
		s.pod("x", "a", "old", phase(corev1.PodFailed)).want("delete x: PodFailed")
		s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", rollout.WaitBackoff)
		s.ForgetNode(s.now, "a")
		s.want("")
		s.machine("a", uid, corev1.ConditionTrue).want(want)
	}
}

// #65309: the watch may be faster than the report, and is if the pod goes at
// once.
func TestFailureCountsWhenThePodIsGoneBeforeTheReport(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "old", phase(corev1.PodFailed))
	plan := s.Plan(s.now)
	require.Equal(t, "delete x: PodFailed", listed(plan))
	s.gone("x")
	s.Report(s.now, ended{Delete: &plan.Delete[0]})
	s.pod("y", "a", "old", phase(corev1.PodFailed))
	s.want("").wantWait("a", rollout.WaitBackoff)
}

func TestFailedPodsOfANodeAreReplacedOneAtATime(t *testing.T) {
	s := newSet(
		t,
	).nodes("a").
		pod("x", "a", "old", phase(corev1.PodFailed)).
		pod("y", "a", "old", phase(corev1.PodFailed))
	require.Equal(t, "delete x: PodFailed", listed(s.Plan(s.now)))
}

// A policy that rewrites the affinity of all pods, as many do.
func TestPodThatIsForNoNodeIsNotMadeAgainAtOnce(t *testing.T) {
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
