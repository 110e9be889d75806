package kubelet

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatchType is the type of the patches of [StatusPatch].
const StatusPatchType = types.StrategicMergePatchType

// StatusPatch returns the patch that makes the status of a pod this one. It is
// guarded by the pod's UID, and needs no status before. Each field of the
// kubelet is in it, so that an answer that was lost or a cache that is late
// leaves nothing behind. Conditions of other clients stay as they are.
func StatusPatch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
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
	all, _ := fields["conditions"].([]any)
	for i := range all {
		c, ok := all[i].(map[string]any)
		if !ok || !isOwnCondition(status.Conditions[i].Type) {
			continue
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
