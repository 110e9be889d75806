package eviction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A PodClient is the pod client of one namespace that [Deleter] calls. The
// typed client of client-go, clientset.CoreV1().Pods(namespace), implements it.
type PodClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// A NodeClient is the node client that [Deleter] and [Evictor] call to confirm
// an eviction.
type NodeClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
}

// DeleterConfig configures a [Deleter].
type DeleterConfig struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) PodClient
	// Confirm, unless nil, makes Deleter read the pod and its node from the API
	// server and decide again, just before it acts. That costs two calls per
	// pod and covers the delay of the caches. For example, a taint that was
	// removed before the pod was bound does not evict the pod.
	Confirm NodeClient
	// Condition returns what is written to the pod's condition DisruptionTarget
	// before it is deleted. It must be a pure function. Nil means
	// DefaultCondition.
	Condition func(Task) Condition
}

// Validate joins everything that is wrong with the config.
func (c DeleterConfig) Validate() error {
	if c.Pods == nil {
		return fmt.Errorf("%w: DeleterConfig.Pods is nil, want a pod client", ErrInvalidConfig)
	}
	return nil
}

// A Deleter evicts pods by deleting them, as kube-controller-manager does. It
// first sets the condition DisruptionTarget, so that the pod's owner can tell
// the eviction from a failure. Then it deletes the pod. Both calls carry the
// UID, so that a pod that was recreated under its name is not touched. After a
// confirmation the delete also carries the resourceVersion; if the pod has
// changed, it is read and decided again. Deleter ignores PodDisruptionBudgets;
// see [Evictor].
//
// A pod that carries a true condition DisruptionTarget already, of whichever
// client, is only deleted. If a pod stays after all, its condition does too,
// until the disruption controller of kube-controller-manager makes it false, two
// minutes later. Where that does not run, it stays until the pod ends.
//
// A task takes 3 calls at most: the patch, the delete, and a read if the answer
// to one of them is ambiguous. With Confirm it takes 12, of which 8 are for a pod
// that changes between the reads and the delete.
//
// It is safe for concurrent use.
type Deleter struct {
	config DeleterConfig
}

// NewDeleter returns a Deleter.
func NewDeleter(config DeleterConfig) (*Deleter, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Condition == nil {
		config.Condition = DefaultCondition
	}
	return &Deleter{config}, nil
}

// Act does the task, at the time Task.StartedAt.
func (d *Deleter) Act(ctx context.Context, task Task) Result {
	pods := d.config.Pods(task.Pod.Namespace)
	r := run{pods: pods, nodes: d.config.Confirm, task: task}
	return r.do(ctx, r.check, r.confirm, r.setCondition(d.config.Condition), r.remove(
		func(ctx context.Context, preconditions *metav1.Preconditions) error {
			err := pods.Delete(ctx, task.Pod.Name, metav1.DeleteOptions{Preconditions: preconditions})
			return wrap(err, "delete pod %s", task.Pod)
		}))
}
