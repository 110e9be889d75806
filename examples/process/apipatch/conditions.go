package apipatch

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The other frequent patch is a strategic merge patch that sets one condition
// of a pod, guarded by its UID and version. It is applied without JSON as well.

// longestCondition is more than a patch of one condition has. Longer ones, such
// as whole statuses, are not worth a look.
const longestCondition = 1 << 10

// applyCondition applies such a patch. It reports false for any other.
func applyCondition(current runtime.Object, patch []byte) (runtime.Object, bool) {
	pod, ok := current.(*corev1.Pod)
	if !ok || len(patch) > longestCondition {
		return nil, false
	}
	after := *pod
	after.SetGroupVersionKind(schema.GroupVersionKind{})
	return &after, eachMember(patch, func(name string, value json.RawMessage) bool {
		switch name {
		case "metadata":
			return eachMember(value, func(name string, value json.RawMessage) bool {
				switch name {
				case "uid":
					return setText((*string)(&after.UID), value)
				case "resourceVersion":
					return setText(&after.ResourceVersion, value)
				}
				return false
			})
		case "status":
			return eachMember(value, func(name string, value json.RawMessage) bool {
				switch name {
				case "reason":
					return setText(&after.Status.Reason, value)
				case "message":
					return setText(&after.Status.Message, value)
				case "conditions":
					return mergeCondition(&after.Status, value)
				}
				return false
			})
		}
		return false
	})
}

// eachMember visits the members of a JSON object until visit reports false. It
// reports whether there is such an object and all members were visited.
func eachMember(object json.RawMessage, visit func(name string, value json.RawMessage) bool) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return false
	}
	for name, value := range members {
		if !visit(name, value) {
			return false
		}
	}
	return true
}

// mergeCondition merges a list of one condition into those of a pod, by type. A
// type that is there once keeps its place, and a new one comes first.
func mergeCondition(status *corev1.PodStatus, list json.RawMessage) bool {
	var elements []json.RawMessage
	var key struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(list, &elements) != nil || len(elements) != 1 ||
		json.Unmarshal(elements[0], &key) != nil || key.Type == "" {
		return false
	}
	at := -1
	for i := range status.Conditions {
		if string(status.Conditions[i].Type) != key.Type {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	if at < 0 {
		at, status.Conditions = 0, slices.Insert(slices.Clone(status.Conditions), 0, corev1.PodCondition{})
	} else {
		status.Conditions = slices.Clone(status.Conditions)
	}
	c := &status.Conditions[at]
	return eachMember(elements[0], func(name string, value json.RawMessage) bool {
		switch name {
		case "type":
			return setText((*string)(&c.Type), value) && string(c.Type) == key.Type
		case "status":
			return setText((*string)(&c.Status), value)
		case "reason":
			return setText(&c.Reason, value)
		case "message":
			return setText(&c.Message, value)
		case "lastTransitionTime":
			return setTime(&c.LastTransitionTime, value)
		}
		return false
	})
}

func setText(text *string, value json.RawMessage) bool {
	if plain, ok := unquote(value); ok {
		*text = plain
		return true
	}
	return len(value) > 0 && value[0] == '"' && json.Unmarshal(value, text) == nil
}

func setTime(at *metav1.Time, value json.RawMessage) bool {
	return len(value) > 0 && value[0] == '"' && at.UnmarshalJSON(value) == nil
}
