package apipatch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Most patches of a node lifecycle controller are JSON Patches that test and
// set a few fields. For these an object need not become JSON and back, which is
// several times slower. All else goes the general way, and so does a patch of
// which anything does not hold, so that its refusal is the general one.

// operation is one of a JSON Patch, in the JSON of the patch. It is decoded no
// further: null and escaped text have a meaning of their own in the general
// way.
type operation struct {
	Op    json.RawMessage `json:"op"`
	Path  json.RawMessage `json:"path"`
	Value json.RawMessage `json:"value"`
}

// usualOperations is how many the patch of a pod's condition has.
const usualOperations = 6

// applyFields applies a JSON Patch that tests and sets fields of a node or a
// pod. It reports false for any other, and for one that does not apply.
func applyFields(current runtime.Object, patch []byte) (runtime.Object, bool) {
	operations := make([]operation, 0, usualOperations)
	find, next := fieldsOf(current)
	if find == nil || kjson.Unmarshal(patch, &operations) != nil || len(operations) == 0 {
		return nil, false
	}
	for i := range operations {
		o := &operations[i]
		path, ok := unquote(o.Path)
		if !ok {
			return nil, false
		}
		m := find(path)
		switch string(o.Op) {
		case `"test"`:
			ok = m != nil && m.test(o.Value)
		case `"add"`:
			ok = m != nil && !strings.HasPrefix(path, "/metadata/") && m.set(o.Value)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return next, true
}

// member is a part of an object that a patch can test and set. Both report
// false for what they do not hold or know. A value is set only if the API
// encodes it as the patch writes it. A later test then meets the same text.
type member interface {
	test(value json.RawMessage) bool
	set(value json.RawMessage) bool
}

// fieldsOf returns a copy of an object and finds its fields by their paths, nil
// for all that need the general way. The copy shares what the patch leaves
// alone.
func fieldsOf(current runtime.Object) (find func(path string) member, next runtime.Object) {
	switch current := current.(type) {
	case *corev1.Node:
		after := *current
		after.SetGroupVersionKind(schema.GroupVersionKind{})
		own := false
		taints := &taintsMember{taints: &after.Spec.Taints}
		return func(path string) member {
			if path == "/spec/taints" {
				return taints
			}
			i, name := conditionField(path, len(after.Status.Conditions))
			if i < 0 {
				return metadataField(path, &after.ObjectMeta)
			}
			if !own {
				own, after.Status.Conditions = true, slices.Clone(after.Status.Conditions)
			}
			c := &after.Status.Conditions[i]
			if name == "lastHeartbeatTime" {
				return (*timeMember)(&c.LastHeartbeatTime)
			}
			return fieldOf(name, (*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message, &c.LastTransitionTime)
		}, &after
	case *corev1.Pod:
		after := *current
		after.SetGroupVersionKind(schema.GroupVersionKind{})
		own := false
		return func(path string) member {
			i, name := conditionField(path, len(after.Status.Conditions))
			if i < 0 {
				return metadataField(path, &after.ObjectMeta)
			}
			if !own {
				own, after.Status.Conditions = true, slices.Clone(after.Status.Conditions)
			}
			c := &after.Status.Conditions[i]
			return fieldOf(name, (*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message, &c.LastTransitionTime)
		}, &after
	}
	return nil, nil
}

// metadataField finds what is tested of an object's metadata.
func metadataField(path string, m *metav1.ObjectMeta) member {
	switch path {
	case "/metadata/uid":
		return (*textMember)((*string)(&m.UID))
	case "/metadata/resourceVersion":
		return (*textMember)(&m.ResourceVersion)
	}
	return nil
}

// conditionField takes the path of a field of a condition apart. It returns -1
// for any other path, and when there are only n conditions.
func conditionField(path string, n int) (int, string) {
	rest, ok := strings.CutPrefix(path, "/status/conditions/")
	index, name, named := strings.Cut(rest, "/")
	i, err := strconv.Atoi(index)
	if !ok || !named || err != nil || i < 0 || i >= n {
		return -1, ""
	}
	return i, name
}

func fieldOf(name string, kind, status, reason, message *string, transition *metav1.Time) member {
	switch name {
	case "type":
		return (*textMember)(kind)
	case "status":
		return (*textMember)(status)
	case "reason":
		return (*textMember)(reason)
	case "message":
		return (*textMember)(message)
	case "lastTransitionTime":
		return (*timeMember)(transition)
	}
	return nil
}

type textMember string

// test leaves the empty text to the general way: JSON may not have the field.
func (f *textMember) test(value json.RawMessage) bool {
	return *f != "" && encodes(string(*f), value)
}

func (f *textMember) set(value json.RawMessage) bool {
	text, ok := unquote(value)
	if !ok {
		if kjson.Unmarshal(value, &text) != nil || !encodes(text, value) {
			return false
		}
	}
	*f = textMember(text)
	return true
}

type timeMember metav1.Time

func (f *timeMember) test(value json.RawMessage) bool {
	return !(*metav1.Time)(f).IsZero() && string(value) == f.encoded()
}

func (f *timeMember) encoded() string { return f.UTC().Format(`"` + time.RFC3339 + `"`) }

func (f *timeMember) set(value json.RawMessage) bool {
	var at metav1.Time
	if !setTime(&at, value) || at.IsZero() {
		return false
	}
	*f = timeMember(at)
	return string(value) == f.encoded()
}

type taintsMember struct {
	taints *[]corev1.Taint
	// emptied says that the list was set to one without taints, which JSON has,
	// unlike the list that is missing.
	emptied bool
}

func (f *taintsMember) test(value json.RawMessage) bool {
	if len(*f.taints) == 0 {
		return !f.emptied && string(value) == "null"
	}
	return encodes(*f.taints, value)
}

func (f *taintsMember) set(value json.RawMessage) bool {
	var taints []corev1.Taint
	if kjson.Unmarshal(value, &taints) != nil || !encodes(taints, value) {
		return false
	}
	*f.taints, f.emptied = taints, len(taints) == 0
	return taints != nil
}

// encodes reports whether a value has that JSON.
func encodes(value any, as json.RawMessage) bool {
	if text, ok := value.(string); ok {
		if plain, ok := unquote(as); ok {
			return plain == text
		}
	}
	document, err := json.Marshal(value)
	return err == nil && bytes.Equal(document, as)
}

// unquote returns the text of a JSON string without anything that JSON can
// write in several ways.
func unquote(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	text := value[1 : len(value)-1]
	for _, c := range text {
		if c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return "", false
		}
	}
	return string(text), true
}
