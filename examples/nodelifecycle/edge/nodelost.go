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
	if pods := config.Pods; pods != nil { // else NewDeleter complains
		config.Pods = func(namespace string) eviction.PodClient { return losing{pods(namespace)} }
	}
	deleter, err := eviction.NewDeleter(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, task eviction.Task) eviction.Result {
		if task.Decision.Reason == eviction.ReasonNodeEvicted {
			ctx = context.WithValue(ctx, lostNode{}, task.Node)
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

// lostNode is the key under which a context has the name of the node that a task
// empties. A Deleter hands its context on to the client, and nothing else of the
// task.
type lostNode struct{}

// losing is a pod client that adds NodeLost to the patch of a pod's status when
// the context says that its node is emptied.
type losing struct{ eviction.PodClient }

func (l losing) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	node, lost := ctx.Value(lostNode{}).(string)
	if !lost {
		return l.PodClient.Patch(ctx, name, kind, data, opts, subresources...)
	}
	var patch map[string]map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("decode patch of pod %s: %w", name, err)
	}
	patch["status"]["reason"] = NodeLost
	patch["status"]["message"] = fmt.Sprintf("Node %s which was running pod %s is unresponsive", node, name)
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of pod %s: %w", name, err)
	}
	return l.PodClient.Patch(ctx, name, kind, data, opts, subresources...)
}
