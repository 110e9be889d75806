package edge

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

const (
	// NodeLost is the reason in the status of a pod that is deleted because its
	// whole node is evicted. kube-controller-manager gives it to the pods of a node
	// that does not respond.
	NodeLost = "NodeLost"
	// conditionReasonNode is the reason of the pod's condition DisruptionTarget.
	conditionReasonNode = "DeletionByNodeLifecycle"
)

// NewDeletion returns the action of an eviction.Deleter. A pod that leaves
// because its whole node is evicted gets the reason [NodeLost] besides, with the
// patch that announces the deletion. So that costs no request, and what a
// confirmation refuses is not written. It is for evicting.Clients.
func NewDeletion(config eviction.DeleterConfig) (eviction.Action, error) {
	config.Condition = conditionOf
	deleter, err := eviction.NewDeleter(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, task eviction.Task) eviction.Result {
		if task.Decision.Reason != eviction.ReasonNodeEvicted {
			return deleter.Act(ctx, task)
		}
		lost := config
		lost.Pods = func(namespace string) eviction.PodClient {
			return losing{config.Pods(namespace), task}
		}
		deleter, err := eviction.NewDeleter(lost)
		if err != nil {
			return eviction.Result{Outcome: eviction.OutcomeFailed, Err: err}
		}
		return deleter.Act(ctx, task)
	}, nil
}

func conditionOf(task eviction.Task) eviction.Condition {
	if task.Decision.Reason != eviction.ReasonNodeEvicted {
		return eviction.DefaultCondition(task)
	}
	return eviction.Condition{
		Reason:  conditionReasonNode,
		Message: fmt.Sprintf("All pods are evicted from node %s, which is not ready.", task.Node),
	}
}

// losing is a pod client for one task. It adds NodeLost to the patch of the
// pod's status.
type losing struct {
	eviction.PodClient

	task eviction.Task
}

func (l losing) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	var patch map[string]map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("decode patch of pod %s: %w", l.task.Pod, err)
	}
	patch["status"]["reason"] = NodeLost
	patch["status"]["message"] = fmt.Sprintf("Node %s which was running pod %s is unresponsive", l.task.Node, name)
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of pod %s: %w", l.task.Pod, err)
	}
	return l.PodClient.Patch(ctx, name, kind, data, opts, subresources...)
}
