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

func ignoring(c *rollout.Config) { c.Spec.Policy = rollout.IgnoreNotReadyNodes{} }

// machine observes a node with a UID, ready or not.
func (s *set) machine(name, uid string, status corev1.ConditionStatus) *set {
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}},
		},
	})
	return s
}

func (s *set) notReady(names ...string) *set {
	for _, name := range names {
		s.machine(name, name, corev1.ConditionFalse)
	}
	return s
}

// D3: maxUnavailable bounds the available pods that a rollout takes, also on
// nodes whose unavailability is ignored.
func TestD3RolloutTakesNoMoreAvailablePodsOfIgnoredNodesThanItMay(t *testing.T) {
	s := newSet(t, ignoring)
	for i := range 100 {
		name := fmt.Sprintf("n%02d", i)
		s.notReady(name).running(name)
	}
	s.template("new").want("delete n00-1: Outdated")
	s.want("create on n00: Missing").
		change("n00-new-2", unready).
		want("").
		wantWait("n01", rollout.WaitLimited)
	s.change("n00-new-2", available).want("delete n01-1: Outdated")
	s.rollout(func(r *rollout.Strategy) { r.MaxUnavailable = intstr.FromInt32(3) })
	s.want("create on n01: Missing", "delete n02-1: Outdated", "delete n03-1: Outdated")
}

// D3: a node that is down does not block a rollout. It comes after the others,
// and counts only if the rollout has taken its available pod.
func TestD3IgnoredNodesComeLastInARollout(t *testing.T) {
	s := newSet(t, ignoring).notReady("a", "dead")
	s.machine("b", "b", corev1.ConditionTrue).machine("c", "c", corev1.ConditionTrue)
	s.running("a", "b", "c").pod("dead-1", "dead", "old", unready).template("new")
	s.want("delete dead-1: OutdatedUnavailable", "delete b-1: Outdated")
	s.want("create on b: Missing").want("create on dead: Missing").want("")
	s.change("b-new-2", available).want("delete c-1: Outdated")
	s.want("create on c: Missing").change("c-new-2", available)
	s.want("delete a-1: Outdated") // the new pod of the dead node still does not count
}

// D3: a node from which the rollout has taken the available pod counts although
// there was a rollout with maxSurge in between.
func TestD3TakenNodeCountsAfterASurgeInBetween(t *testing.T) {
	s := newSet(t, ignoring).notReady("a", "b").running("a", "b").template("new")
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", unready)
	s.rollout(func(r *rollout.Strategy) { r.MaxSurge = intstr.FromInt32(1) }).template("newer")
	s.want("create on a: Surging").want("delete a-new-2: Replaced")
	s.rollout(func(r *rollout.Strategy) { r.MaxSurge = intstr.FromInt32(0) })
	s.want("").wantWait("b", rollout.WaitLimited)
}

// D3: what the rollout has taken from a node counts until the node has an
// available pod again, or is another.
func TestD3TakenNodeCountsUntilItHasAnAvailablePodOrIsGone(t *testing.T) {
	for name, end := range map[string]func(s *set){
		"pod is available":   func(s *set) { s.change("a-new-2", available).change("a-new-2", unready) },
		"node is gone":       func(s *set) { s.ForgetNode(s.now, "a") },
		"another machine":    func(s *set) { s.machine("a", "second", corev1.ConditionFalse) },
		"no pod belongs":     func(s *set) { s.tainted("a").gone("a-new-2") },
		"deletion is undone": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, ignoring).notReady("a", "b").running("a", "b").template("new")
			if end == nil {
				plan := s.Plan(s.now)
				require.Equal(t, "delete a-1: Outdated", listed(plan))
				s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errRefused, Refused: true})
				s.Status() // a-1 is seen to be available still
				s.after(time.Minute)
				s.change("a-1", unready).want("delete a-1: OutdatedUnavailable") // alone, after a refusal
				s.want("create on a: Missing", "delete b-1: Outdated")
				return
			}
			s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", unready)
			s.want("").wantWait("b", rollout.WaitLimited)
			if name == "pod is available" {
				s.change("a-new-2", available)
				s.Status() // it is seen
			}
			end(s)
			s.want("delete b-1: Outdated")
		})
	}
}

// #117204, #139226.
func TestPodOnANotReadyNodeNeedNotEatTheBudget(t *testing.T) {
	for _, excuse := range []bool{false, true} {
		s := newSet(t, func(c *rollout.Config) {
			if excuse {
				c.Spec.Policy = rollout.IgnoreNotReadyNodes{}
			}
		})
		for _, name := range []string{"a", "b", "dead"} {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if name != "dead" {
				node.Status.Conditions = []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
				}
			}
			s.ObserveNode(s.now, node)
		}
		s.running("a", "b").
			pod("dead-1", "dead", "old", unready).
			template("new").
			pod("dead-2", "dead", "new", unready).
			gone("dead-1")
		if excuse {
			s.want("delete a-1: Outdated")
		} else {
			s.want("").wantWait("a", rollout.WaitLimited)
		}
	}
}
