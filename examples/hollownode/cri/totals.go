package cri

import corev1 "k8s.io/api/core/v1"

// ContainerType says which list of a pod's spec a container is in.
type ContainerType string

const (
	// ContainerTypeMain is that of spec.containers.
	ContainerTypeMain ContainerType = "container"
	// ContainerTypeInit is that of spec.initContainers, sidecars included.
	ContainerTypeInit ContainerType = "init_container"
)

// totals are numbers that only grow.
type totals struct {
	// started is how many containers began to run.
	started       int
	sandboxStarts int
	// starts is nil before the first.
	starts map[ContainerType]int
}

// countStart counts a step that begins.
func (t *totals) countStart(pod *corev1.Pod, step *Step) {
	switch step.Kind {
	case StepCreateSandbox:
		t.sandboxStarts++
	case StepStart:
		if t.starts == nil {
			t.starts = map[ContainerType]int{}
		}
		t.starts[typeOf(pod, step.Container)]++
	}
}

// typeOf returns the type of a pod's container.
func typeOf(pod *corev1.Pod, container string) ContainerType {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == container {
			return ContainerTypeInit
		}
	}
	return ContainerTypeMain
}
