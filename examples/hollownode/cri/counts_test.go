package cri

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestStartsAreCountedAlsoThoseThatFail(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{
		domain + "sandbox-failures": "1", "pulls." + domain + "pull-failures": "1",
		"starts." + domain + "start-failures": "1",
	}, "pulls", "starts", "runs")
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "image"}, {Name: "lacks", Image: "none"}}
	f.Begin(start, Plan{Pod: pod, Steps: startSteps("pulls")})
	drain(f, start, time.Minute)
	assert.Equal(t, Counts{SandboxStarts: 1}, f.Counts(), "no start was reached")

	steps := startSteps("pulls", "starts", "runs", "init", "lacks")
	for i := range steps {
		steps[i].Required = false
	}
	steps[len(steps)-1].MayPull = false
	f.Begin(start, Plan{Pod: pod, Steps: steps})
	drain(f, start, time.Minute)
	assert.Equal(t, Counts{
		Sandboxes: 1, Running: 2, Exited: 1, Started: 2, SandboxStarts: 2,
		Starts: map[ContainerType]int{ContainerTypeMain: 3, ContainerTypeInit: 2},
	}, f.Counts())
}

// A pull that never ends holds up its pod, and its start has begun.
func TestAStartCountsWhenItBegins(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{domain + "pull-time": "forever"}, "a")
	f.Begin(start, Plan{Pod: pod, Steps: startSteps("a")})
	f.Cancel(start.Add(time.Minute), "pod")
	assert.Equal(t, map[ContainerType]int{ContainerTypeMain: 1}, f.Counts().Starts)
}
