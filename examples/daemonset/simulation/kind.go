package simulation

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
)

type podResult = controller.Result[rollout.Result]

// asOtherKinds changes pods as controllers of other kinds may do it at times:
// something else comes first, or a pod is updated in place.
func (s *simulation) asOtherKinds(actions controller.Actions) controller.Actions {
	change := actions.ChangePod
	actions.ChangePod = func(ctx context.Context, task controller.ChangePod) podResult {
		switch {
		case task.Task.Refresh == nil && s.strikes(s.notNow):
			s.recorder.Defer(s.deferred(&task))
			return podResult{Done: &rollout.Result{Outcome: rollout.OutcomeNotNow}}
		case s.strikes(s.inPlace) && s.mayUpdate(&task.Task):
			return updateInPlace(ctx, &task.Task)
		}
		return change(ctx, task)
	}
	return actions
}

// deferred names a task. Of two nodes of a name the second one has no part in
// what came before a creation for the first.
func (s *simulation) deferred(task *controller.ChangePod) string {
	creation := task.Task.Create
	if creation == nil {
		return string(task.Task.Delete.UID)
	}
	node := creation.Node
	if known := model.CachedNode(s.process.Client, node); known != nil {
		node = string(known.UID)
	}
	return string(task.Task.Owner) + " " + node + " " + creation.Revision
}

// mayUpdate reports whether a rollout may update a pod instead of its deletion. An
// update that does not restart it is none.
func (s *simulation) mayUpdate(task *rollout.Task) bool {
	d := task.Delete
	if d == nil || d.Reason != rollout.StepOutdated && d.Reason != rollout.StepOutdatedUnavailable {
		return false
	}
	pod := s.Pod(d.Pod)
	return pod != nil && pod.UID == d.UID && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
		pod.Spec.Containers[0].Image != task.Spec.Template.Spec.Containers[0].Image
}

func updateInPlace(ctx context.Context, task *rollout.Task) podResult {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": task.Delete.UID, "labels": map[string]string{revision.HashLabel: task.Spec.Revision},
		},
		"spec": map[string]any{"containers": task.Spec.Template.Spec.Containers},
	})
	if err != nil {
		return podResult{Err: err}
	}
	pods := program.Client[*corev1.Pod]{Kind: network.Pods}
	pod, err := pods.Patch(ctx, task.Delete.Pod, types.MergePatchType, patch, metav1.PatchOptions{})
	done := rollout.Result{Outcome: rollout.OutcomeUpdated, Pod: pod, Err: err}
	return podResult{Done: &done, Err: err, Sent: 1}
}
