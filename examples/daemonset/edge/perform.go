package edge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// Perform does one task and returns what Finish has to know. It tries nothing
// twice, because the controller does: it decides again first. It returns when
// the API server has answered; how long that may take is for ctx to say.
func (e *Edge[T]) Perform(ctx context.Context, task controller.Task) controller.Result {
	namespace, sent := task.Owner.Object.GetNamespace(), 0
	c := call[T]{
		Edge: e, owner: task.Owner,
		sets:      countedSets[T]{e.config.Sets(namespace), &sent},
		pods:      countedPods{e.config.Pods(namespace), &sent},
		revisions: countedRevisions{e.config.Revisions(namespace), &sent},
	}
	var result controller.Result
	switch action := task.Action.(type) {
	case controller.Claim:
		result = c.claim(ctx, action)
	case controller.Revise:
		result = c.revise(ctx, action)
	case controller.ChangePod:
		result = c.changePod(ctx, action)
	case controller.WriteStatus:
		result = c.writeStatus(ctx, action)
	case controller.Record:
		if e.config.Record != nil {
			e.config.Record(action.Event)
		}
		result.Outcome = controller.OutcomeDone
	}
	result.Unused = max(0, task.MostRequests()-sent)
	return result
}

// call is what the requests of one task need.
type call[T metav1.Object] struct {
	*Edge[T]

	owner     ownership.Owner
	sets      countedSets[T]
	pods      countedPods
	revisions countedRevisions
}

func (c *call[T]) claim(ctx context.Context, action controller.Claim) controller.Result {
	var result controller.Result
	claimer, err := ownership.NewClaimer[T](c.owner, c.sets)
	if err != nil {
		return failed(result, err)
	}
	var revisionErr, podErr error
	result.Revisions, revisionErr = ownership.ClaimAll(ctx, claimer, c.revisions, action.Revisions)
	result.Pods, podErr = ownership.ClaimAll(ctx, claimer, c.pods, action.Pods)
	for _, revision := range slices.Concat(result.Revisions.Adopted, result.Revisions.Released) {
		c.ofRevisions.Wrote(revision)
	}
	for _, pod := range slices.Concat(result.Pods.Adopted, result.Pods.Released) {
		c.ofPods.Wrote(pod)
	}
	return failed(result, errors.Join(revisionErr, podErr))
}

func (c *call[T]) revise(ctx context.Context, action controller.Revise) controller.Result {
	manager, err := revision.NewManager(revision.ManagerConfig[T]{
		Revisions:  func(string) revision.Client { return c.revisions },
		Pods:       func(string) ownership.Patcher[*corev1.Pod] { return c.pods },
		Owners:     func(string) revision.OwnerClient[T] { return c.sets },
		Collisions: c.config.Collisions,
	})
	if err != nil {
		return failed(controller.Result{}, err)
	}
	done, err := manager.Apply(ctx, action.Plan)
	if done.Created || done.Found {
		c.ofRevisions.Wrote(done.Current)
	}
	for _, revision := range done.Updated {
		c.ofRevisions.Wrote(revision)
	}
	for _, revision := range done.Deleted {
		c.ofRevisions.Deleted(revision)
	}
	for _, pod := range done.Relabelled {
		c.ofPods.Wrote(pod)
	}
	return failed(controller.Result{Revision: done}, err)
}

func (c *call[T]) changePod(ctx context.Context, action controller.ChangePod) controller.Result {
	executor, err := rollout.NewExecutor(rollout.ExecutorConfig{
		Pods: func(string) rollout.PodClient { return c.pods },
	})
	if err != nil {
		return controller.Result{Pod: rollout.Result{Outcome: rollout.OutcomeRefused, Err: err}}
	}
	// The planner has own expectations of what the watch is to show: it counts
	// creations that were not shown, and reads what is not shown for long. So the
	// pod is not shown as if the watch had.
	return controller.Result{Pod: executor.Act(ctx, c.owner, action.Task)}
}

func (c *call[T]) writeStatus(ctx context.Context, action controller.WriteStatus) controller.Result {
	written, err := c.sets.Patch(ctx, c.owner.Object.GetName(), rollout.StatusPatchType, action.Patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return failed(controller.Result{}, fmt.Errorf("write status of %s: %w", c.owner, err))
	}
	c.ofSets.Wrote(written)
	return failed(controller.Result{Set: ptr.To(c.config.SetOf(written))}, nil)
}

// failed completes a result, which has failed if there is an error.
func failed(result controller.Result, err error) controller.Result {
	result.Outcome, result.Err = controller.OutcomeDone, err
	if err != nil {
		result.Outcome = controller.OutcomeFailed
	}
	return result
}
