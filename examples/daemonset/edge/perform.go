package edge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// Perform does one task and returns what Finish has to know. It tries nothing
// twice, because the controller does: it decides again first. It returns when
// the API server has answered; how long that may take is for ctx to say.
func (e *Edge[T]) Perform(ctx context.Context, task controller.Task) controller.Result {
	ctx, sent := withCount(ctx)
	var result controller.Result
	switch action := task.Action.(type) {
	case controller.Claim:
		result = e.claim(ctx, task.Owner, action)
	case controller.Revise:
		result = e.revise(ctx, action)
	case controller.ChangePod:
		result.Pod = e.executor.Act(ctx, task.Owner, action.Task)
		if pod := result.Pod.Pod; pod != nil {
			e.pods.Wrote(pod)
		}
	case controller.WriteStatus:
		result = e.writeStatus(ctx, task.Owner, action)
	case controller.Record:
		if e.config.Record != nil {
			e.config.Record(action.Event)
		}
		result.Outcome = controller.OutcomeDone
	}
	result.Unused = max(0, task.MostRequests()-sent())
	return result
}

func (e *Edge[T]) claim(ctx context.Context, owner ownership.Owner, action controller.Claim) controller.Result {
	var result controller.Result
	namespace := owner.Object.GetNamespace()
	claimer, err := ownership.NewClaimer[T](owner, countedSets[T]{e.config.Sets(namespace)})
	if err != nil {
		return failed(result, err)
	}
	var revisionErr, podErr error
	result.Revisions, revisionErr = ownership.ClaimAll(ctx, claimer,
		countedRevisions{e.config.Revisions(namespace)}, action.Revisions)
	result.Pods, podErr = ownership.ClaimAll[*corev1.Pod](ctx, claimer, countedPods{e.config.Pods(namespace)}, action.Pods)
	for _, revision := range slices.Concat(result.Revisions.Adopted, result.Revisions.Released) {
		e.revisions.Wrote(revision)
	}
	for _, pod := range slices.Concat(result.Pods.Adopted, result.Pods.Released) {
		e.pods.Wrote(pod)
	}
	return failed(result, errors.Join(revisionErr, podErr))
}

func (e *Edge[T]) revise(ctx context.Context, action controller.Revise) controller.Result {
	done, err := e.manager.Apply(ctx, action.Plan)
	if done.Created || done.Found {
		e.revisions.Wrote(done.Current)
	}
	for _, revision := range done.Updated {
		e.revisions.Wrote(revision)
	}
	for _, pod := range done.Relabelled {
		e.pods.Wrote(pod)
	}
	return failed(controller.Result{Revision: done}, err)
}

func (e *Edge[T]) writeStatus(
	ctx context.Context, owner ownership.Owner, action controller.WriteStatus,
) controller.Result {
	sets := countedSets[T]{e.config.Sets(owner.Object.GetNamespace())}
	written, err := sets.Patch(ctx, owner.Object.GetName(), daemon.StatusPatchType, action.Patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return failed(controller.Result{}, fmt.Errorf("write status of %s: %w", owner, err))
	}
	e.sets.Wrote(written)
	return failed(controller.Result{Set: new(e.config.SetOf(written))}, nil)
}

// failed completes a result, which has failed if there is an error.
func failed(result controller.Result, err error) controller.Result {
	result.Outcome, result.Err = controller.OutcomeDone, err
	if err != nil {
		result.Outcome = controller.OutcomeFailed
	}
	return result
}
