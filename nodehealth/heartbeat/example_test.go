package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// provider is where the pods of two virtual nodes run.
type provider struct {
	hang chan struct{}
	asks atomic.Int32 // about node hung
}

// ping checks a node. From the second time on it hangs for one of them.
func (p *provider) ping(name string) error {
	if name == "hung" && p.asks.Add(1) > 1 {
		<-p.hang
		return errors.New("the example is over")
	}
	return nil
}

func status(context.Context) (corev1.NodeStatus, error) {
	return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "ProviderReady", Message: "the provider takes pods",
	}}}, nil
}

// Two virtual kubelets have registered their nodes. A Sender keeps each alive
// for as long as the provider answers for it. The node whose check hangs falls
// silent. It delays no other.
func ExampleSender_AliveFor() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "well", UID: "5f2c", ResourceVersion: "1"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "hung", UID: "81d0", ResourceVersion: "1"}},
	)
	leases, nodes := client.CoordinationV1().Leases(corev1.NamespaceNodeLease), client.CoreV1().Nodes()
	renewals, err := leases.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}

	sender, err := heartbeat.NewSender(heartbeat.Config{
		Leases: leases, Nodes: nodes, LeaseDuration: time.Second, // in place of 40 s
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- sender.Run(ctx) }()

	cloud := &provider{hang: make(chan struct{})}
	var checks sync.WaitGroup
	for name, uid := range map[string]types.UID{"well": "5f2c", "hung": "81d0"} {
		if err := sender.Add(heartbeat.Node{Name: name, UID: uid, Status: status}); err != nil {
			fmt.Println(err)
		}
		checks.Go(func() {
			period := time.NewTicker(50 * time.Millisecond)
			defer period.Stop()
			for ctx.Err() == nil && cloud.ping(name) == nil {
				sender.AliveFor(name, 600*time.Millisecond)
				<-period.C
			}
		})
	}

	renewed := next(renewals)
	for sender.Silent() == 0 {
		renewed = next(renewals)
	}
	silent := time.Now()
	fmt.Println("silent nodes:", sender.Silent())
	for renewed.Spec.RenewTime.Time.Before(silent) {
		renewed = next(renewals)
	}
	fmt.Println("renewed since then:", renewed.Name)
	cancel()
	close(cloud.hang)
	checks.Wait()
	fmt.Println("ended:", <-ended)

	// Output:
	// silent nodes: 1
	// renewed since then: well
	// ended: <nil>
}

// next waits for the next lease that a watch shows.
func next(leases watch.Interface) *coordinationv1.Lease {
	for event := range leases.ResultChan() {
		if lease, ok := event.Object.(*coordinationv1.Lease); ok {
			return lease
		}
	}
	panic("the watch has ended")
}
