package eviction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods is what [Delete] needs of a pod client of one namespace. The typed client
// of client-go, clientset.CoreV1().Pods(namespace), is one.
type Pods interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Nodes is what [Delete] and [Evict] need of a node client, if they confirm.
type Nodes interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
}

// DeleteConfig is what [Delete] needs.
type DeleteConfig struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) Pods
	// Confirm, if it is not nil, makes Delete read the pod and its node from the
	// API server and decide again, just before it acts. That costs two calls a pod
	// and closes the gap in which a cache is behind: a taint that was removed
	// before the pod was bound does not evict it.
	Confirm Nodes
}

// Validate reports the first thing that is wrong with the config.
func (c DeleteConfig) Validate() error {
	if c.Pods == nil {
		return fmt.Errorf("%w: DeleteConfig.Pods is nil", ErrInvalidConfig)
	}
	return nil
}

// Delete evicts pods by deleting them, as kube-controller-manager does: it first
// sets the condition DisruptionTarget, so that whoever owns the pod can tell the
// eviction from a failure, then deletes the pod. That is one patch and one
// delete a pod. Both carry the UID, so that a pod that was recreated under its
// name is not touched. After a confirmation the delete carries the resourceVersion too;
// if the pod has changed meanwhile, it is read and decided about once more.
// PodDisruptionBudgets do not count; see [Evict].
//
// Taking the condition back costs a read and a patch, which carries the
// resourceVersion: the condition may be somebody else's by then.
//
// It is safe for concurrent use.
type Delete struct {
	client
}

// NewDelete returns a Delete.
func NewDelete(config DeleteConfig) (*Delete, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Delete{client{config.Pods, config.Confirm}}, nil
}

// Act does what the work says, at the time that is in it.
func (d *Delete) Act(ctx context.Context, work Work) Report {
	seen, report, ok := d.prepare(ctx, &work)
	if !ok {
		return report
	}
	var marked *corev1.Pod
	if !work.Marked {
		if marked, report, ok = d.markAndLook(ctx, &work, &seen); !ok {
			return report
		}
	}
	report = d.insist(ctx, &work, &seen, func(preconditions *metav1.Preconditions) error {
		err := d.pods(work.Pod.Namespace).Delete(ctx, work.Pod.Name, metav1.DeleteOptions{Preconditions: preconditions})
		if err != nil {
			return fmt.Errorf("delete pod %s: %w", work.Pod, err)
		}
		return nil
	})
	if report.Outcome != Evicted {
		report.Pod = marked // or the next attempt would mark it again
	}
	return report
}

// markAndLook marks the pod, and looks again at what the API server has answered.
// While it took its time the eviction may have become moot.
func (d *Delete) markAndLook(ctx context.Context, work *Work, seen *look) (*corev1.Pod, Report, bool) {
	marked, err := d.mark(ctx, *work)
	switch {
	case err != nil:
		return nil, d.failure(ctx, *work, err), false
	case marked.DeletionTimestamp != nil:
		return nil, Report{Outcome: AlreadyGone, Pod: marked}, false
	case work.CalledOff():
		return nil, Report{Outcome: NotDue, Pod: marked}, false
	case seen.pod == nil:
		return marked, Report{}, true
	}
	seen.pod = marked
	report, ok := seen.decide(work)
	report.Pod = marked
	return marked, report, ok
}
