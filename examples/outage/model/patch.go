package model

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// A patch is applied to the part of an object that can change. To encode, patch
// and decode a whole object would be most of the time of a run.

// metadata is what a patch can test or change of an object's metadata.
type metadata struct {
	Name            string            `json:"name,omitempty"`
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type nodePart struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Unschedulable bool           `json:"unschedulable,omitempty"`
		Taints        []corev1.Taint `json:"taints,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []corev1.NodeCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	} `json:"status"`
}

type podPart struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Reason     string                `json:"reason,omitempty"`
		Message    string                `json:"message,omitempty"`
		Conditions []corev1.PodCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	} `json:"status"`
}

func patchNode(before *corev1.Node, call *Call) (*corev1.Node, error) {
	if after, ok, err := patchNodeFields(before, call); ok {
		return after, err
	}
	var part, patched nodePart
	part.Metadata = metadata{before.Name, before.UID, before.ResourceVersion, before.Labels, before.Annotations}
	part.Spec.Unschedulable, part.Spec.Taints = before.Spec.Unschedulable, before.Spec.Taints
	part.Status.Conditions = before.Status.Conditions
	if err := apply(call, part, &patched); err != nil {
		return nil, err
	}
	if err := sameObject(call, part.Metadata, patched.Metadata); err != nil {
		return nil, err
	}
	after := *before
	if call.Subresource == "status" {
		after.Status.Conditions = patched.Status.Conditions
		return &after, nil
	}
	after.Labels, after.Annotations = patched.Metadata.Labels, patched.Metadata.Annotations
	after.Spec.Unschedulable, after.Spec.Taints = patched.Spec.Unschedulable, patched.Spec.Taints
	return &after, nil
}

func patchPod(before *corev1.Pod, call *Call) (*corev1.Pod, error) {
	if after, ok, err := patchPodFields(before, call); ok {
		return after, err
	}
	var part, patched podPart
	part.Metadata = metadata{before.Name, before.UID, before.ResourceVersion, before.Labels, before.Annotations}
	part.Status.Reason, part.Status.Message = before.Status.Reason, before.Status.Message
	part.Status.Conditions = before.Status.Conditions
	if err := apply(call, part, &patched); err != nil {
		return nil, err
	}
	if err := sameObject(call, part.Metadata, patched.Metadata); err != nil {
		return nil, err
	}
	if call.Subresource != "status" {
		return nil, fmt.Errorf("the model patches only the status of pods")
	}
	after := *before
	after.Status.Reason, after.Status.Message = patched.Status.Reason, patched.Status.Message
	after.Status.Conditions = patched.Status.Conditions
	return &after, nil
}

// sameObject refuses what the API server refuses: a patch that would change the
// UID, which is how a patch names its object, or that was made for another
// version.
func sameObject(call *Call, before, after metadata) error {
	switch {
	case before.UID != after.UID:
		return failure(call, 422, "metadata.uid: field is immutable")
	case before.ResourceVersion != after.ResourceVersion:
		return conflict(call, "the object has been modified")
	}
	return nil
}

// apply applies a patch to a part of an object.
func apply(call *Call, part, into any) error {
	document, err := json.Marshal(part)
	if err != nil {
		return fmt.Errorf("encode what to patch: %w", err)
	}
	var patched []byte
	switch call.PatchType {
	case types.JSONPatchType:
		patched, err = applyJSONPatch(call, document)
	case types.StrategicMergePatchType:
		patched, err = strategicpatch.StrategicMergePatch(document, call.Data, part)
	default:
		err = fmt.Errorf("the model has no patches of type %s", call.PatchType)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(patched, into)
}

func applyJSONPatch(call *Call, document []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(call.Data)
	if err != nil {
		return nil, failure(call, 400, err.Error())
	}
	patched, err := patch.Apply(document)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return nil, invalid(call, err.Error())
	}
	if err != nil {
		return nil, failure(call, 422, err.Error())
	}
	return patched, nil
}
