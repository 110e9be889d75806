package eviction

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is what a [Tracker] needs. The zero value is complete.
type Config struct {
	// Matcher says which toleration tolerates which taint.
	Matcher taints.Matcher
	// Concerns reports whether a NoExecute taint is this tracker's business. A
	// taint that is not evicts nothing here. Nil means that all are. It must be a
	// pure function; Task.Reevaluate calls it too, on the goroutine of the action.
	// Next to kube-controller-manager, which evicts for the other taints, write
	// another condition than it does; see DeleterConfig.
	Concerns func(*corev1.Taint) bool
	// Lineage reports whether two taints count as one: one that replaces the other
	// has its start. It must be a pure function, true for taints of the same key
	// and effect. Nil means taints.Equivalent, for which not-ready and unreachable
	// are one; see taints.Lineage for who sets them.
	Lineage taints.Lineage
	// Exempt keeps pods from being evicted, whatever their tolerations and
	// whatever is asked for them. Nil exempts none, like kube-controller-manager.
	// It must be a pure function of the pod; Task.Reevaluate calls it too.
	Exempt func(*corev1.Pod) bool
	// Tolerations returns what a pod tolerates, in place of its own tolerations:
	// for example longer while the pod has an annotation. Nil means its own. It must
	// be a pure function of the pod; Task.Reevaluate calls it too. The result must
	// not be changed afterwards: it is kept, not copied.
	Tolerations func(*corev1.Pod) []corev1.Toleration
	// Holds are what [Tracker.SetHold] can hold; see [Hold].
	Holds []Hold
	// Backoff is the wait after an attempt that failed, and after one that a
	// PodDisruptionBudget refused. Its Max is also the longest time for which an
	// answer of a server can make a pod wait.
	Backoff timedqueue.Backoff
	// Budgets limit how fast pods leave. None is no limit, like
	// kube-controller-manager: the workers are the limit.
	Budgets []Budget
	// MostTerminating is how long after its grace period a terminating pod counts
	// for Budget.MaxPods and MaxNodes, so that the pods of a dead node, which
	// terminate for ever, hold up nothing. Zero means a minute.
	MostTerminating time.Duration
	// LowPriorityFirst makes pods that are due at the same time leave in the order
	// of their priority, the lowest first. Else, and among equals, the order is
	// that in which they got a deadline. A pod whose deadline is moved keeps its
	// place, except by an attempt: it comes behind the pods that waited meanwhile.
	LowPriorityFirst bool
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{validateHolds(c.Holds)}
	queue := timedqueue.QueueConfig[types.UID, pod]{Backoff: c.Backoff}
	for _, b := range c.Budgets {
		problems = append(problems, b.validate())
		queue.Budgets = append(queue.Budgets, b.ofQueue())
	}
	if err := queue.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w", ErrInvalidConfig, err))
	}
	if c.MostTerminating < 0 {
		problems = append(problems, fmt.Errorf("%w: MostTerminating is %v, want zero or more",
			ErrInvalidConfig, c.MostTerminating))
	}
	return errors.Join(problems...)
}

// exempts reports whether a pod is exempt.
func (c *Config) exempts(pod *corev1.Pod) bool { return c.Exempt != nil && c.Exempt(pod) }

// tolerationsOf returns what a pod tolerates.
func (c *Config) tolerationsOf(pod *corev1.Pod) []corev1.Toleration {
	if c.Tolerations != nil {
		return c.Tolerations(pod)
	}
	return pod.Spec.Tolerations
}

// isOfNode reports whether a pod would come back to its node.
func isOfNode(pod *corev1.Pod) bool { return IsDaemonSetPod(pod) || IsMirrorPod(pod) }
