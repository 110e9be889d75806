package eviction

import (
	"errors"
	"fmt"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A Budget limits how fast pods leave that have something in common: a node, a
// namespace, an owner, a zone, or all pods together. It is a
// [timedqueue.Budget] of pods. A pod leaves when each budget has a token for
// it. A pod that waits for a scarce share does not delay pods of other shares.
//
// An attempt that fails spends its tokens: it costs the API server as much as
// one that succeeds. The tokens of an attempt that finds nothing to do are
// returned, up to the burst. So are those of one that a PodDisruptionBudget
// refuses.
type Budget struct {
	// Name identifies the budget in Tracker.Pending, in metrics, and in SetLimit.
	// Required.
	Name string
	// ByPod or ByNode names the share. It is called when a pod or a node is
	// observed. When it has another answer for one that has not changed, for
	// example because of a PodDisruptionBudget, observe that again. With neither,
	// all pods share the budget; both together are an error.
	ByPod  func(*corev1.Pod) string
	ByNode func(*corev1.Node) string
	// BySubject says that the share is that in Subject.Shares. Pods have none.
	BySubject bool
	// Limit is how many pods of a share may leave a second. [rate.Inf] is no
	// limit. Required unless the budget is Held.
	Limit rate.Limit
	// Held says that no pod of a share leaves until Tracker.SetLimit gives the
	// share a limit. Limit must be zero then.
	Held bool
	// Burst is how many pods may leave at once after a time in which none did.
	// Zero means 1.
	Burst int
	// MaxPods is how many pods of a share may be leaving at a time, and MaxNodes
	// from how many nodes of it: one node of a zone at a time, for example. Zero is
	// no bound; both together are an error. A pod is leaving from its eviction
	// until it is gone, or is terminating for longer than Config.MostTerminating
	// says. After a start, pods that are terminating and have the condition
	// DisruptionTarget are leaving.
	MaxPods, MaxNodes int
}

// validate joins what is wrong with the budget besides what a queue says of it.
func (b Budget) validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: budget %q: %s", ErrInvalidConfig, b.Name, text))
	}
	if b.Name == "" {
		complain("Name is empty, want a name")
	}
	if count(b.ByPod != nil)+count(b.ByNode != nil)+count(b.BySubject) > 1 {
		complain("several of ByPod, ByNode and BySubject are set, want one of them at most")
	}
	switch {
	case b.MaxPods < 0 || b.MaxNodes < 0:
		complain("MaxPods is %d and MaxNodes is %d, want zero or more", b.MaxPods, b.MaxNodes)
	case b.MaxPods > 0 && b.MaxNodes > 0:
		complain("MaxPods and MaxNodes are set, want one of them at most")
	}
	return errors.Join(problems...)
}

// ofQueue returns the budget as a queue has it, with one share.
func (b Budget) ofQueue() timedqueue.Budget[types.UID, pod] {
	of := timedqueue.Budget[types.UID, pod]{
		Name: b.Name, Limit: b.Limit, Held: b.Held, Burst: b.Burst,
		MaxActing: max(b.MaxPods, b.MaxNodes),
	}
	if b.MaxNodes > 0 {
		of.HolderOf = func(_ types.UID, p pod) string { return p.node.name }
	}
	return of
}

// shares are the budgets of which pods have shares, by what names these.
type shares struct {
	byNode []Budget
	byPod  []Budget // or by subject
}

// queueConfig returns the config of the queue in which pods wait for the budgets.
// It has no Backoff: an attempt never ends as failed in the queue. The deadline
// can move while a pod waits, so that wait is scheduled.
func (s *shares) queueConfig(config *Config) timedqueue.QueueConfig[types.UID, pod] {
	var queue timedqueue.QueueConfig[types.UID, pod]
	if config.LowPriorityFirst {
		queue.Less = func(a, b pod) bool { return a.traits.priority < b.traits.priority }
	}
	for _, b := range config.Budgets {
		budget := b.ofQueue()
		budget.ShareOf = s.shareOf(b)
		queue.Budgets = append(queue.Budgets, budget)
	}
	return queue
}

// shareOf returns the function that names a pod's share of a budget, nil if all
// pods share it.
func (s *shares) shareOf(b Budget) func(types.UID, pod) string {
	switch {
	case b.ByPod != nil, b.BySubject:
		i := len(s.byPod)
		s.byPod = append(s.byPod, b)
		return func(_ types.UID, p pod) string { return p.traits.shares[i] }
	case b.ByNode != nil:
		i := len(s.byNode)
		s.byNode = append(s.byNode, b)
		return func(_ types.UID, p pod) string { return p.node.shares[i] }
	}
	return nil
}

// ofNode returns the shares of a node.
func (s *shares) ofNode(node *corev1.Node) []string {
	var names []string
	for _, b := range s.byNode {
		names = append(names, b.ByNode(node))
	}
	return names
}

// ofSubject returns those of a subject besides: of a pod by ByPod, of any other
// as it says.
func (s *shares) ofSubject(subject *Subject) []string {
	var names []string
	for _, b := range s.byPod {
		name := subject.Shares[b.Name]
		if subject.pod != nil && b.ByPod != nil {
			name = b.ByPod(subject.pod)
		}
		names = append(names, name)
	}
	return names
}
