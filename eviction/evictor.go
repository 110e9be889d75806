package eviction

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An EvictionClient is the pod client of one namespace that [Evictor] calls.
// The typed client of client-go, clientset.CoreV1().Pods(namespace), implements
// it.
type EvictionClient interface { //nolint:revive // named as PodClient and NodeClient are
	PodClient
	EvictV1(ctx context.Context, eviction *policyv1.Eviction) error
}

// EvictorConfig configures an [Evictor].
type EvictorConfig struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) EvictionClient
	// Confirm is the same as in [DeleterConfig].
	Confirm NodeClient
}

// Validate joins everything that is wrong with the config.
func (c EvictorConfig) Validate() error {
	if c.Pods == nil {
		return fmt.Errorf("%w: EvictorConfig.Pods is nil, want a pod client", ErrInvalidConfig)
	}
	return nil
}

// An Evictor evicts pods through the Eviction API, which respects
// PodDisruptionBudgets. It makes one call per pod, because the API server sets
// the condition DisruptionTarget itself. The call carries the UID and, after a
// confirmation, the resourceVersion.
//
// An eviction that a budget refuses is [OutcomeBlocked] for as long as the
// budget refuses. The pods of a dead node count as disrupted until they are
// gone, so a budget can keep them there for ever; [EvictThenDelete] ends that.
//
// client-go waits inside a call that a budget refuses, unless the client uses
// the transport of [WithoutRetryAfter].
//
// A task takes 2 calls at most, and with Confirm 11.
//
// It is safe for concurrent use.
type Evictor struct {
	config EvictorConfig
}

// NewEvictor returns an Evictor.
func NewEvictor(config EvictorConfig) (*Evictor, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Evictor{config}, nil
}

// Act does the task, at the time Task.StartedAt.
func (e *Evictor) Act(ctx context.Context, task Task) Result {
	pods := e.config.Pods(task.Pod.Namespace)
	r := run{pods: pods, nodes: e.config.Confirm, task: task}
	return r.do(ctx, r.check, r.confirm, r.remove(
		func(ctx context.Context, preconditions *metav1.Preconditions) error {
			err := pods.EvictV1(ctx, &policyv1.Eviction{
				ObjectMeta:    metav1.ObjectMeta{Namespace: task.Pod.Namespace, Name: task.Pod.Name},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: preconditions},
			})
			return wrap(err, "evict pod %s", task.Pod)
		}))
}
