package observer_test

import (
	"context"
	"fmt"
	"log"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/nodehealth/observer"
	"github.com/kubelife/lifecycle/zone"
)

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": name[:2]}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: ready},
		}},
	}
}

// A program asks before it uses a node. The client is a fake one here.
func ExampleObserver() {
	ctx, stop := context.WithCancel(context.Background())
	client := fake.NewClientset(
		node("r1-a", corev1.ConditionTrue), node("r1-b", corev1.ConditionTrue),
		node("r2-a", corev1.ConditionUnknown), // declared before this program started
	)

	factory := informers.NewSharedInformerFactory(client, 0)
	ready := make(chan struct{}, 1)
	o, err := observer.NewObserver(observer.Config{
		Factory: factory,
		ZoneOf:  zone.ByLabels("rack"),
		OnChange: func(view *observer.View, change observer.Change) {
			fmt.Println("changed:", change.Zones, change.Nodes, "synced:", view.Synced())
			ready <- struct{}{}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx.Done())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	<-ready

	view := o.View()
	for _, name := range []string{"r1-a", "r2-a"} {
		status, _ := view.ZoneOf(name)
		fmt.Printf("%s silent: %v, its zone: %s, %d of %d ready\n",
			name, view.Silent(name), status.State, status.Counts.Ready, status.Counts.Size())
	}
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// changed: [r1 r2] [r2-a] synced: true
	// r1-a silent: false, its zone: Normal, 2 of 2 ready
	// r2-a silent: true, its zone: FullDisruption, 0 of 1 ready
	// ended: <nil>
}

// A simulation drives the core of an Observer, in its own time. A Dispatcher
// does the same in the time of a clock.
func ExampleTracker() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	start := now
	tracker, err := observer.NewTracker(observer.TrackerConfig{
		Health: nodehealth.Config{GracePeriod: 25 * time.Second, SightTimeout: 12 * time.Second},
	}, now)
	if err != nil {
		log.Fatal(err)
	}
	tracker.ObserveNode(now, node("r1-a", corev1.ConditionTrue))
	tracker.ObserveNode(now, node("r1-b", corev1.ConditionTrue))
	tracker.MarkSynced(now)
	for now.Sub(start) < time.Minute {
		for _, name := range []string{"r1-a", "r1-b"} {
			if name == "r1-b" && now.Sub(start) >= 30*time.Second {
				continue // it is switched off
			}
			tracker.ObserveLease(now, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now}},
			})
		}
		beat := now.Add(10 * time.Second)
		for next, ok := tracker.Next(now); ok && next.Before(beat); next, ok = tracker.Next(now) {
			now = next
			if task, ok := tracker.Start(now); ok {
				fmt.Printf("%v: changed: nodes %v, phase: %s\n",
					now.Sub(start), task.Change.Nodes, tracker.View().Phase())
				tracker.Finish(now, task, observer.Result{})
			}
		}
		now = beat
	}
	// Output:
	// 0s: changed: nodes [], phase: Recovering
	// 45s: changed: nodes [r1-b], phase: Recovering
	// 50s: changed: nodes [], phase: Active
}
