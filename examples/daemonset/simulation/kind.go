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
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

type (
	podResult = controller.Result[rollout.Result]
	podAction = func(context.Context, controller.ChangePod) podResult
)

// asOtherKinds returns the action that changes pods as controllers of other kinds
// may do it at times: something else comes first, or a pod is updated in place.
func (p *process) asOtherKinds(change podAction) podAction {
	return func(ctx context.Context, task controller.ChangePod) podResult {
		switch {
		case task.Task.Refresh == nil && p.strikes(p.faults.notNow):
			p.history.Deferrals = append(p.history.Deferrals, invariant.Deferral{
				Life: p.life, At: p.Now(), Of: deferred(&task),
			})
			return podResult{Done: &rollout.Result{Outcome: rollout.OutcomeNotNow}}
		case p.strikes(p.faults.inPlace) && p.mayUpdate(&task.Task):
			return updateInPlace(ctx, &task.Task)
		}
		return change(ctx, task)
	}
}

func deferred(task *controller.ChangePod) string {
	if creation := task.Task.Create; creation != nil {
		return string(task.Task.Owner) + " " + creation.Node + " " + creation.Revision
	}
	return string(task.Task.Delete.UID)
}

// mayUpdate reports whether a rollout may update a pod instead of its deletion. An
// update that does not restart it is none.
func (p *process) mayUpdate(task *rollout.Task) bool {
	d := task.Delete
	if d == nil || d.Reason != rollout.StepOutdated && d.Reason != rollout.StepOutdatedUnavailable {
		return false
	}
	pod := get[*corev1.Pod](p.cluster, invariant.Pods, d.Pod)
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
	pods := client[*corev1.Pod]{invariant.Pods}
	pod, err := pods.Patch(ctx, task.Delete.Pod, types.MergePatchType, patch, metav1.PatchOptions{})
	done := rollout.Result{Outcome: rollout.OutcomeUpdated, Pod: pod, Err: err}
	return podResult{Done: &done, Err: err, Sent: 1}
}
