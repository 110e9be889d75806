package nodehealth

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// ReasonStopped is the reason of a condition that became Unknown because its
	// node fell silent. It is that of kube-controller-manager.
	ReasonStopped = "NodeStatusUnknown"
	// ReasonNeverReported is the reason of a condition that is Unknown because its
	// node has never reported. It is that of kube-controller-manager.
	ReasonNeverReported = "NodeStatusNeverUpdated"

	// The messages, too, are those of kube-controller-manager v1.37.1: alerts and
	// dashboards match them.
	messageStopped       = "Kubelet stopped posting node status."
	messageNeverReported = "Kubelet never posted node status."
)

// PatchType is the kind of patch that [UnknownPatch] and [PodNotReadyPatch]
// return. Both are for the status subresource.
const PatchType = types.JSONPatchType

// kubeletConditions are the conditions that only the kubelet can know. The
// control plane sets NetworkUnavailable, which stays.
var kubeletConditions = [...]corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

// UnknownPatch returns the patch that makes a silent node's conditions Unknown.
// It returns false when the Ready condition is Unknown already.
//
// The API server refuses the patch when the node is another one or its Ready
// condition has changed: a fresh status wins. Everything else about the node
// may change meanwhile. If the node has conditions but no Ready condition,
// nothing may change. kube-apiserver answers 422 Invalid to a patch that it
// refuses; see taints.IsStale. A node without a UID is an error, because the
// guard would always fail.
func UnknownPatch(node *corev1.Node, now time.Time) ([]byte, bool, error) {
	ready := readyCondition(node)
	if ready != nil && ready.Status == corev1.ConditionUnknown {
		return nil, false, nil
	}
	if node.UID == "" {
		return nil, false, fmt.Errorf("node %s has no UID to guard a status patch with", node.Name)
	}
	patch := patch{}
	patch.test("/metadata/uid", node.UID)
	switch {
	case len(node.Status.Conditions) == 0:
		patch.test(conditionsPath, nil)
		patch.add(conditionsPath, []corev1.NodeCondition{})
	case ready == nil:
		// A JSON Patch cannot test that a list lacks an element. If the node has
		// reported meanwhile, a second Ready condition would be added.
		patch.test("/metadata/resourceVersion", node.ResourceVersion)
	}
	for _, kind := range kubeletConditions {
		i := conditionIndex(node, kind)
		if i < 0 {
			patch.add(conditionsPath+"/-", neverReported(node, kind, now))
			continue
		}
		path := conditionPath(i)
		c := &node.Status.Conditions[i]
		patch.test(path+"/type", c.Type)
		if kind == corev1.NodeReady {
			patch.test(path+"/status", c.Status)
			patch.test(path+"/lastHeartbeatTime", c.LastHeartbeatTime)
		}
		if c.Status == corev1.ConditionUnknown {
			continue
		}
		patch.add(path+"/status", corev1.ConditionUnknown)
		patch.add(path+"/reason", ReasonStopped)
		patch.add(path+"/message", messageStopped)
		patch.add(path+"/lastTransitionTime", metav1.NewTime(now))
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, false, fmt.Errorf("encode status patch of node %s: %w", node.Name, err)
	}
	return data, true, nil
}

// PodNotReadyPatch returns the patch that records that a pod is not ready. It
// is for the pods of a node that is not ready, whose endpoints must not get
// traffic. It returns false when the pod's Ready condition is False or missing.
// The API server refuses the patch when the pod is another one or that
// condition has changed. A pod without a UID is an error.
func PodNotReadyPatch(pod *corev1.Pod, now time.Time) ([]byte, bool, error) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodReady || c.Status == corev1.ConditionFalse {
			continue
		}
		if pod.UID == "" {
			return nil, false, fmt.Errorf("pod %s/%s has no UID to guard a status patch with",
				pod.Namespace, pod.Name)
		}
		path := conditionPath(i)
		patch := make(patch, 0, 6)
		patch.test("/metadata/uid", pod.UID)
		patch.test(path+"/type", c.Type)
		patch.test(path+"/status", c.Status)
		patch.test(path+"/lastTransitionTime", c.LastTransitionTime)
		patch.add(path+"/status", corev1.ConditionFalse)
		patch.add(path+"/lastTransitionTime", metav1.NewTime(now))
		data, err := json.Marshal(patch)
		if err != nil {
			return nil, false, fmt.Errorf("encode status patch of pod %s/%s: %w",
				pod.Namespace, pod.Name, err)
		}
		return data, true, nil
	}
	return nil, false, nil
}

// ReadyStatus returns the status of the node's Ready condition. It is empty
// when the node has none, because it has not reported yet. That is no reason to
// act: the condition becomes Unknown when the startup grace period ends.
func ReadyStatus(node *corev1.Node) corev1.ConditionStatus {
	if ready := readyCondition(node); ready != nil {
		return ready.Status
	}
	return ""
}

func neverReported(
	node *corev1.Node, kind corev1.NodeConditionType, now time.Time,
) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type:               kind,
		Status:             corev1.ConditionUnknown,
		Reason:             ReasonNeverReported,
		Message:            messageNeverReported,
		LastHeartbeatTime:  node.CreationTimestamp,
		LastTransitionTime: metav1.NewTime(now),
	}
}

// declaredByObserver reports whether an observer of the node wrote the
// condition, instead of its kubelet.
func declaredByObserver(c *corev1.NodeCondition) bool {
	return c.Status == corev1.ConditionUnknown &&
		(c.Reason == ReasonStopped || c.Reason == ReasonNeverReported)
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	if i := conditionIndex(node, corev1.NodeReady); i >= 0 {
		return &node.Status.Conditions[i]
	}
	return nil
}

func conditionIndex(node *corev1.Node, kind corev1.NodeConditionType) int {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return i
		}
	}
	return -1
}

const conditionsPath = "/status/conditions"

func conditionPath(i int) string { return conditionsPath + "/" + strconv.Itoa(i) }

// patch is a JSON Patch. It tests and sets single fields instead of whole
// conditions. Fields that only a newer API server knows then neither fail the
// test nor get lost.
type patch []operation

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (p *patch) test(path string, value any) { *p = append(*p, operation{"test", path, value}) }

// add sets a field, whether it is present or not.
func (p *patch) add(path string, value any) { *p = append(*p, operation{"add", path, value}) }
