package eviction

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EvictablePods is what [Evict] needs of a pod client of one namespace. The typed
// client of client-go, clientset.CoreV1().Pods(namespace), is one.
type EvictablePods interface {
	Pods
	EvictV1(ctx context.Context, eviction *policyv1.Eviction) error
}

// EvictConfig is what [Evict] needs.
type EvictConfig struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) EvictablePods
	// Confirm is as in [DeleteConfig].
	Confirm Nodes
}

// Validate reports the first thing that is wrong with the config.
func (c EvictConfig) Validate() error {
	if c.Pods == nil {
		return fmt.Errorf("%w: EvictConfig.Pods is nil", ErrInvalidConfig)
	}
	return nil
}

// Evict evicts pods through the Eviction API, which heeds PodDisruptionBudgets. That
// is one call a pod: the API server sets the condition DisruptionTarget itself. It
// carries the UID and, after a confirmation, the resourceVersion.
//
// A pod that a budget keeps is Blocked, for as long as the budget does; see
// [Escalate] for an end of that. The pods of a dead node count as disrupted until
// they are gone, so a budget can keep them on it for ever.
//
// client-go waits inside of a call when a budget refuses it, unless the client's
// transport is one of [WithoutRetryAfter].
//
// It is safe for concurrent use.
type Evict struct {
	client
	evictable func(namespace string) EvictablePods
}

// NewEvict returns an Evict.
func NewEvict(config EvictConfig) (*Evict, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	pods := func(namespace string) Pods { return config.Pods(namespace) }
	return &Evict{client{pods, config.Confirm}, config.Pods}, nil
}

// Act does what the work says, at the time that is in it.
func (e *Evict) Act(ctx context.Context, work Work) Report {
	seen, report, ok := e.prepare(ctx, &work)
	if !ok {
		return report
	}
	return e.insist(ctx, &work, &seen, func(preconditions *metav1.Preconditions) error {
		err := e.evictable(work.Pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: work.Pod.Namespace, Name: work.Pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: preconditions},
		})
		if err != nil {
			return fmt.Errorf("evict pod %s: %w", work.Pod, err)
		}
		return nil
	})
}
