package memory_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// Writes are guarded as on a real server, and counted per client.
func ExampleClient_Requests() {
	ctx := context.Background()
	cluster := memory.NewCluster()
	fleet, controller := cluster.NewClient(), cluster.NewClient()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if _, err := fleet.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
	}

	patch := []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"unschedulable":true}}`)
	_, err := controller.CoreV1().Nodes().Patch(ctx, "n", types.MergePatchType, patch, metav1.PatchOptions{})
	fmt.Println("conflict:", apierrors.IsConflict(err))
	for request, n := range controller.Requests() {
		fmt.Println(request, n)
	}
	// Output:
	// conflict: true
	// patch nodes 1
}
