package heartbeat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// statusReport decides what one node must write. It holds the newest state of
// the API server that we have seen, and which part of it we have written.
//
// Whether a report is due follows from that state, and not from the former
// result of Status. A caller may change its status in place, and other clients
// write to the Node too.
type statusReport struct {
	// version and status are the newest state that we know. Without a version,
	// none is known.
	version string
	status  corev1.NodeStatus
	// answeredAt is when the API server answered with version, zero if the cache
	// has shown it. Older versions in the cache are ignored for cacheDelay then.
	answeredAt time.Time
	// mentioned is what our reports mentioned. Only that is removed when a report
	// does not mention it any more.
	mentioned mentioned
	// refused is what we wrote and the API server did not accept, because a
	// feature gate is off or a webhook changed it. It must not cause a report at
	// each check.
	refused []byte
}

// mentioned is what one status holds of lists that have several authors.
type mentioned struct {
	conditions            []corev1.NodeConditionType
	capacity, allocatable []corev1.ResourceName
}

// cacheDelay is far above the delay of a watch that works. A cache that shows an
// older version for longer shows a restored backup of the API server's store. If
// it is late all the same, the API server refuses the next report, and the node
// is read.
const cacheDelay = 2 * time.Minute

// observe records the node as a cache or a read shows it, unless the cache is
// behind what is known. It reports whether it is this node, and not another one
// of its name.
func (r *statusReport) observe(now time.Time, node *corev1.Node, uid types.UID) bool {
	if r.version != "" {
		order, err := resourceversion.CompareResourceVersion(node.ResourceVersion, r.version)
		isBehind := order < 0 && now.Sub(r.answeredAt) < cacheDelay
		// The answer to our report, when the cache has it too, is kept once.
		if err != nil || isBehind || order == 0 && node.UID != uid {
			return true
		}
	}
	if node.UID != uid {
		return false
	}
	r.version, r.status, r.answeredAt = node.ResourceVersion, node.Status, time.Time{}
	return true
}

// forget makes the next check start from a read: what we know is out of date.
func (r *statusReport) forget() { r.version, r.status = "", corev1.NodeStatus{} }

// changed reports whether the API server's state is other than desired, apart
// from times and from what it has refused.
func (r *statusReport) changed(desired *corev1.NodeStatus) (bool, error) {
	difference, err := statusDifference(&r.status, desired, r.mentioned)
	if err != nil || len(difference) == 0 {
		return false, err
	}
	if r.refused == nil {
		return true, nil
	}
	asked, err := json.Marshal(difference)
	if err != nil {
		return false, err
	}
	return !bytes.Equal(asked, r.refused), nil
}

// patch is the strategic merge patch of the status subresource from the API
// server's state to desired. It sets the times of our conditions to now. It is
// guarded by the version that it was computed from. In a later version another
// client may have set a condition, and the transition time would be wrong.
func (r *statusReport) patch(
	uid types.UID, desired *corev1.NodeStatus, now time.Time,
) ([]byte, error) {
	status, err := statusDifference(&r.status, desired, r.mentioned)
	if err != nil {
		return nil, err
	}
	conditions := conditionPatches(
		r.status.Conditions, desired.Conditions, r.mentioned.conditions, now)
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	// It is recorded before the call, which may succeed although its answer is
	// lost.
	r.mentioned = r.mentioned.and(mentionedBy(desired))
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": r.version},
		"status":   status,
	})
}

// answered records the API server's answer to a patch.
func (r *statusReport) answered(now time.Time, node *corev1.Node, desired *corev1.NodeStatus) error {
	r.version, r.status, r.answeredAt, r.refused = node.ResourceVersion, node.Status, now, nil
	r.mentioned = mentionedBy(desired)
	difference, err := statusDifference(&r.status, desired, r.mentioned)
	if err != nil || len(difference) == 0 {
		return err
	}
	r.refused, err = json.Marshal(difference)
	return err
}

// statusDifference maps the fields that desired mentions, and in which it
// differs from base, to their values in a strategic merge patch. Reflection
// over NodeStatus includes the fields that later versions of the API add.
func statusDifference(base, desired *corev1.NodeStatus, former mentioned) (map[string]any, error) {
	difference := map[string]any{}
	have, want := reflect.ValueOf(base).Elem(), reflect.ValueOf(desired).Elem()
	for i := range want.NumField() {
		if want.Field(i).IsZero() {
			continue
		}
		field := want.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch field.Name {
		case "Conditions":
			changes := conditionDifference(base.Conditions, desired.Conditions, former.conditions)
			if len(changes) > 0 {
				difference[name] = changes
			}
		case "Capacity":
			changes := resourceDifference(base.Capacity, desired.Capacity, former.capacity)
			if len(changes) > 0 {
				difference[name] = changes
			}
		case "Allocatable":
			changes := resourceDifference(base.Allocatable, desired.Allocatable, former.allocatable)
			if len(changes) > 0 {
				difference[name] = changes
			}
		case "VolumesAttached": // not a node's to write
		default:
			change, differs, err := fieldDifference(have.Field(i).Interface(), want.Field(i).Interface())
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", name, err)
			}
			if differs {
				difference[name] = change
			}
		}
	}
	return difference, nil
}

// fieldDifference is for the fields that have one author.
func fieldDifference(have, want any) (change any, differs bool, err error) {
	if equality.Semantic.DeepEqual(have, want) {
		return nil, false, nil
	}
	if addresses, ok := want.([]corev1.NodeAddress); ok {
		return addressesPatch(addresses), true, nil
	}
	if reflect.Indirect(reflect.ValueOf(want)).Kind() == reflect.Struct {
		object, err := objectDifference(have, want)
		return object, true, err
	}
	return want, true, nil
}

func resourceDifference(
	have, want corev1.ResourceList, former []corev1.ResourceName,
) map[corev1.ResourceName]any {
	changes := map[corev1.ResourceName]any{}
	for name, quantity := range want {
		if has, ok := have[name]; !ok || has.Cmp(quantity) != 0 {
			changes[name] = quantity
		}
	}
	for _, name := range former {
		_, wanted := want[name]
		if _, there := have[name]; there && !wanted {
			changes[name] = nil // null removes it
		}
	}
	return changes
}

// addressesPatch replaces the list. A merge has the type as its key, and a node
// with two address families has two addresses of one type
// (k8s.io/component-helpers/node/util/status.go).
func addressesPatch(addresses []corev1.NodeAddress) []any {
	patch := make([]any, 0, len(addresses)+1)
	for _, address := range addresses {
		patch = append(patch, address)
	}
	return append(patch, map[string]any{"$patch": "replace"})
}

// objectDifference compares structs as the JSON objects that a merge patch
// works on: a member that is only in have becomes null.
func objectDifference(have, want any) (map[string]any, error) {
	from, err := jsonObject(have)
	if err != nil {
		return nil, err
	}
	to, err := jsonObject(want)
	if err != nil {
		return nil, err
	}
	return mergeObject(from, to), nil
}

func mergeObject(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for name := range from {
		if _, ok := to[name]; !ok {
			patch[name] = nil
		}
	}
	for name, value := range to {
		if reflect.DeepEqual(from[name], value) {
			continue
		}
		before, wasObject := from[name].(map[string]any)
		after, isObject := value.(map[string]any)
		if wasObject && isObject {
			patch[name] = mergeObject(before, after)
			continue
		}
		patch[name] = value
	}
	return patch
}

func jsonObject(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	return object, json.Unmarshal(text, &object)
}

// mentionedBy returns what a status mentions. A list that is nil removes
// nothing.
func mentionedBy(status *corev1.NodeStatus) mentioned {
	var m mentioned
	for _, condition := range status.Conditions {
		m.conditions = append(m.conditions, condition.Type)
	}
	for name := range status.Capacity {
		m.capacity = append(m.capacity, name)
	}
	for name := range status.Allocatable {
		m.allocatable = append(m.allocatable, name)
	}
	return m
}

func (m mentioned) and(more mentioned) mentioned {
	m.conditions = union(m.conditions, more.conditions)
	m.capacity = union(m.capacity, more.capacity)
	m.allocatable = union(m.allocatable, more.allocatable)
	return m
}

func union[T comparable](list, more []T) []T {
	list = slices.Clip(list)
	for _, element := range more {
		if !slices.Contains(list, element) {
			list = append(list, element)
		}
	}
	return list
}

// conditionPatch has no omitempty: a reason that is gone must be overwritten.
type conditionPatch struct {
	Type               corev1.NodeConditionType `json:"type"`
	Status             corev1.ConditionStatus   `json:"status"`
	Reason             string                   `json:"reason"`
	Message            string                   `json:"message"`
	LastHeartbeatTime  *metav1.Time             `json:"lastHeartbeatTime,omitempty"`
	LastTransitionTime *metav1.Time             `json:"lastTransitionTime,omitempty"`
}

// conditionDifference ignores times, which alone are no reason to report.
func conditionDifference(
	have, want []corev1.NodeCondition, former []corev1.NodeConditionType,
) []any {
	var changes []any
	for _, condition := range want {
		has, ok := findCondition(have, condition.Type)
		if !ok || has.Status != condition.Status || has.Reason != condition.Reason ||
			has.Message != condition.Message {
			changes = append(changes, conditionPatch{
				Type: condition.Type, Status: condition.Status,
				Reason: condition.Reason, Message: condition.Message,
			})
		}
	}
	return append(changes, conditionRemovals(have, want, former)...)
}

// conditionPatches returns all of want, with times. As with the kubelet, only
// a change of the status is a transition (ReadyCondition in
// pkg/kubelet/nodestatus/setters.go).
func conditionPatches(
	have, want []corev1.NodeCondition, former []corev1.NodeConditionType, now time.Time,
) []any {
	if want == nil {
		return nil
	}
	var patches []any
	for _, condition := range want {
		heartbeat := metav1.NewTime(now)
		transition := heartbeat
		has, ok := findCondition(have, condition.Type)
		if ok && has.Status == condition.Status && !has.LastTransitionTime.IsZero() {
			transition = has.LastTransitionTime
		}
		patches = append(patches, conditionPatch{
			Type: condition.Type, Status: condition.Status,
			Reason: condition.Reason, Message: condition.Message,
			LastHeartbeatTime: &heartbeat, LastTransitionTime: &transition,
		})
	}
	return append(patches, conditionRemovals(have, want, former)...)
}

func conditionRemovals(have, want []corev1.NodeCondition, former []corev1.NodeConditionType) []any {
	var removals []any
	for _, kind := range former {
		_, there := findCondition(have, kind)
		if _, wanted := findCondition(want, kind); there && !wanted {
			removals = append(removals, map[string]any{"$patch": "delete", "type": kind})
		}
	}
	return removals
}

func findCondition(
	conditions []corev1.NodeCondition, kind corev1.NodeConditionType,
) (corev1.NodeCondition, bool) {
	for _, condition := range conditions {
		if condition.Type == kind {
			return condition, true
		}
	}
	return corev1.NodeCondition{}, false
}
