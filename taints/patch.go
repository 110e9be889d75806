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

// Patch returns the JSON Patch that gives the node the taints next, if the node
// is still the one with this UID and its taints are still these. The API server
// refuses it otherwise; see [GuardFailed].
//
// The guard is a test of the list itself, not the resourceVersion, so that the
// node's other writers, its heartbeats above all, do not stand in the way. A node
// without a UID is an error: the guard would fail for ever.
func Patch(node *corev1.Node, next []corev1.Taint) ([]byte, error) {
	if node.UID == "" {
		return nil, fmt.Errorf("node %s has no UID to guard a taint patch with", node.Name)
	}
	current := node.Spec.Taints
	if len(current) == 0 {
		current = nil // a list that is missing tests equal to null, not to [] (seen on v1.37.1)
	}
	if next == nil {
		next = []corev1.Taint{} // plainer than null, which v1.37.1 takes as well
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

// GuardFailed reports whether an API error says that a [Patch] no longer fits
// the node, and not that something is wrong with it. kube-apiserver v1.37
// answers a failed test with 422 Invalid and, unlike to a taint that does not
// validate, names no field.
func GuardFailed(err error) bool {
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
