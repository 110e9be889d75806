package kubelet_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// A container that exits after 5 s each time is restarted at once, and then
// after a back-off of 10 s.
func ExampleFleet() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runtime, err := cri.NewFake(start)
	if err != nil {
		panic(err)
	}
	fleet, err := kubelet.NewFleet(kubelet.FleetConfig{Runtime: runtime}, start)
	if err != nil {
		panic(err)
	}
	fleet.ObserveNode(start, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	fleet.ObservePod(start, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job", UID: "1", Annotations: map[string]string{
			"hollownode.kubelife.dev/run-time":  "5s",
			"hollownode.kubelife.dev/exit-code": "1,1,0",
		}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", RestartPolicy: corev1.RestartPolicyOnFailure,
			Containers: []corev1.Container{{Name: "work", Image: "work:1"}},
		},
	})
	fleet.MarkSynced(start)
	for now := start; now.Before(start.Add(time.Minute)); {
		for task, ok := fleet.Start(now); ok; task, ok = fleet.Start(now) {
			work := task.Status.ContainerStatuses[0]
			reason := "-"
			if work.State.Waiting != nil {
				reason = work.State.Waiting.Reason
			}
			fmt.Println(now.Sub(start), task.Status.Phase, work.RestartCount, "restarts", reason)
			fleet.Finish(now, task, kubelet.ResultDone)
		}
		next, ok := fleet.Next(now)
		if !ok {
			break
		}
		now = next
	}
	// Output:
	// 0s Running 0 restarts -
	// 5s Running 1 restarts -
	// 10s Running 1 restarts CrashLoopBackOff
	// 20s Running 2 restarts -
	// 25s Succeeded 2 restarts -
}
