package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// ranked observes a node whose place in the order of byRank is the rank.
func (s *set) ranked(name, rank string) *set {
	s.ObserveNode(
		s.now,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rank": rank}}},
	)
	return s
}

func byRank(c *rollout.Config) {
	c.Spec.Policy = &choices{less: func(a, b *corev1.Node) bool { return a.Labels["rank"] < b.Labels["rank"] }}
}

func TestNodesComeInTheOrderOfLessAndOnlyThoseSelected(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) {
		c.Spec.Policy = &choices{
			less:     func(a, b *corev1.Node) bool { return a.Labels["rank"] < b.Labels["rank"] },
			eligible: func(node *corev1.Node) bool { return node.Labels["rank"] != "3" },
		}
	})
	for name, rank := range map[string]string{"a": "2", "b": "1", "c": "3", "d": "1"} {
		s.ObserveNode(
			s.now,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rank": rank}}},
		)
	}
	s.running("a", "b", "c", "d").template("new")
	s.want("delete b-1: Outdated").want("create on b: Missing").change("b-new-2", available)
	s.want("delete d-1: Outdated").want("create on d: Missing").change("d-new-2", available)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("c", rollout.WaitNotEligible)
}

func TestOrderOfLessHoldsWhenSeveralNodesChange(t *testing.T) {
	s := newSet(t, byRank).ranked("x", "1").ranked("between", "2").ranked("y", "5")
	s.Status()
	s.ranked("y", "4").ranked("x", "7")
	s.want("create on between: Missing")
}

// What was refused is forgiven on all nodes at once, in the order of a map.
func TestOrderOfNodesHoldsAfterANewRevision(t *testing.T) {
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

// D5: the order changes while the planner runs. Attempts and back-offs stay.
func TestD5AnotherOrderKeepsAttemptsAndBackOffs(t *testing.T) {
	s := newSet(t, byRank).ranked("a", "1").ranked("b", "2").ranked("c", "3").ranked("d", "4")
	step := s.Plan(s.now).Create[0]
	require.Equal(t, "a", step.Node)
	s.Report(s.now, ended{Create: &step, Taken: true}) // costs an attempt, and refuses
	until := s.WaitOf("a").Until
	s.choose(&choices{less: func(a, b *corev1.Node) bool { return a.Labels["rank"] > b.Labels["rank"] }})
	s.wantWait("a", rollout.WaitRefused)
	require.Equal(t, until, s.WaitOf("a").Until)
	s.want("").after(250*time.Millisecond).running("b", "c", "d")
	step = s.Plan(s.now).Create[0]
	require.Equal(
		t,
		rollout.Creation{Node: "a", Reason: rollout.StepMissing, Attempt: 1, Revision: "old"},
		step,
	)

	s = newSet(
		t,
		byRank,
	).ranked("a", "1").
		ranked("b", "2").
		ranked("c", "3").
		running("a", "b", "c").
		template("new")
	s.Status() // they are in the queues of the former order
	s.choose(&choices{less: func(a, b *corev1.Node) bool { return a.Labels["rank"] > b.Labels["rank"] }})
	s.want("delete c-1: Outdated").want("create on c: Missing").change("c-new-2", available)
	s.choose(nil) // by name
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("delete b-1: Outdated")
}
