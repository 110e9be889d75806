package runner_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/runner"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// The labels and annotations of an edge cluster, as OpenYurt has them.
const (
	poolLabel          = "apps.openyurt.io/nodepool"
	bindingAnnotation  = "apps.openyurt.io/binding"
	autonomyAnnotation = "node.openyurt.io/autonomy-duration"
)

// edgeConfig is a fork of node lifecycle for edge clusters. The network between
// the cloud and a pool of nodes at the edge fails often, and what runs there
// goes on. So each pool is a zone. An autonomous node keeps its pods for the
// time that its annotation says, and pods that are bound to their node serve
// whatever the cloud knows of it.
func edgeConfig(client kubernetes.Interface) runner.Config {
	return runner.Config{
		Client: client,
		Controller: controller.Config{
			Health:               nodehealth.Config{GracePeriod: 40 * time.Second},
			Zone:                 zone.Config{Rate: zone.Rates{Normal: 0.1, Secondary: 0.01}.Rate},
			ZoneOf:               poolOf,
			MarksPods:            func(node *corev1.Node) bool { return node.Annotations[bindingAnnotation] != "true" },
			PodEvictionTimeoutOf: autonomyOf,
			Eviction:             eviction.Config{Exempt: eviction.IsMirrorPod},
		},
		Keep: annotationsOfNodes,
	}
}

func poolOf(node *corev1.Node) string { return node.Labels[poolLabel] }

// autonomyOf returns how long the pods of a node stay when it is silent. The
// annotation "0" means for ever.
func autonomyOf(node *corev1.Node) time.Duration {
	const ever = 100 * 365 * 24 * time.Hour
	switch said := node.Annotations[autonomyAnnotation]; said {
	case "":
		return 0
	case "0":
		return ever
	default:
		// One that cannot be read keeps the pods: that can be mended.
		autonomy, err := time.ParseDuration(said)
		if err != nil {
			return ever
		}
		return autonomy
	}
}

// annotationsOfNodes keeps in the caches what the functions above read.
func annotationsOfNodes(kept, object metav1.Object) {
	if _, is := object.(*corev1.Node); is {
		kept.SetAnnotations(object.GetAnnotations())
	}
}

// A fork of node lifecycle is a Config.
func Example_edge() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	r, err := runner.NewRunner(edgeConfig(fake.NewClientset()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended with:", r.Run(ctx))
	// Output: ended with: <nil>
}
