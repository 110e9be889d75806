package rollout_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

var errRefused = errors.New("exceeded quota")

// outcome is how often something was refused, and when the others got their
// turn.
type outcome struct {
	refused     int
	first, last time.Duration
	done        int
}

// carryOut has the calls for some nodes refused and does the others, for a
// time.
func (s *set) carryOut(bad func(node string) bool, most time.Duration) outcome {
	var o outcome
	began := s.now
	turn := func(node string, ok, refused func()) {
		if bad(node) {
			o.refused++
			refused()
			return
		}
		if o.done++; o.done == 1 {
			o.first = s.now.Sub(began)
		}
		o.last = s.now.Sub(began)
		ok()
	}
	for s.now.Sub(began) < most {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			turn(step.Node, func() {
				name := fmt.Sprintf("%s-%s-%d", step.Node, step.Revision, step.Attempt)
				s.pod(name, step.Node, step.Revision, available)
				s.Report(s.now, ended{Create: step, Pod: s.pods[name]})
			}, func() { s.Report(s.now, ended{Create: step, Err: errRefused, Refused: true}) })
		}
		for i := range plan.Delete {
			step := &plan.Delete[i]
			turn(step.Node, func() {
				s.Report(s.now, ended{Delete: step, Gone: true})
				delete(s.pods, step.Pod)
			}, func() { s.Report(s.now, ended{Delete: step, Err: errRefused, Refused: true}) })
		}
		if plan.Empty() {
			if plan.Next.IsZero() {
				return o
			}
			require.True(s, plan.Next.After(s.now))
			s.now = plan.Next
		}
	}
	return o
}

func everyNode(string) bool { return true }

func ofThousand(bad func(i int) bool) func(node string) bool {
	return func(node string) bool {
		var i int
		_, err := fmt.Sscanf(node, "n%d", &i)
		return err == nil && bad(i)
	}
}

// D5: nodes for which calls are refused delay the first of the others by two
// seconds at most. Each of them delays all others by less than a quarter of a
// second, wherever it is by name.
func TestD5RefusedNodesDelayOthersByTwoSeconds(t *testing.T) {
	where := map[string]func(i int) bool{
		"first by name":  func(i int) bool { return i < 100 },
		"last by name":   func(i int) bool { return i >= 900 },
		"every tenth":    func(i int) bool { return i%10 == 0 },
		"the first half": func(i int) bool { return i < 500 },
	}
	what := map[string]func(s *set, node string){
		"creations": func(s *set, node string) { s.nodes(node) },
		"deletions": func(s *set, node string) { s.unfit(node).running(node) },
	}
	for at, bad := range where {
		for kind, prepare := range what {
			t.Run(kind+", "+at, func(t *testing.T) {
				s := newSet(t)
				others := 0
				for i := range 1000 {
					prepare(s, fmt.Sprintf("n%03d", i))
					if !bad(i) {
						others++
					}
				}
				o := s.carryOut(ofThousand(bad), 10*time.Minute)
				require.LessOrEqual(t, o.first, 2*time.Second)
				require.Equal(t, others, o.done)
				require.LessOrEqual(t, o.last, 250*time.Millisecond*time.Duration(1000-others))
			})
		}
	}
}

// D5: so is a rollout, which keeps to the order of Less.
func TestD5RefusedNodesDelayARolloutByTwoSeconds(t *testing.T) {
	for name, mode := range map[string]func(*rollout.Strategy){"deletions": func(*rollout.Strategy) {},
		"creations": surge(1)} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, byRank)
			for i := range 400 {
				node := fmt.Sprintf("n%03d", i)
				s.ranked(node, fmt.Sprint(i/200)).running(node)
			}
			s.rollout(mode).template("new")
			o := s.carryOut(func(node string) bool {
				require.Less(t, node, "n200", "a node of a later rank, before all of the first were tried")
				return node < "n100"
			}, 3*time.Second)
			require.LessOrEqual(t, o.first, 2*time.Second)
			require.Positive(t, o.done)
		})
	}
}

// D5: what is refused for all nodes costs 30 calls a minute, however many nodes
// there are, after a first flight that the burst bounds.
func TestD5RefusalsCostABoundedNumberOfCallsForTheSet(t *testing.T) {
	for name, prepare := range map[string]func(s *set, node string){
		"creations": func(s *set, node string) { s.nodes(node) },
		"deletions": func(s *set, node string) { s.unfit(node).running(node) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t)
			for i := range 5000 {
				prepare(s, fmt.Sprintf("n%04d", i))
			}
			require.LessOrEqual(t, s.carryOut(everyNode, time.Minute).refused, 250+40)
			for range 10 {
				require.LessOrEqual(t, s.carryOut(everyNode, time.Minute).refused, 31)
			}
			o := s.carryOut(func(string) bool { return false }, 2*time.Minute)
			require.Equal(t, 5000, o.done)
			require.LessOrEqual(t, o.first, 2*time.Second)
		})
	}
}

// D5: a name that another owner has taken is a refusal like others; it costs an
// attempt, too.
func TestD5NamesThatOthersHaveTakenAreRetriedWithBackoff(t *testing.T) {
	s := newSet(t)
	for i := range 100 {
		s.nodes(fmt.Sprintf("n%02d", i))
	}
	attempts, calls := map[string]int{}, 0
	for s.now.Before(start.Add(time.Minute)) {
		plan := s.Plan(s.now)
		for i := range plan.Create {
			step := &plan.Create[i]
			require.Equal(t, attempts[step.Node], step.Attempt)
			attempts[step.Node]++
			calls++
			s.Report(s.now, ended{Create: step, Taken: true})
		}
		if plan.Empty() {
			require.True(t, plan.Next.After(s.now))
			s.now = plan.Next
		}
		require.Less(t, calls, 50)
	}
}

// D2: if a terminating pod of the set has the name, that is no refusal. The
// next pod is made when that one is gone.
func TestD2NameOfATerminatingPodIsNoRefusal(t *testing.T) {
	s := newSet(t).nodes("a")
	step := s.Plan(s.now).Create[0]
	going := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "x", DeletionTimestamp: &metav1.Time{Time: start}},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}
	s.Report(s.now, ended{Create: &step, Taken: true, Pod: going})
	s.want("").wantWait("a", rollout.WaitTerminating)
	s.ForgetPod(s.now, going)
	s.want("create on a: Missing")
}

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

// The right to delete pods is missing.
func TestRefusedDeletionsAreNotTriedInThousands(t *testing.T) {
	s := newSet(t)
	for i := range 500 {
		name := fmt.Sprintf("n%03d", i)
		s.nodes(name).running(name)
	}
	s.template("new")
	calls := 0
	for s.now.Before(start.Add(10 * time.Minute)) {
		plan := s.Plan(s.now)
		for i := range plan.Refresh {
			s.Report(s.now, ended{Refresh: &plan.Refresh[i], Pod: s.pods[plan.Refresh[i].Pod]})
		}
		for i := range plan.Delete {
			calls++
			s.Report(s.now, ended{Delete: &plan.Delete[i], Err: errRefused})
		}
		if plan.Empty() {
			require.True(t, plan.Next.After(s.now))
			s.now = plan.Next
		}
	}
	require.Less(t, calls, 310) // with maxUnavailable 1; kube-controller-manager: 17
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
	s.wantWait("a", rollout.WaitRefused)
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

func TestNodeThatAlwaysRefusesDoesNotHoldUpANewOne(t *testing.T) {
	bad := func(node string) bool { return node == "bad" }
	s := newSet(t).nodes("bad").refuse(bad, "", time.Hour)
	step := s.Plan(s.now).Create[0]
	s.Report(s.now, ended{Create: &step, Err: errRefused, Refused: true})
	joined := s.after(time.Second).nodes("good").now
	s.refuse(bad, "good", time.Hour)
	require.Less(t, s.now.Sub(joined), 5*time.Second)
}

// The other side of unknown outcomes: one pod that may never be deleted stops
// no other.
func TestDeletionThatIsAlwaysRefusedHoldsUpNoOtherNode(t *testing.T) {
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

// A wait that ends by itself says when.
func TestHoldAfterARefusedDeletionHasAnEnd(t *testing.T) {
	s := newSet(
		t,
		func(c *rollout.Config) { c.Burst = 1 },
	).running("a", "b")
	// on nodes where they may not stay
	for _, name := range []string{"a", "b"} {
		s.ObserveNode(
			s.now,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{
				Taints: []corev1.Taint{{Key: "out", Effect: corev1.TaintEffectNoExecute}},
			}},
		)
	}
	plan := s.Plan(s.now)
	require.Len(t, plan.Delete, 1)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errors.New("no"), Refused: true})
	require.Empty(t, s.Plan(s.now).Delete)
	wait := s.WaitOf("b")
	require.Equal(t, rollout.WaitHeld, wait.Reason)
	require.False(t, wait.Until.IsZero())
}

// Limited would be the word for a limit that is used up. This one is not.
func TestNodeThatIsHeldUpByARefusalIsNotLimited(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	plan := s.Plan(s.now)
	require.Len(t, plan.Delete, 1)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errors.New("no"), Refused: true})
	require.Empty(t, s.Plan(s.now).Delete)
	require.Equal(t, rollout.WaitHeld, s.WaitOf("b").Reason)
}
