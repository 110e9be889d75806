package daemon_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// A DaemonSet for nodes with a GPU. A cordoned node gets its pod all the same;
// one that is being repaired keeps the pod that it has.
func ExamplePlacement_Place() {
	var drivers appsv1.DaemonSet
	drivers.Spec.Template.Spec.NodeSelector = map[string]string{"gpu": "yes"}
	placement := daemon.Compile(&drivers.Spec.Template, taints.Matcher{})

	node := func(name string, labels map[string]string, taint ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.NodeSpec{Taints: taint},
		}
	}
	gpu := map[string]string{"gpu": "yes"}
	for _, n := range []*corev1.Node{
		node("plain", nil),
		node("fast", gpu),
		node("cordoned", gpu, corev1.Taint{Key: corev1.TaintNodeUnschedulable,
			Effect: corev1.TaintEffectNoSchedule}),
		node("in repair", gpu, corev1.Taint{Key: "repair", Effect: corev1.TaintEffectNoSchedule}),
	} {
		decision := placement.Place(n)
		fmt.Printf(
			"%-9s run %-5v keep %-5v %s",
			n.Name,
			decision.ShouldRun,
			decision.ShouldContinue,
			decision.Reason,
		)
		if decision.Taint != nil {
			fmt.Print(" ", decision.Taint.ToString())
		}
		fmt.Println()
	}
	// Output:
	// plain     run false keep false NodeSelector
	// fast      run true  keep true  Fits
	// cordoned  run true  keep true  Fits
	// in repair run false keep true  Tainted repair:NoSchedule
}
