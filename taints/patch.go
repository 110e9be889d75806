package taints

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// PatchType is the kind of patch that [Patch] returns.
const PatchType = types.JSONPatchType

// Patch returns the JSON Patch that gives the node the taints next. The API
// server refuses it unless the node still has this UID and these taints; see
// [IsStale].
//
// The guard tests the list instead of the resourceVersion, so that it does not
// conflict with the node's other writers, above all its heartbeats. A node
// without a UID is an error, because the guard would always fail.
//
// The guard is for nodes only. The API server decodes a Node, and encodes its
// taints with the type that Patch uses. It stores a custom resource as its
// writers have sent it. There a taint with an empty value or a null timeAdded
// equals no list of ours, and each patch is refused. Nothing else tells the two
// lists apart, so no retry helps. Guard a patch of another kind by its
// resourceVersion.
func Patch(node *corev1.Node, next []corev1.Taint) ([]byte, error) {
	if node.UID == "" {
		return nil, fmt.Errorf("node %s has no UID to guard a taint patch with", node.Name)
	}
	current := node.Spec.Taints
	if len(current) == 0 {
		// A missing list tests equal to null, and not to [] (seen on v1.37.1).
		current = nil
	}
	if next == nil {
		next = []corev1.Taint{} // clearer than null, which v1.37.1 accepts too
	}
	patch, err := json.Marshal([]operation{
		{"test", "/metadata/uid", node.UID},
		{"test", "/spec/taints", current},
		{"add", "/spec/taints", next},
	})
	if err != nil {
		return nil, fmt.Errorf("encode taint patch of node %s: %w", node.Name, err)
	}
	return patch, nil
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// IsStale reports whether an API error means that the node or its taints have
// changed since a [Patch] was computed. kube-apiserver v1.37 answers a failed
// test with 422 Invalid that names no field. For a taint that does not validate
// it names the field.
func IsStale(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}
