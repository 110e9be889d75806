// Package apipatch applies patches to objects in memory as an API server does.
// It has the same kinds of patches, the same library for JSON Patches, and the
// same answers when one does not apply. It stores nothing and checks no guard
// in the object's metadata; what holds the objects does that.
package apipatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrNotObject says that something is no object of the API.
var ErrNotObject = errors.New("the type of the object is not an API type")

// Apply returns the patched copy of an object. The documents are those that a
// real server patches, with the same library for JSON Patches. So a missing
// list is equal to null in a test, as it is there.
//
// The copy may share with current what the patch leaves alone, so that neither
// may be modified in depth. Two frequent kinds of patches are applied without
// JSON, with the same result. One is a JSON Patch that tests and sets a few
// fields of a node or a pod. The other is a strategic merge patch that sets one
// condition of a pod.
func Apply(current runtime.Object, kind types.PatchType, patch []byte) (runtime.Object, error) {
	switch kind {
	case types.JSONPatchType:
		if next, ok := applyFields(current, patch); ok {
			return next, nil
		}
	case types.StrategicMergePatchType:
		if next, ok := applyCondition(current, patch); ok {
			return next, nil
		}
	}
	return applyDocument(current, kind, patch)
}

// applyDocument applies any patch.
func applyDocument(current runtime.Object, kind types.PatchType, patch []byte) (runtime.Object, error) {
	if kind == types.StrategicMergePatchType {
		return applyStrategic(current, patch)
	}
	document, err := json.Marshal(current)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	patched, err := patchDocument(document, kind, patch)
	if err != nil {
		return nil, err
	}
	next, err := Decode(patched, current)
	if err != nil {
		return nil, unfit(patch, err)
	}
	return next, nil
}

// applyStrategic merges a patch into the fields of the object, without its
// JSON, as kube-apiserver does.
func applyStrategic(current runtime.Object, patch []byte) (runtime.Object, error) {
	convert := runtime.DefaultUnstructuredConverter
	fields, err := convert.ToUnstructured(current)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var changes map[string]any
	if err := kjson.Unmarshal(patch, &changes); err != nil {
		return nil, strategicPatchError(mergepatch.ErrBadJSONDoc)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(fields, changes, current)
	if err != nil {
		return nil, strategicPatchError(err)
	}
	next, err := newLike(current)
	if err != nil {
		return nil, err
	}
	if err := convert.FromUnstructured(merged, next); err != nil {
		return nil, unfit(patch, err)
	}
	next.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return next, nil
}

// unfit is the answer to a patch whose result is no object.
func unfit(patch []byte, err error) error {
	fault := field.Invalid(field.NewPath("patch"), string(patch), err.Error())
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{fault})
}

func patchDocument(document []byte, kind types.PatchType, patch []byte) ([]byte, error) {
	switch kind {
	case types.JSONPatchType:
		return jsonPatch(document, patch)
	case types.MergePatchType:
		patched, err := jsonpatch.MergePatch(document, patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	}
	return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, "",
		fmt.Sprintf("patches of the type %s are not served", kind), 0, false)
}

func jsonPatch(document, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched, err := operations.Apply(document)
	if err != nil {
		return nil, unprocessable(err)
	}
	return patched, nil
}

func strategicPatchError(err error) error {
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return unprocessable(err)
	}
	return apierrors.NewBadRequest(err.Error())
}

// unprocessable is what a real server answers to a JSON Patch that does not
// apply: 422 with the reason Invalid and nothing in the details.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(),
		0, false)
}

// Decode reads a document into a new object of the type of like. Typed clients
// leave kind and apiVersion empty, so it does too.
func Decode(document []byte, like runtime.Object) (runtime.Object, error) {
	object, err := newLike(like)
	if err != nil {
		return nil, err
	}
	if err := kjson.Unmarshal(document, object); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object, nil
}

// newLike returns a new object of the type of like.
func newLike(like runtime.Object) (runtime.Object, error) {
	object, ok := reflect.TypeAssert[runtime.Object](reflect.New(reflect.TypeOf(like).Elem()))
	if !ok {
		return nil, ErrNotObject
	}
	return object, nil
}
