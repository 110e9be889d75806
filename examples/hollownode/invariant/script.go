package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The annotations of a pod that say how its containers behave. Their names are
// an interface of the runtime.
const domain = "hollownode.kubelife.dev/"

const (
	pullFailures   = "pull-failures"
	mountTime      = "mount-time"
	mountFailures  = "mount-failures"
	readyTime      = "ready-time"
	startupTime    = "startup-time"
	postStartTime  = "post-start-time"
	countOfAll     = "all"
	timeWithoutEnd = "forever"
)

// never is longer than any world.
const never = 1000 * time.Hour

// behaviour returns an annotation of a container, or of the pod itself.
func behaviour(pod *corev1.Pod, container, name string) string {
	if container != "" {
		return pod.Annotations[container+"."+domain+name]
	}
	return pod.Annotations[domain+name]
}

// takes returns a time of a container's behaviour. Without one it is none.
func takes(pod *corev1.Pod, container, name string) time.Duration {
	text := behaviour(pod, container, name)
	if text == timeWithoutEnd {
		return never
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// isReadyAfter returns how long a container has run when it has started and is
// ready, as far as its probes and hooks can tell.
func isReadyAfter(pod *corev1.Pod, c *corev1.Container) time.Duration {
	var after time.Duration
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		after = takes(pod, c.Name, postStartTime)
	}
	for name, probe := range map[string]*corev1.Probe{startupTime: c.StartupProbe, readyTime: c.ReadinessProbe} {
		if probe != nil {
			after = max(after, takes(pod, c.Name, name), time.Duration(probe.InitialDelaySeconds)*time.Second)
		}
	}
	return after
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// lasting returns the containers that run as long as their pod.
func lasting(pod *corev1.Pod) []*corev1.Container {
	var all []*corev1.Container
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			all = append(all, c)
		}
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}
