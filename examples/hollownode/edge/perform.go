package edge

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// ErrForeignNode is wrapped by the error of a registration whose name another
// client's node has.
var ErrForeignNode = errors.New("a node of that name is not of this fleet")

var errTask = errors.New("task is of an unknown kind")

// Perform does one task and returns what Finish needs. The error says why a
// task has failed, and is nil for a pod that is gone. It tries nothing twice,
// because the fleet does. How long the API server may take is for ctx to say.
func (e *Edge) Perform(ctx context.Context, task kubelet.Task) (kubelet.Result, error) {
	var err error
	switch task.Kind {
	case kubelet.TaskPatchStatus:
		err = e.patchStatus(ctx, task)
	case kubelet.TaskCreateMirror:
		_, err = e.config.Pods(task.Pod.Namespace).Create(ctx, task.Pod, metav1.CreateOptions{})
	case kubelet.TaskDeletePod, kubelet.TaskDeleteMirror:
		err = e.config.Pods(task.Pod.Namespace).Delete(ctx, task.Pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64),
			Preconditions:      metav1.NewUIDPreconditions(string(task.Pod.UID)),
		})
	case kubelet.TaskRegisterNode:
		err = e.register(ctx, task.Object)
	case kubelet.TaskReportNode:
		e.report(task.Node)
	case kubelet.TaskListPods:
		err = e.config.StreamPods(ctx, task.Node)
	default:
		err = errTask
	}
	switch {
	case err == nil:
		return kubelet.ResultDone, nil
	case task.Pod != nil && saysGone(err, task.Pod):
		return kubelet.ResultGone, nil
	case task.Pod != nil:
		return kubelet.ResultFailed, fmt.Errorf("%s of pod %s/%s: %w", task.Kind, task.Pod.Namespace, task.Pod.Name, err)
	default:
		return kubelet.ResultFailed, fmt.Errorf("%s of node %s: %w", task.Kind, task.Node, err)
	}
}

func (e *Edge) patchStatus(ctx context.Context, task kubelet.Task) error {
	patch, err := kubelet.StatusPatch(task.Pod, &task.Status)
	if err != nil {
		return err
	}
	_, err = e.config.Pods(task.Pod.Namespace).
		Patch(ctx, task.Pod.Name, kubelet.StatusPatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// report has the status of a node reported at once.
func (e *Edge) report(node string) {
	var sender Heartbeats
	e.config.View(func(time.Time) { sender = e.sender(e.faults[node]) })
	sender.Changed(node)
}

// register creates a node. One of the fleet that is there is registered.
func (e *Edge) register(ctx context.Context, node *corev1.Node) error {
	_, err := e.config.Nodes.Create(ctx, node, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing, err := e.config.Nodes.Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !e.config.IsOurs(existing) {
		return ErrForeignNode
	}
	return nil
}

// saysGone reports whether the API server has no pod of that name and UID: it
// says so, or a patch was for another UID. A conflict is tried again, because
// it can come from busy writers. If it was the UID, the watch tells.
func saysGone(err error, pod *corev1.Pod) bool {
	if ownership.SaysGone(err, "pods", pod.Name) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}
