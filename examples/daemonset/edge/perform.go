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

// Actions returns what performs the tasks of the controller. Each tries nothing
// twice, because the controller does: it decides again first. It returns when
// the API server has answered; how long that may take is for its context to
// say.
func (e *Edge[T]) Actions() controller.Actions {
	return controller.Actions{
		Claim: e.claim, Revise: e.revise, ChangePod: e.changePod, WriteStatus: e.writeStatus,
		Record: e.record,
	}
}

func (e *Edge[T]) record(_ context.Context, event controller.Event) struct{} {
	if e.config.Record != nil {
		e.config.Record(event)
	}
	return struct{}{}
}

// call is what the requests of one task need.
type call[T metav1.Object] struct {
	sets      countedSets[T]
	pods      countedPods
	revisions countedRevisions
	sent      int
}

func (e *Edge[T]) newCall(owner ownership.Owner) *call[T] {
	namespace, c := owner.Object.GetNamespace(), &call[T]{}
	c.sets = countedSets[T]{e.config.Sets(namespace), &c.sent}
	c.pods = countedPods{e.config.Pods(namespace), &c.sent}
	c.revisions = countedRevisions{e.config.Revisions(namespace), &c.sent}
	return c
}

func (e *Edge[T]) claim(
	ctx context.Context, claim controller.Claim,
) controller.Result[controller.Claimed] {
	c := e.newCall(claim.Owner)
	claimer, err := ownership.NewClaimer[T](claim.Owner, c.sets)
	if err != nil {
		return controller.Result[controller.Claimed]{Err: err}
	}
	if claim.Read {
		claimer.Trust()
	}
	var done controller.Claimed
	var revisionErr, podErr error
	done.Revisions, revisionErr = ownership.ClaimAll(ctx, claimer, c.revisions, claim.Revisions)
	done.Pods, podErr = ownership.ClaimAll(ctx, claimer, c.pods, claim.Pods)
	done.Read = claimer.MayAdopt()
	for _, revision := range slices.Concat(done.Revisions.Adopted, done.Revisions.Released) {
		e.ofRevisions.Wrote(revision)
	}
	for _, pod := range slices.Concat(done.Pods.Adopted, done.Pods.Released) {
		e.ofPods.Wrote(pod)
	}
	return controller.Result[controller.Claimed]{
		Done: &done, Err: errors.Join(revisionErr, podErr), Sent: c.sent,
	}
}

func (e *Edge[T]) revise(
	ctx context.Context, revise controller.Revise,
) controller.Result[revision.Result] {
	c := e.newCall(revise.Owner)
	manager, err := revision.NewManager(revision.ManagerConfig[T]{
		Revisions:  func(string) revision.Client { return c.revisions },
		Pods:       func(string) ownership.Patcher[*corev1.Pod] { return c.pods },
		Owners:     func(string) revision.OwnerClient[T] { return c.sets },
		Collisions: e.config.Collisions,
	})
	if err != nil {
		return controller.Result[revision.Result]{Err: err}
	}
	done, err := manager.Apply(ctx, revise.Plan)
	if done.Created || done.Found {
		e.ofRevisions.Wrote(done.Current)
	}
	for _, revision := range done.Updated {
		e.ofRevisions.Wrote(revision)
	}
	for _, revision := range done.Deleted {
		e.ofRevisions.Deleted(revision)
	}
	for _, pod := range done.Relabelled {
		e.ofPods.Wrote(pod)
	}
	return controller.Result[revision.Result]{Done: &done, Err: err, Sent: c.sent}
}

func (e *Edge[T]) changePod(
	ctx context.Context, change controller.ChangePod,
) controller.Result[rollout.Result] {
	c := e.newCall(change.Owner)
	executor, err := rollout.NewExecutor(rollout.ExecutorConfig{
		Pods: func(string) rollout.PodClient { return c.pods },
	})
	if err != nil {
		return controller.Result[rollout.Result]{
			Done: &rollout.Result{Outcome: rollout.OutcomeRefused, Err: err}, Err: err,
		}
	}
	// The planner has own expectations of what the watch is to show: it counts
	// creations that were not shown, and reads what is not shown for long. So the
	// pod is not shown as if the watch had.
	done := executor.Act(ctx, change.Owner, change.Task)
	return controller.Result[rollout.Result]{Done: &done, Err: done.Err, Sent: c.sent}
}

func (e *Edge[T]) writeStatus(
	ctx context.Context, write controller.WriteStatus,
) controller.Result[controller.Set] {
	c := e.newCall(write.Owner)
	written, err := c.sets.Patch(ctx, write.Owner.Object.GetName(), rollout.StatusPatchType, write.Patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		err = fmt.Errorf("write status of %s: %w", write.Owner, err)
		return controller.Result[controller.Set]{Err: err, Sent: c.sent}
	}
	e.ofSets.Wrote(written)
	return controller.Result[controller.Set]{Done: ptr.To(e.config.SetOf(written)), Sent: c.sent}
}
