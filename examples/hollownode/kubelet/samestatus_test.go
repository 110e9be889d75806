package kubelet

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestStatusesDifferInWhatTheKubeletWrites(t *testing.T) {
	one := func() *corev1.PodStatus {
		return &corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "r", PodIPs: []corev1.PodIP{{IP: "1.1.1.1"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, ObservedGeneration: 1},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
			},
		}
	}
	assert.True(t, sameStatus(one(), one()))
	gated := one()
	gate := corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionTrue}
	gated.Conditions = []corev1.PodCondition{gate, gated.Conditions[0], gate, gated.Conditions[1], gate}
	assert.True(t, sameStatus(one(), gated))
	assert.True(t, sameStatus(gated, one()))
	for name, change := range map[string]func(s *corev1.PodStatus){
		"phase":           func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed },
		"reason":          func(s *corev1.PodStatus) { s.Reason = "" },
		"IP":              func(s *corev1.PodStatus) { s.PodIPs[0].IP = "2.2.2.2" },
		"restarts":        func(s *corev1.PodStatus) { s.ContainerStatuses[0].RestartCount++ },
		"one less":        func(s *corev1.PodStatus) { s.Conditions = s.Conditions[:1] },
		"other order":     func(s *corev1.PodStatus) { slices.Reverse(s.Conditions) },
		"condition":       func(s *corev1.PodStatus) { s.Conditions[1].Status = corev1.ConditionFalse },
		"its reason":      func(s *corev1.PodStatus) { s.Conditions[1].Reason = "r" },
		"its message":     func(s *corev1.PodStatus) { s.Conditions[1].Message = "m" },
		"its generation":  func(s *corev1.PodStatus) { s.Conditions[0].ObservedGeneration++ },
		"its probe":       func(s *corev1.PodStatus) { s.Conditions[0].LastProbeTime = metav1.NewTime(start) },
		"its transition":  func(s *corev1.PodStatus) { s.Conditions[0].LastTransitionTime = metav1.NewTime(start) },
		"no transition":   func(s *corev1.PodStatus) { s.Conditions[1].LastTransitionTime = metav1.Time{} },
		"its type":        func(s *corev1.PodStatus) { s.Conditions[0].Type = corev1.PodInitialized },
		"only of another": func(s *corev1.PodStatus) { s.Conditions = []corev1.PodCondition{gate} },
	} {
		other := one()
		change(other)
		assert.False(t, sameStatus(one(), other), name)
		assert.False(t, sameStatus(other, one()), name)
	}
}

func TestConditionsOfOtherClientsAreNoChangeOfOurs(t *testing.T) {
	a := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "other"}, {Type: corev1.PodReady}}}
	b := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}}
	assert.True(t, sameStatus(&a, &b))
	b.Conditions[0].LastTransitionTime = metav1.NewTime(start)
	assert.False(t, sameStatus(&a, &b))
}

// fill gives a zero value another one.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(1)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.Zero(value.Type().Key()), reflect.Zero(value.Type().Elem()))
	case reflect.Struct:
		if at, is := reflect.TypeAssert[*metav1.Time](value.Addr()); is {
			*at = metav1.NewTime(start)
		} else {
			fill(value.Field(0))
		}
	default:
		panic("a field of kind " + value.Kind().String())
	}
}

// ofOthers are the fields of a status, and of one of a container, that no
// kubelet here sets.
var ofOthers = []string{
	"ResourceClaimStatuses", "ExtendedResourceClaimStatus", "QOSClass", "NominatedNodeName", "Resize", "Resources",
	"AllocatedResources", "EphemeralContainerStatuses", "VolumeMounts", "User", "AllocatedResourcesStatus", "StopSignal",
}

// Each field of a status counts that a kubelet here sets. A field that a later
// API adds must be among these or be named above.
func TestEachFieldOfAStatusCounts(t *testing.T) {
	counts := func(name string, base *corev1.PodStatus, field func(s *corev1.PodStatus) reflect.Value) {
		other := base.DeepCopy()
		fill(field(other))
		assert.False(t, sameStatus(base, other), name)
		assert.False(t, sameStatus(other, base), name)
		assert.True(t, sameStatus(other, other.DeepCopy()), name)
	}
	status := reflect.TypeFor[corev1.PodStatus]()
	for i := range status.NumField() {
		if name := status.Field(i).Name; name != "Conditions" && !slices.Contains(ofOthers, name) {
			counts(name, &corev1.PodStatus{}, func(s *corev1.PodStatus) reflect.Value {
				return reflect.ValueOf(s).Elem().Field(i)
			})
		}
	}
	container := reflect.TypeFor[corev1.ContainerStatus]()
	for i := range container.NumField() {
		if slices.Contains(ofOthers, container.Field(i).Name) {
			continue
		}
		name := "container's " + container.Field(i).Name
		one := []corev1.ContainerStatus{{}}
		counts(name, &corev1.PodStatus{ContainerStatuses: one}, func(s *corev1.PodStatus) reflect.Value {
			return reflect.ValueOf(&s.ContainerStatuses[0]).Elem().Field(i)
		})
		counts("init "+name, &corev1.PodStatus{InitContainerStatuses: one}, func(s *corev1.PodStatus) reflect.Value {
			return reflect.ValueOf(&s.InitContainerStatuses[0]).Elem().Field(i)
		})
	}
	for _, state := range []reflect.Type{
		reflect.TypeFor[corev1.ContainerStateWaiting](), reflect.TypeFor[corev1.ContainerStateRunning](),
		reflect.TypeFor[corev1.ContainerStateTerminated](),
	} {
		for i := range state.NumField() {
			base := &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{}, Running: &corev1.ContainerStateRunning{},
				Terminated: &corev1.ContainerStateTerminated{},
			}}}}
			counts(state.Name()+"'s "+state.Field(i).Name, base, func(s *corev1.PodStatus) reflect.Value {
				states := reflect.ValueOf(&s.ContainerStatuses[0].State).Elem()
				for j := range states.NumField() {
					shown := states.Field(j)
					if shown.Type().Elem() == state {
						return shown.Elem().Field(i)
					}
				}
				panic("no state has this type")
			})
		}
	}
}

func BenchmarkSameStatus(b *testing.B) {
	one := busyStatus()
	other := one.DeepCopy()
	for b.Loop() {
		if !sameStatus(one, other) {
			b.Fatal("they are the same")
		}
	}
}

// busyStatus is the status of a pod that runs.
func busyStatus() *corev1.PodStatus {
	s := &corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "100.64.0.1", HostIPs: []corev1.HostIP{{IP: "100.64.0.1"}},
		PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, QOSClass: corev1.PodQOSBestEffort,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Image: "image", ContainerID: "fake://1", Ready: true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: apiTime(start)}},
		}},
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: apiTime(start),
		})
	}
	return s
}
