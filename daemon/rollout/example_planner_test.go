package rollout_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// A rollout in a cluster of four nodes. One is new, and one is not ready. The
// pod of that one would use up what MaxUnavailable allows if it were not
// ignored.
func ExamplePlanner() {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	planner, err := rollout.NewPlanner(rollout.Config{
		Spec: rollout.Spec{
			Template: &corev1.PodTemplateSpec{},
			Revision: "7b9c",
			Strategy: rollout.Strategy{MaxUnavailable: intstr.FromInt32(2)},
			Policy:   rollout.IgnoreNotReadyNodes{},
		},
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}

	for name, ready := range map[string]corev1.ConditionStatus{"ant": "True", "bee": "True",
		"cow": "Unknown", "dog": "True"} {
		planner.ObserveNode(now, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
			},
		})
		if name == "dog" {
			continue // which has no pod yet
		}
		planner.ObservePod(now, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:   "agent-" + name,
				Labels: map[string]string{"controller-revision-hash": "55f4"},
			},
			Spec: corev1.PodSpec{NodeName: name},
			Status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			},
		})
	}

	for task, ok := planner.Start(now); ok; task, ok = planner.Start(now) {
		switch {
		case task.Create != nil:
			fmt.Printf("create a pod on %s: %s\n", task.Create.Node, task.Create.Reason)
		case task.Delete != nil:
			fmt.Printf("delete %s: %s\n", task.Delete.Pod, task.Delete.Reason)
		}
	}
	for wait := range planner.Waits() {
		fmt.Printf("%s waits: %s\n", wait.Node, wait.Reason)
	}
	status, _ := planner.Status(now)
	fmt.Printf("%d of %d available, %d up to date\n", status.Available, status.Desired, status.Updated)
	// Output:
	// create a pod on dog: Missing
	// delete agent-cow: OutdatedUnavailable
	// delete agent-ant: Outdated
	// ant waits: Terminating
	// bee waits: Limited
	// cow waits: Terminating
	// dog waits: UnderWay
	// 2 of 4 available, 0 up to date
}
