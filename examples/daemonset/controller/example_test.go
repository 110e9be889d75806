package controller_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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

	for task, ok := c.Start(now); ok; task, ok = c.Start(now) {
		result := controller.Result{Outcome: controller.OutcomeDone}
		switch action := task.Action.(type) {
		case controller.Revise:
			fmt.Println("create revision", action.Plan.Create.Name)
			result.Revision.Current, result.Revision.Created = action.Plan.Create, true
		case controller.ChangePod:
			pod, err := rollout.NewPod(task.Owner, action.Task.Spec, *action.Task.Create)
			fmt.Println("create a pod for", action.Task.Create.Node)
			result.Pod = rollout.Result{Outcome: rollout.OutcomeDone, Pod: pod, Err: err}
		case controller.WriteStatus:
			fmt.Println("write", string(action.Patch))
			result.Set = ptr.To(controller.SetOf(set))
		case controller.Record:
			fmt.Println("record", action.Event.Reason)
		}
		c.Finish(now, task, result)
	}
	// Output:
	// create revision agent-67697c46f4
	// write {"metadata":{"uid":"7d1"},"status":{"currentNumberScheduled":0,"desiredNumberScheduled":2,"numberAvailable":0,"numberMisscheduled":0,"numberReady":0,"numberUnavailable":2,"observedGeneration":1,"updatedNumberScheduled":0}}
	// create a pod for ant
	// record SuccessfulCreate
	// create a pod for bee
	// record SuccessfulCreate
}
