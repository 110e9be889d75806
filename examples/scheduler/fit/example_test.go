package fit_test

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/taints"
)

func wants(cpu string) []corev1.Container {
	return []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
}

// An autoscaler asks which of two nodes it should make. A DaemonSet takes half
// a CPU of each, so that a pod of four fits only the larger one.
func Example() {
	var templates []*corev1.Node
	for name, cpu := range map[string]string{"small": "4", "large": "8"} {
		templates = append(templates, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("110"),
			}},
		})
	}
	slices.SortFunc(templates, func(a, b *corev1.Node) int {
		return a.Status.Allocatable.Cpu().Cmp(*b.Status.Allocatable.Cpu())
	})
	agent := &appsv1.DaemonSet{}
	agent.Spec.Template.Spec.Containers = wants("500m")
	sets := []fit.DaemonSet{fit.CompileSet(agent, taints.Matcher{})}
	fmt.Println("overhead:", fit.Overhead(templates[0], slices.Values(sets))[corev1.ResourceCPU], "thousandths")

	pod := fit.Compile(&corev1.Pod{Spec: corev1.PodSpec{Containers: wants("4")}})
	for _, cpu := range []string{"3", "4"} {
		left := fit.AmountsOf(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("1"),
		})
		fmt.Printf("a node with %s left lacks: %q\n", cpu, fit.Lacking(pod.Requests, left.Of))
	}
	fmt.Println("new node:", fit.NewNode(&pod, templates, slices.Values(sets), taints.Matcher{}))
	// Output:
	// overhead: 500 thousandths
	// a node with 3 left lacks: ["Insufficient cpu"]
	// a node with 4 left lacks: []
	// new node: large
}
