package controller_test

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// A set on two nodes, driven without goroutines. Each task is answered as an
// API server would. A program has a timedqueue.Dispatcher drive the Controller,
// and package edge perform the tasks.
func ExampleController() {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	c, err := controller.NewController(controller.Config{}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	labels := map[string]string{"app": "agent"}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "logging", Name: "agent", UID: "7d1", Generation: 1},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}
	c.ObserveSet(now, controller.SetOf(set))
	for _, name := range []string{"ant", "bee"} {
		c.ObserveNode(now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.MarkSynced(now)

	jobs, err := c.Jobs(controller.Actions{
		// No pod without an owner is there to be claimed.
		Claim: func(context.Context, controller.Claim) (none controller.Result[controller.Claimed]) {
			return none
		},
		Revise: func(_ context.Context, revise controller.Revise) controller.Result[revision.Result] {
			fmt.Println("create revision", revise.Plan.Create.Name)
			return controller.Result[revision.Result]{
				Done: &revision.Result{Current: revise.Plan.Create, Created: true},
			}
		},
		ChangePod: func(_ context.Context, change controller.ChangePod) controller.Result[rollout.Result] {
			pod, err := rollout.NewPod(change.Owner, change.Task.Spec, *change.Task.Create)
			fmt.Println("create a pod for", change.Task.Create.Node)
			return controller.Result[rollout.Result]{
				Done: &rollout.Result{Outcome: rollout.OutcomeDone, Pod: pod, Err: err}, Err: err,
			}
		},
		WriteStatus: func(_ context.Context, write controller.WriteStatus) controller.Result[controller.Set] {
			fmt.Println("write", string(write.Patch))
			return controller.Result[controller.Set]{Done: ptr.To(controller.SetOf(set))}
		},
		Record: func(_ context.Context, event controller.Event) struct{} {
			fmt.Println("record", event.Reason)
			return struct{}{}
		},
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for job, ok := jobs.Start(now); ok; job, ok = jobs.Start(now) {
		job.Perform(context.Background())
		job.Finish(now)
	}
	// Output:
	// create revision agent-67697c46f4
	// write {"metadata":{"uid":"7d1"},"status":{"currentNumberScheduled":0,"desiredNumberScheduled":2,"numberAvailable":0,"numberMisscheduled":0,"numberReady":0,"numberUnavailable":2,"observedGeneration":1,"updatedNumberScheduled":0}}
	// create a pod for ant
	// record SuccessfulCreate
	// create a pod for bee
	// record SuccessfulCreate
}
