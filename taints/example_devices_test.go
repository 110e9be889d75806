package taints_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

// fromDevice and toDevice make this package work on the taints of devices. Both
// types have the same fields.
func fromDevice(t resourcev1.DeviceTaint) corev1.Taint {
	return corev1.Taint{
		Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect), TimeAdded: t.TimeAdded,
	}
}

func toDevice(t corev1.Taint) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{
		Key: t.Key, Value: t.Value, Effect: resourcev1.DeviceTaintEffect(t.Effect),
		TimeAdded: t.TimeAdded,
	}
}

// tolerationOfDevice does the same for tolerations, for a [taints.Matcher].
func tolerationOfDevice(t resourcev1.DeviceToleration) corev1.Toleration {
	return corev1.Toleration{
		Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
		Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
	}
}

// each converts a list.
func each[From, To any](list []From, convert func(From) To) []To {
	out := make([]To, 0, len(list))
	for _, one := range list {
		out = append(out, convert(one))
	}
	return out
}

// A driver publishes the health of a device as taints. It decides about the two
// keys below, and keeps all others.
func ExampleDiff_deviceTaints() {
	const uncorrectable, overheated = "ecc.gpu.example.com", "heat.gpu.example.com"
	noon := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(noon.Add(-3 * time.Minute))
	device := resourcev1.Device{Name: "gpu-0", Taints: []resourcev1.DeviceTaint{
		{Key: "admin", Effect: resourcev1.DeviceTaintEffectNone},
		{Key: uncorrectable, Value: "1", Effect: resourcev1.DeviceTaintEffectNoExecute,
			TimeAdded: &since},
	}}

	current := each(device.Taints, fromDevice)
	desired := []corev1.Taint{
		{Key: uncorrectable, Value: "2", Effect: corev1.TaintEffectNoExecute},
		{Key: overheated, Effect: corev1.TaintEffectNoSchedule},
	}
	owned := func(t *corev1.Taint) bool { return t.Key == uncorrectable || t.Key == overheated }
	add, remove := taints.Diff(desired, taints.Filter(current, owned))
	printTaints("add:", add)
	printTaints("remove:", remove)

	next, changed := taints.Reconcile(current, desired, owned, noon)
	device.Taints = each(next, toDevice)
	fmt.Println("changed:", changed)
	for _, t := range device.Taints {
		fmt.Println(" ", t.Key, t.Value, t.Effect, t.TimeAdded != nil && t.TimeAdded.Equal(&since))
	}

	claim := []resourcev1.DeviceToleration{
		{Key: uncorrectable, Operator: resourcev1.DeviceTolerationOpEqual, Value: "1"},
	}
	untolerated := taints.Matcher{}.Untolerated(
		next, each(claim, tolerationOfDevice), corev1.TaintEffectNoExecute)
	fmt.Println("untolerated:", untolerated.ToString())
	// Output:
	// add:
	//   heat.gpu.example.com:NoSchedule
	// remove:
	// changed: true
	//   admin  None false
	//   ecc.gpu.example.com 2 NoExecute true
	//   heat.gpu.example.com  NoSchedule false
	// untolerated: ecc.gpu.example.com=2:NoExecute
}
