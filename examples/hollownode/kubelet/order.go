package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// stopAll returns how to stop all containers of a pod. Sidecars stop after the
// main containers, the last first. Containers that the pod does not name stop
// as main ones do, for those of a pod without an object.
func stopAll(pod *corev1.Pod, observed *cri.Pod, grace time.Duration) []cri.Stop {
	ids := map[string][]string{} // of running containers, by name
	for i := range observed.Containers {
		if c := &observed.Containers[i]; c.State != cri.StateExited && c.State != cri.StateCreated {
			ids[c.Name] = append(ids[c.Name], c.ID)
		}
	}
	var main, later []string
	var stops []cri.Stop
	add := func(name string, after []string) {
		for _, id := range ids[name] {
			stops = append(stops, cri.Stop{ID: id, Grace: grace, After: after})
		}
	}
	for i := range observed.Containers {
		if c := &observed.Containers[i]; !names(pod, c.Name) && len(ids[c.Name]) > 0 {
			add(c.Name, nil)
			main = append(main, ids[c.Name]...)
			delete(ids, c.Name)
		}
	}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		add(name, nil)
		main = append(main, ids[name]...)
	}
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		c := &pod.Spec.InitContainers[i]
		if !isSidecar(c) {
			add(c.Name, nil)
			continue
		}
		add(c.Name, append(append([]string(nil), main...), later...))
		if len(ids[c.Name]) > 0 {
			later = ids[c.Name]
		}
	}
	return stops
}

// names reports whether a pod has a container of a name.
func names(pod *corev1.Pod, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named)
}
