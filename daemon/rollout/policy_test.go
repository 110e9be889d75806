package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// choices are a Policy of functions. Those that are nil are of the default.
type choices struct {
	less     func(a, b *corev1.Node) bool
	eligible func(node *corev1.Node) bool
	ignores  func(node *corev1.Node, pod *corev1.Pod) bool
}

func (c *choices) Less(a, b *corev1.Node) bool { return c.less != nil && c.less(a, b) }

func (c *choices) Eligible(node *corev1.Node) bool { return c.eligible == nil || c.eligible(node) }

func (c *choices) Ignores(node *corev1.Node, pod *corev1.Pod) bool {
	return c.ignores != nil && c.ignores(node, pod)
}

// choose gives the set a policy.
func (s *set) choose(policy rollout.Policy) *set {
	s.spec.Policy = policy
	require.NoError(s, s.SetSpec(s.now, s.spec))
	return s
}

// canaries is a Policy of data.
type canaries struct {
	rollout.DefaultPolicy
	selector labels.Selector
	visits   *int
}

func (c canaries) Eligible(node *corev1.Node) bool {
	*c.visits++
	return c.selector.Matches(labels.Set(node.Labels))
}

// D5: a policy is compared by its data. The same one again costs no evaluation.
func TestD5PolicyIsComparedByItsData(t *testing.T) {
	visits := 0
	policy := func(value string) rollout.Policy {
		selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{
			MatchLabels: map[string]string{"rank": value},
		})
		require.NoError(t, err)
		return canaries{selector: selector, visits: &visits}
	}
	s := newSet(t).ranked("a", "first").ranked("b", "last").running("a", "b").template("new")
	s.choose(policy("last")).want("delete b-1: Outdated").want("create on b: Missing").
		change("b-new-2", available).want("").wantWait("a", rollout.WaitNotEligible)
	visits = 0
	s.choose(policy("last")).after(time.Minute).want("")
	require.Zero(t, visits)
	s.choose(policy("first")).want("delete a-1: Outdated")
	require.Positive(t, visits)
}
