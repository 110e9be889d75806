package scheduling_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
)

// A scheduler decides about two pods. The node a has been silent for half a
// minute, and the node b has room for one of them. An autoscaler could make
// nodes like large. The loop is that of a timedqueue.Dispatcher.
func Example() {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	scheduler, err := scheduling.New(scheduling.Config{
		SchedulerName: "lifecycle",
		Templates:     []*corev1.Node{nodeNamed("large")},
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	jobs, err := scheduler.Jobs(scheduling.Actions{
		Perform: func(_ context.Context, task scheduling.Task) scheduling.Result {
			switch task.Action {
			case scheduling.ActionBind:
				fmt.Printf("%s is bound to %s\n", task.Pod.Name, task.Decision.Node)
			case scheduling.ActionReport:
				fmt.Printf("%s waits: %s\n", task.Pod.Name, task.Decision.Message())
			}
			return scheduling.Result{Outcome: scheduling.OutcomeDone}
		},
		Evict: func(context.Context, scheduling.Eviction) eviction.Result {
			return eviction.Result{Outcome: eviction.OutcomeEvicted}
		},
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.ObserveNode(now, nodeNamed("a"))
	scheduler.ObserveNode(now, nodeNamed("b", inZone("b")))
	scheduler.MarkSynced(now)

	for range 3 { // b sends heartbeats
		now = now.Add(10 * time.Second)
		scheduler.ObserveLease(now, leaseOf("b", now))
	}
	scheduler.ObservePod(now, podNamed("web", "3"))
	scheduler.ObservePod(now, podNamed("batch", "2", priority(-1)))
	for job, ok := jobs.Start(now); ok; job, ok = jobs.Start(now) {
		job.Perform(context.Background())
		job.Finish(now)
	}
	// Output:
	// web is bound to b
	// batch waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were silent. A new node like large would fit.
}
