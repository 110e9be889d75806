package cri_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// A container is pulled for 2 s, runs for 10 s and exits with code 3.
func ExampleFake() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runtime, err := cri.NewFake(start)
	if err != nil {
		panic(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "1", Annotations: map[string]string{
			"hollownode.kubelife.dev/pull-time": "2s",
			"hollownode.kubelife.dev/run-time":  "10s",
			"hollownode.kubelife.dev/exit-code": "3",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "work:1"}}},
	}
	runtime.Begin(start, cri.Plan{Node: "node-1", Pod: pod, Steps: []cri.Step{
		{Kind: cri.StepCreateSandbox},
		{Kind: cri.StepStart, Container: "work", MayPull: true},
	}})
	for now, ok := runtime.Next(start); ok; now, ok = runtime.Next(now) {
		for event, ok := runtime.Poll(now); ok; event, ok = runtime.Poll(now) {
			state, _ := runtime.Pod(now, event.Pod)
			work, started := state.Latest("work")
			switch {
			case event.Ended != nil:
				fmt.Println(now.Sub(start), "plan ended after steps:", len(event.Ended.Results))
			case started:
				fmt.Println(now.Sub(start), work.State, work.ExitCode)
			default:
				fmt.Println(now.Sub(start), "sandbox ready:", state.Sandboxes[0].Ready)
			}
		}
	}
	// Output:
	// 0s sandbox ready: true
	// 2s Running 0
	// 2s plan ended after steps: 2
	// 12s Exited 3
}
