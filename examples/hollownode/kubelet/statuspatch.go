package kubelet

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatchType is the type of the patches of [StatusPatch].
const StatusPatchType = types.StrategicMergePatchType

// StatusPatch returns the patch that makes the status of a pod this one. It is
// guarded by the pod's UID, and needs no status before. Each field of the
// kubelet is in it, so that an answer that was lost or a cache that is late
// leaves nothing behind. Conditions of other clients stay as they are, as do
// claims of resources. A field that no kubelet here sets is removed if the pod
// has it.
func StatusPatch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	patch := podPatch{Status: statusFields{
		Phase: orNull(status.Phase), Reason: orNull(status.Reason), Message: orNull(status.Message),
		HostIP: orNull(status.HostIP), PodIP: orNull(status.PodIP), StartTime: status.StartTime,
		ObservedGeneration: orNull(status.ObservedGeneration), QOSClass: status.QOSClass,
		HostIPs: make([]ipField, 1, 1+len(status.HostIPs)), PodIPs: make([]ipField, 1, 1+len(status.PodIPs)),
		InitContainerStatuses: orNone(status.InitContainerStatuses),
		ContainerStatuses:     orNone(status.ContainerStatuses),
	}}
	patch.Metadata.UID = pod.UID
	fields, shown := &patch.Status, &pod.Status
	fields.NominatedNodeName = nullIf(shown.NominatedNodeName != "")
	fields.Resize = nullIf(shown.Resize != "")
	fields.Resources = nullIf(shown.Resources != nil)
	fields.AllocatedResources = nullIf(len(shown.AllocatedResources) > 0)
	fields.EphemeralContainerStatuses = nullIf(len(shown.EphemeralContainerStatuses) > 0)
	fields.VolumeHealth = nullIf(len(shown.VolumeHealth) > 0)
	// Lists of IPs are merged by IP, and would keep former ones.
	fields.HostIPs[0].Directive, fields.PodIPs[0].Directive = "replace", "replace"
	for _, ip := range status.HostIPs {
		fields.HostIPs = append(fields.HostIPs, ipField{IP: ip.IP})
	}
	for _, ip := range status.PodIPs {
		fields.PodIPs = append(fields.PodIPs, ipField{IP: ip.IP})
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; isOwnCondition(c.Type) {
			fields.Conditions = append(fields.Conditions, conditionField{
				Type: c.Type, Status: c.Status, LastProbeTime: c.LastProbeTime, LastTransitionTime: c.LastTransitionTime,
				Reason: orNull(c.Reason), Message: orNull(c.Message), ObservedGeneration: orNull(c.ObservedGeneration),
			})
		}
	}
	data, err := json.Marshal(&patch)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return data, nil
}

// podPatch is a patch of a status. A field that is null is removed. The fields
// are typed, because a map of them takes several times as long to encode.
type podPatch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status statusFields `json:"status"`
}

type statusFields struct {
	Phase              *corev1.PodPhase `json:"phase"`
	Reason             *string          `json:"reason"`
	Message            *string          `json:"message"`
	HostIP             *string          `json:"hostIP"`
	PodIP              *string          `json:"podIP"`
	StartTime          *metav1.Time     `json:"startTime"`
	ObservedGeneration *int64           `json:"observedGeneration"`
	// It is immutable.
	QOSClass corev1.PodQOSClass `json:"qosClass,omitempty"`

	HostIPs               []ipField                `json:"hostIPs"`
	PodIPs                []ipField                `json:"podIPs"`
	InitContainerStatuses []corev1.ContainerStatus `json:"initContainerStatuses"`
	ContainerStatuses     []corev1.ContainerStatus `json:"containerStatuses"`
	Conditions            []conditionField         `json:"conditions,omitempty"`

	// Null in each patch would cost more than it is worth. When a cache is late, a
	// later write removes them.
	NominatedNodeName          json.RawMessage `json:"nominatedNodeName,omitempty"`
	Resize                     json.RawMessage `json:"resize,omitempty"`
	Resources                  json.RawMessage `json:"resources,omitempty"`
	AllocatedResources         json.RawMessage `json:"allocatedResources,omitempty"`
	EphemeralContainerStatuses json.RawMessage `json:"ephemeralContainerStatuses,omitempty"`
	VolumeHealth               json.RawMessage `json:"volumeHealth,omitempty"`
}

type ipField struct {
	Directive string `json:"$patch,omitempty"`
	IP        string `json:"ip,omitempty"`
}

type conditionField struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	LastProbeTime      metav1.Time             `json:"lastProbeTime"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
	Reason             *string                 `json:"reason"`
	Message            *string                 `json:"message"`
	ObservedGeneration *int64                  `json:"observedGeneration"`
}

// nullIf returns null for a field that is there, else nothing.
func nullIf(found bool) json.RawMessage {
	if found {
		return json.RawMessage("null")
	}
	return nil
}

// orNull returns nil for the zero value, which encodes as null.
func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// orNone returns nil for an empty list, which encodes as null.
func orNone[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
