package daemon_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// An autoscaler asks what a node of a group would have to carry before any other
// pod. The node does not exist, and its name is one that no node has.
func ExamplePodOn() {
	template := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "template-of-gpu-nodes", Labels: map[string]string{"gpu": "yes"},
	}}
	template.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	sets := []*appsv1.DaemonSet{
		set("logs", "100m", corev1.Toleration{Operator: corev1.TolerationOpExists}),
		set("driver", "250m", corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}),
		set("backup", "2"),
	}
	for _, s := range sets {
		decision := daemon.Compile(&s.Spec.Template, taints.Matcher{}).Place(template)
		if !decision.ShouldRun {
			fmt.Println(s.Name, "stays away:", decision.Reason)
			continue
		}
		pod := daemon.PodOn(s, template)
		fmt.Println(pod.OwnerReferences[0].Name, "is on", pod.Spec.NodeName)
	}
	// Output:
	// logs is on template-of-gpu-nodes
	// driver is on template-of-gpu-nodes
	// backup stays away: Tainted
}

// A scheduler asks how much of a node is for DaemonSets whose pods are not there
// yet. A new node gets them within seconds, and pods of a lower priority that
// took their room would be preempted.
func Example_overhead() {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ant"}}
	pods := []*corev1.Pod{
		{ // pending, and for this node
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "logs"}}},
			Spec:       daemon.PodSpecFor(&corev1.PodTemplateSpec{}, "ant"),
		},
	}
	there := map[types.UID]bool{}
	for _, pod := range pods {
		if daemon.TargetNode(pod) == node.Name {
			there[pod.OwnerReferences[0].UID] = true
		}
	}
	var cpu resource.Quantity
	for _, s := range []*appsv1.DaemonSet{set("logs", "100m"), set("driver", "250m"), set("dns", "50m")} {
		placement := daemon.Compile(&s.Spec.Template, taints.Matcher{})
		if there[s.UID] || !placement.Place(node).ShouldRun {
			continue
		}
		for _, container := range daemon.PodOn(s, node).Spec.Containers {
			cpu.Add(*container.Resources.Requests.Cpu())
		}
	}
	fmt.Println("DaemonSets will take", cpu.String(), "of", node.Name)
	// Output:
	// DaemonSets will take 300m of ant
}

// set is a DaemonSet with one container.
func set(name, cpu string, tolerations ...corev1.Toleration) *appsv1.DaemonSet {
	s := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	s.Spec.Template.Spec.Tolerations = tolerations
	s.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: name, Resources: corev1.ResourceRequirements{Requests: requests}},
	}
	return s
}

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
