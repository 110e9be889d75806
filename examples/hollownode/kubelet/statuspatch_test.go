package kubelet

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
)

// patched returns a status after the patch for another one.
func patched(t *testing.T, stored, status corev1.PodStatus) corev1.PodStatus {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}, Status: stored}
	patch, err := StatusPatch(pod, &status)
	require.NoError(t, err)
	before, err := json.Marshal(pod)
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	require.NoError(t, err)
	var result corev1.Pod
	require.NoError(t, json.Unmarshal(after, &result))
	assert.EqualValues(t, "a", result.UID)
	return result.Status
}

// Whatever the API server has, the patch makes it this status, except for the
// conditions of other clients.
func TestAPatchNeedsNoStatusBefore(t *testing.T) {
	now := metav1.NewTime(time.Unix(1000, 0))
	gate := corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionTrue, Message: "other client's"}
	full := corev1.PodStatus{
		Phase: corev1.PodRunning, Reason: "r", Message: "m", HostIP: "1.1.1.1", PodIP: "2.2.2.2", StartTime: &now,
		HostIPs: []corev1.HostIP{{IP: "1.1.1.1"}}, PodIPs: []corev1.PodIP{{IP: "2.2.2.2"}}, ObservedGeneration: 3,
		QOSClass: corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{gate, {Type: corev1.PodReady, Status: corev1.ConditionFalse,
			Reason: "ContainersNotReady", Message: "c", LastTransitionTime: now, ObservedGeneration: 3}},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "i"}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "w"}}}, {Name: "b"},
		},
	}
	other := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "3.3.3.3", PodIPs: []corev1.PodIP{{IP: "3.3.3.3"}}, StartTime: &now,
		QOSClass:   corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}},
		},
	}
	for _, stored := range []corev1.PodStatus{full, other, {}} {
		for _, wanted := range []corev1.PodStatus{full, other} {
			got := patched(t, stored, wanted)
			assert.True(t, sameStatus(&wanted, &got), "%+v", got)
			kept := findCondition(&stored, gate.Type)
			assert.Equal(t, kept, findCondition(&got, gate.Type))
		}
	}
	overwritten := other
	overwritten.Conditions = append([]corev1.PodCondition{gate}, other.Conditions...)
	overwritten.Conditions[0].Message = "newer than ours"
	got := patched(t, overwritten, full)
	assert.Equal(t, "newer than ours", findCondition(&got, gate.Type).Message)
	assert.Equal(t, other.QOSClass, patched(t, other, corev1.PodStatus{}).QOSClass)
}

// What the patch leaves and what sameStatus ignores is the same. Otherwise a
// status would differ for ever, and be written again at each event.
func TestAPatchLeavesNothingThatCountsAsAChange(t *testing.T) {
	fields := reflect.TypeFor[corev1.PodStatus]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		stored := corev1.PodStatus{Phase: corev1.PodRunning}
		field := reflect.ValueOf(&stored).Elem().Field(i)
		if name == "Phase" {
			continue // it is there
		}
		field.SetZero()
		fill(field)
		got := patched(t, stored, corev1.PodStatus{Phase: corev1.PodRunning})
		assert.True(t, sameStatus(&corev1.PodStatus{Phase: corev1.PodRunning}, &got), name)
		kept := reflect.ValueOf(&got).Elem().Field(i)
		isKept := !kept.IsZero() && (kept.Kind() != reflect.Slice || kept.Len() > 0)
		assert.Equal(t, slices.Contains(ofOthers, name) || name == "Conditions", isKept, name)
	}
}

// The scheduler and the claim controller write fields of a status that no
// kubelet sets. A write for them at each event would never end.
func TestWhatOthersWriteIntoAStatusCausesNoWrite(t *testing.T) {
	for name, set := range map[string]func(s *corev1.PodStatus){
		"claims": func(s *corev1.PodStatus) {
			s.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("gpu-1")}}
		},
		"extended claims": func(s *corev1.PodStatus) {
			s.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "gpu-1"}
		},
		"nominated node": func(s *corev1.PodStatus) { s.NominatedNodeName = "other" },
		"resize":         func(s *corev1.PodStatus) { s.Resize = "Deferred" },
	} {
		w := newWorld(t, "node")
		w.merges = true
		w.pod("a", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "run-time", "10m")
		w.run(5 * time.Second)
		written := len(w.log)
		pod := w.pods["a"].DeepCopy()
		set(&pod.Status)
		wanted := pod.Status
		w.observe(pod)
		for i := range 5 {
			w.run(15 * time.Second)
			pod = w.pods["a"].DeepCopy()
			pod.Labels = map[string]string{"change": strconv.Itoa(i)}
			w.observe(pod)
		}
		w.endProcess("node")
		w.run(time.Minute)
		assert.Empty(t, w.log[written:], name)
		assert.True(t, equality.Semantic.DeepEqual(wanted, *w.status("a")), name)
		w.run(10 * time.Minute)
		assert.Equal(t, corev1.PodSucceeded, w.status("a").Phase, name)
		assert.Empty(t, w.runtime.Pods(w.now, "node"), "%s: the runtime keeps the pod", name)
	}
}
