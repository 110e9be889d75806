package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Most patches are JSON Patches that test and set a few fields. For these an
// object need not become JSON and back, which is seven times slower and would
// be a fifth of a long run. What is not such a patch goes the long way; a test
// compares the two.

// operation is one of a JSON Patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// patchNodeFields applies a patch that sets fields of a node, and reports
// whether it is one.
func patchNodeFields(before *corev1.Node, call *Call) (*corev1.Node, bool, error) {
	after := *before
	after.Status.Conditions = slices.Clone(before.Status.Conditions)
	ok, err := patchFields(call, func(path string) any {
		if path == "/spec/taints" {
			return &after.Spec.Taints
		}
		if field := metadataField(path, &after.ObjectMeta); field != nil {
			return field
		}
		i, name := conditionField(path, len(after.Status.Conditions))
		if i < 0 {
			return nil
		}
		c := &after.Status.Conditions[i]
		if name == "lastHeartbeatTime" {
			return &c.LastHeartbeatTime
		}
		return fieldOf(name, (*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message, &c.LastTransitionTime)
	})
	return &after, ok, err
}

// patchPodFields is like patchNodeFields.
func patchPodFields(before *corev1.Pod, call *Call) (*corev1.Pod, bool, error) {
	after := *before
	after.Status.Conditions = slices.Clone(before.Status.Conditions)
	ok, err := patchFields(call, func(path string) any {
		if field := metadataField(path, &after.ObjectMeta); field != nil {
			return field
		}
		i, name := conditionField(path, len(after.Status.Conditions))
		if i < 0 {
			return nil
		}
		c := &after.Status.Conditions[i]
		return fieldOf(name, (*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message, &c.LastTransitionTime)
	})
	return &after, ok, err
}

// metadataField returns what a patch can test of an object's metadata, nil for
// all else.
func metadataField(path string, meta *metav1.ObjectMeta) any {
	switch path {
	case "/metadata/uid":
		return (*string)(&meta.UID)
	case "/metadata/resourceVersion":
		return &meta.ResourceVersion
	}
	return nil
}

// conditionField takes the path of a field of a condition apart. It returns -1
// if it is none, or none of n.
func conditionField(path string, n int) (int, string) {
	rest, ok := strings.CutPrefix(path, "/status/conditions/")
	index, name, named := strings.Cut(rest, "/")
	i, err := strconv.Atoi(index)
	if !ok || !named || err != nil || i < 0 || i >= n {
		return -1, ""
	}
	return i, name
}

func fieldOf(name string, kind, status, reason, message *string, transition *metav1.Time) any {
	switch name {
	case "type":
		return kind
	case "status":
		return status
	case "reason":
		return reason
	case "message":
		return message
	case "lastTransitionTime":
		return transition
	}
	return nil
}

// patchFields applies operations to fields, which find returns as pointers. It
// reports false, and has then changed what does not matter, if there is
// anything else in the patch.
func patchFields(call *Call, find func(path string) any) (bool, error) {
	operations, ok := decode(call)
	if !ok {
		return false, nil
	}
	for _, o := range operations {
		status := strings.HasPrefix(o.Path, "/status/")
		if o.Op == "add" && status != (call.Subresource == "status") {
			return false, nil
		}
		field := find(o.Path)
		if field == nil {
			return false, nil
		}
		var same, ok bool
		switch o.Op {
		case "test":
			same, ok = equalTo(field, o.Value)
			if ok && !same {
				return true, invalid(call, "testing path "+o.Path+" failed")
			}
		case "add":
			ok = !strings.HasPrefix(o.Path, "/metadata/") && set(field, o.Value)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// decode returns the operations of a JSON Patch. What cannot be read is left to
// the long way, which says what is wrong.
func decode(call *Call) (operations []operation, ok bool) {
	if call.PatchType != types.JSONPatchType {
		return nil, false
	}
	err := json.Unmarshal(call.Data, &operations)
	return operations, err == nil
}

// equalTo reports whether a field has the value. Ok is false for what it does
// not know.
func equalTo(field any, value json.RawMessage) (same, ok bool) {
	switch field := field.(type) {
	case *string:
		var want string
		err := json.Unmarshal(value, &want)
		return *field == want, err == nil && want != ""
	case *metav1.Time:
		var want metav1.Time
		err := json.Unmarshal(value, &want)
		return field.Unix() == want.Unix(), err == nil && !want.IsZero() && !field.IsZero()
	case *[]corev1.Taint:
		var want []corev1.Taint
		err := json.Unmarshal(value, &want)
		// A missing list is null, an empty one cannot be told from it here.
		return equality.Semantic.DeepEqual(*field, want), err == nil && (want == nil || len(want) > 0)
	}
	return false, false
}

// set sets a field to a value.
func set(field any, value json.RawMessage) bool {
	switch field := field.(type) {
	case *string:
		return json.Unmarshal(value, field) == nil
	case *metav1.Time:
		return json.Unmarshal(value, field) == nil
	case *[]corev1.Taint:
		*field = nil // or Unmarshal would write into the old list
		return json.Unmarshal(value, field) == nil
	}
	return false
}
