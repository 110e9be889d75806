package kubelet

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatchType is the type of the patches of [StatusPatch].
const StatusPatchType = types.StrategicMergePatchType

// StatusPatch returns the patch that makes the status of a pod this one. It is
// guarded by the pod's UID, and needs no status before. Each field of the
// kubelet is in it, so that an answer that was lost or a cache that is late
// leaves nothing behind. Conditions of other clients stay as they are.
func StatusPatch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	fields, err := object(status)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	patch := map[string]any{}
	for _, name := range []string{
		"phase", "reason", "message", "hostIP", "podIP", "startTime", "observedGeneration",
		"initContainerStatuses", "containerStatuses",
	} {
		patch[name] = fields[name] // null removes it
	}
	if qos, found := fields["qosClass"]; found {
		patch["qosClass"] = qos // it is immutable
	}
	for _, name := range []string{"hostIPs", "podIPs"} {
		// Lists of IPs are merged by IP, and would keep former ones.
		list, _ := fields[name].([]any)
		patch[name] = append([]any{map[string]any{"$patch": "replace"}}, list...)
	}
	var conditions []any
	for i := range status.Conditions {
		if !isOwnCondition(status.Conditions[i].Type) {
			continue
		}
		c, err := object(&status.Conditions[i])
		if err != nil {
			return nil, fmt.Errorf("encode condition: %w", err)
		}
		for _, name := range []string{"reason", "message", "observedGeneration"} {
			if _, found := c[name]; !found {
				c[name] = nil
			}
		}
		conditions = append(conditions, c)
	}
	if len(conditions) > 0 {
		patch["conditions"] = conditions
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": patch})
}

// object returns a value as its JSON object.
func object(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(data, &fields)
}
