package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// run is one attempt. Its steps are below in the order in which they are done.
type run struct {
	pods  PodClient
	nodes NodeClient // nil means no confirmation
	task  Task

	calls   int          // made
	pod     *corev1.Pod  // as last read; nil if it was not
	node    *corev1.Node // nil if it was not read, or does not exist
	patched *corev1.Pod  // as the API server had it after our patch
}

// A step returns true and the result of the attempt if that ends with it.
type step func(ctx context.Context) (Result, bool)

func (r *run) do(ctx context.Context, steps ...step) Result {
	for _, next := range steps {
		result, ended := Result{Outcome: OutcomeNotDue}, r.task.Canceled()
		if !ended {
			result, ended = next(ctx)
		}
		if !ended {
			continue
		}
		result.Requests = r.calls
		if result.Outcome != OutcomeEvicted {
			result.Pod = r.patched // or the next attempt would set the condition again
		}
		return result
	}
	return Result{}
}

// check refuses a pod without a UID. No API server stores one, and no write
// could be guarded against another pod of its name.
func (r *run) check(context.Context) (Result, bool) {
	if r.task.Pod.UID == "" {
		return r.fails(errNoUID)
	}
	return Result{}, false
}

var errNoUID = errors.New("pod has no UID")

func (r *run) fails(err error) (Result, bool) {
	return Result{Outcome: OutcomeFailed, Err: wrap(err, "evict pod %s", r.task.Pod)}, true
}

// confirm reads the pod and its node, and decides again.
func (r *run) confirm(ctx context.Context) (Result, bool) {
	if r.nodes == nil {
		return Result{}, false
	}
	if result, ended := r.readPod(ctx); ended {
		return result, true
	}
	r.calls++
	node, err := r.nodes.Get(ctx, r.task.Node, metav1.GetOptions{})
	switch {
	case err == nil:
		r.node = node
	case !SaysGone(err): // without a node, decide finds nothing to evict
		return r.classify(ctx, fmt.Errorf("read node %s to confirm the eviction of pod %s: %w",
			r.task.Node, r.task.Pod, err))
	}
	return r.decide()
}

func (r *run) get(ctx context.Context) (*corev1.Pod, error) {
	r.calls++
	return r.pods.Get(ctx, r.task.Pod.Name, metav1.GetOptions{})
}

func (r *run) readPod(ctx context.Context) (Result, bool) {
	pod, err := r.get(ctx)
	if err != nil {
		return r.classify(ctx, fmt.Errorf("read pod %s to confirm its eviction: %w", r.task.Pod, err))
	}
	r.pod = pod
	return Result{Outcome: OutcomeGone}, r.task.gone(pod)
}

// decide decides again, from the pod and the node that were read.
//
// It decides for the time Task.StartedAt, so all times that it compares come
// from the tracker. A second clock could differ, or lack the monotonic reading
// of the others. A pod that was due then is due now. A pod that became due
// since then, because its live toleration is shorter, is found by the next
// attempt a second later.
func (r *run) decide() (Result, bool) {
	decision := r.task.Reevaluate(r.pod, r.node, r.task.StartedAt)
	switch {
	case !decision.DueAt(r.task.StartedAt):
		return Result{Outcome: OutcomeNotDue, Reason: decision.Reason}, true
	case r.task.Canceled(): // during the reads
		return Result{Outcome: OutcomeNotDue}, true
	}
	r.task.Decision, r.task.Generation = decision, r.pod.Generation
	r.task.HasDisruptionTarget = hasDisruptionTarget(r.pod)
	return Result{}, false
}

// setCondition writes to the pod's status that the pod is about to be evicted,
// unless it says so already, for whichever client. After a confirmation it
// decides again from the answer, because the eviction may have become moot
// meanwhile. In any case it believes the answer about where the pod is: after a
// restored backup a pod may be bound to no node again.
func (r *run) setCondition(describe func(Task) Condition) step {
	return func(ctx context.Context) (Result, bool) {
		if r.task.HasDisruptionTarget {
			return Result{}, false
		}
		patch, err := conditionPatch(r.task, describe(r.task))
		if err != nil {
			return r.fails(err)
		}
		if err := r.patch(ctx, patch); err != nil {
			return r.classify(ctx, err)
		}
		return r.believe()
	}
}

// believe decides again from the answer to a patch.
func (r *run) believe() (Result, bool) {
	switch {
	case r.patched.DeletionTimestamp != nil:
		return Result{Outcome: OutcomeGone}, true
	case r.patched.Spec.NodeName != r.task.Node:
		return Result{Outcome: OutcomeNotDue}, true
	case r.pod == nil:
		return Result{}, false
	}
	r.pod = r.patched
	return r.decide()
}

func (r *run) patch(ctx context.Context, patch []byte) error {
	r.calls++
	patched, err := r.pods.Patch(ctx, r.task.Pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patch the conditions of pod %s: %w", r.task.Pod, err)
	}
	r.patched = patched
	return nil
}

// remove makes the pod leave, in the state in which it was read. A pod that
// another client writes to all the time has often changed since the read. So
// after a conflict the pod is read again at once, without its node, to keep the
// time until the write short. A backoff would grow without making success more
// likely.
func (r *run) remove(with func(context.Context, *metav1.Preconditions) error) step {
	return func(ctx context.Context) (Result, bool) {
		for rereads := 0; ; rereads++ {
			r.calls++
			err := with(ctx, r.preconditions())
			switch {
			case err == nil:
				return Result{Outcome: OutcomeEvicted}, true
			case r.pod == nil || CauseOf(err) != causeConflict:
				return r.classify(ctx, err)
			case rereads == mostRereads:
				return Result{Outcome: OutcomeFailed, Err: err, RetryAfter: pauseAfterRereads}, true
			}
			if result, ended := r.readPod(ctx); ended {
				return result, true
			}
			if result, ended := r.decide(); ended {
				return result, true
			}
		}
	}
}

// mostRereads bounds what an attempt costs. A pod that changes all the time takes
// some attempts. Other pods are evicted meanwhile, and a longer wait makes none
// of the attempts more likely to succeed.
const (
	mostRereads       = 4
	pauseAfterRereads = 400 * time.Millisecond
)

// preconditions returns those that bind an eviction to its decision.
func (r *run) preconditions() *metav1.Preconditions {
	p := &metav1.Preconditions{UID: &r.task.Pod.UID}
	if r.pod != nil {
		p.ResourceVersion = &r.pod.ResourceVersion
	}
	return p
}

// classify turns an API error into a result. For another pod's UID the API
// server answers 409 to a delete and 422 to a patch (seen on v1.37.1). Both
// codes have other causes too, which must be retried. So the pod is read.
func (r *run) classify(ctx context.Context, err error) (Result, bool) {
	if SaysGone(err) {
		return Result{Outcome: OutcomeGone}, true
	}
	if cause := CauseOf(err); cause == causeConflict || cause == causeInvalid {
		live, readErr := r.get(ctx)
		if SaysGone(readErr) || readErr == nil && r.task.gone(live) {
			return Result{Outcome: OutcomeGone}, true
		}
	}
	result := Result{Outcome: OutcomeFailed, Err: err}
	if isBudget(err) {
		result.Outcome = OutcomeBlocked
	}
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		result.RetryAfter = time.Duration(seconds) * time.Second
	}
	return result, true
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
