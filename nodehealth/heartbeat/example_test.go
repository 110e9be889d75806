package heartbeat_test

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// client-go's typed clients and its lister fit as they are.
var (
	_ heartbeat.LeaseClient = coordinationclient.LeaseInterface(nil)
	_ heartbeat.NodeClient  = coreclient.NodeInterface(nil)
	_ heartbeat.NodeCache   = corelisters.NodeLister(nil)
)

// provider is where the pods of a virtual node run.
type provider struct{}

func (provider) Ping(context.Context) error { return nil }

func (provider) Status(context.Context) (corev1.NodeStatus, error) {
	return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "ProviderReady", Message: "the provider takes pods",
	}}}, nil
}

// A virtual kubelet has registered its node. From then on a Sender keeps it
// alive, for as long as the provider answers.
func ExampleSender() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "virtual", UID: "5f2c", ResourceVersion: "1"}},
	)
	leases, nodes := client.CoordinationV1().Leases(corev1.NamespaceNodeLease), client.CoreV1().Nodes()
	leaseEvents, err := leases.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodeEvents, err := nodes.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}

	sender, err := heartbeat.NewSender(heartbeat.Config{Leases: leases, Nodes: nodes})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- sender.Run(ctx) }()
	if err := sender.Add(heartbeat.Node{
		Name:   "virtual",
		UID:    "5f2c",
		Alive:  provider{}.Ping,
		Status: provider{}.Status,
	}); err != nil {
		fmt.Println(err)
	}

	lease := next[*coordinationv1.Lease](leaseEvents)
	fmt.Printf("lease of %s for %d s\n", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds)
	node := next[*corev1.Node](nodeEvents)
	for len(node.Status.Conditions) == 0 {
		node = next[*corev1.Node](nodeEvents)
	}
	ready := node.Status.Conditions[0]
	fmt.Printf("%s=%s: %s\n", ready.Type, ready.Status, ready.Message)
	cancel()
	fmt.Println("ended:", <-ended)

	// Output:
	// lease of virtual for 40 s
	// Ready=True: the provider takes pods
	// ended: <nil>
}

// next waits for the next object that a watch shows.
func next[T any](events watch.Interface) T {
	for event := range events.ResultChan() {
		if object, ok := event.Object.(T); ok {
			return object
		}
	}
	panic("the watch has ended")
}
