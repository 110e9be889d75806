package taints_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

func printTaints(title string, list []corev1.Taint) {
	fmt.Println(title)
	for i := range list {
		fmt.Print("  ", list[i].ToString())
		if list[i].TimeAdded != nil {
			fmt.Print(" since ", list[i].TimeAdded.UTC().Format(time.TimeOnly))
		}
		fmt.Println()
	}
}

// A node stops reporting: its Ready condition turns from False to Unknown. Its
// taints follow. The administrator's stay, and its pods' tolerations go on
// counting.
func ExampleReconcile() {
	noon := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(noon.Add(-3 * time.Minute))
	node := &corev1.Node{
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "dedicated", Value: "database", Effect: corev1.TaintEffectNoExecute},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute, TimeAdded: &since},
		}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown},
		}},
	}

	desired := taints.AppendNoSchedule(nil, node)
	if ill, ok := taints.NoExecute(corev1.ConditionUnknown); ok {
		desired = append(desired, ill)
	}
	owned := func(t *corev1.Taint) bool { return taints.OwnsNoSchedule(t) || taints.OwnsNoExecute(t) }
	next, changed := taints.Reconcile(node.Spec.Taints, desired, owned, noon)

	fmt.Println("changed:", changed)
	printTaints("next:", next)
	// Output:
	// changed: true
	// next:
	//   dedicated=database:NoExecute
	//   node.kubernetes.io/unreachable:NoSchedule since 12:00:00
	//   node.kubernetes.io/unreachable:NoExecute since 11:57:00
}

func ExampleDiff() {
	current := []corev1.Taint{
		{Key: "dedicated", Value: "database", Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	}
	desired := []corev1.Taint{
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		// Its identity is key and effect.
		{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
	}
	add, remove := taints.Diff(desired, current)
	printTaints("add:", add)
	printTaints("remove:", remove)
	// Output:
	// add:
	//   node.kubernetes.io/unreachable:NoSchedule
	// remove:
	//   node.kubernetes.io/not-ready:NoSchedule
}

func ExampleMatcher() {
	fiveMinutes := int64(300)
	tolerations := []corev1.Toleration{
		{Key: "example.com/failure-rate", Operator: corev1.TolerationOpLt, Value: "5"},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
			TolerationSeconds: &fiveMinutes},
	}
	node := []corev1.Taint{
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: "example.com/failure-rate", Value: "2", Effect: corev1.TaintEffectNoExecute},
	}

	var matcher taints.Matcher // as v1.37 by default: Lt and Gt match nothing
	fmt.Println("tolerated for", *matcher.First(tolerations, &node[0]).TolerationSeconds, "s")
	fmt.Println("untolerated:", matcher.Untolerated(node, tolerations,
		corev1.TaintEffectNoExecute).ToString())

	matcher.EnableComparisonOperators = true
	fmt.Println("untolerated:", matcher.Untolerated(node, tolerations, corev1.TaintEffectNoExecute))
	// Output:
	// tolerated for 300 s
	// untolerated: example.com/failure-rate=2:NoExecute
	// untolerated: nil
}

// The caller's node is stale: an administrator has tainted it since. The guard
// of the patch fails, and Apply reads the node and starts over.
func ExampleApply() {
	server := newAPIServer(withConditions(newNode("worker-1", "5f3c"), "Ready=Unknown"))
	cached := server.node("worker-1") // in real life: from an informer's cache
	server.change("worker-1", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
	})

	noon := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC) // in real life: now
	want := func(node *corev1.Node) []corev1.Taint {
		next, _ := taints.Reconcile(node.Spec.Taints, taints.AppendNoSchedule(nil, node),
			taints.OwnsNoSchedule, noon)
		return next
	}
	// A program passes clientset.CoreV1().Nodes() instead of server.
	node, err := taints.Apply(context.Background(), server, cached, want)
	fmt.Println("error:", err)
	printTaints("taints:", node.Spec.Taints)
	fmt.Println("calls:", server.asked())

	node, err = taints.Apply(context.Background(), server, node, want)
	fmt.Println("error:", err)
	fmt.Println("again:", len(node.Spec.Taints), "taints, calls:", server.asked())
	// Output:
	// error: <nil>
	// taints:
	//   maintenance:NoSchedule
	//   node.kubernetes.io/unreachable:NoSchedule since 12:00:00
	// calls: [PATCH worker-1 GET worker-1 PATCH worker-1]
	// error: <nil>
	// again: 2 taints, calls: []
}
