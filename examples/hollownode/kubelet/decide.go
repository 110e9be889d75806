package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Decide returns what a sync does to a pod.
func Decide(v *View) Actions {
	reason, attempt := sandboxChange(v.Pod, v.Observed)
	a := Actions{Attempt: attempt}
	switch {
	case v.RestartAll && reason == "":
		v.reset(&a)
	case reason != "":
		a.KillPod, a.SandboxReason = true, reason
		v.restartPod(&a)
	case v.initialize(&a):
		v.keepContainers(&a)
	}
	return a
}

// restartPod starts a pod in a new sandbox, unless it is done.
func (v *View) restartPod(a *Actions) {
	pod := v.Pod
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && a.Attempt > 0 && len(v.Observed.Containers) > 0 {
		return
	}
	var starts []*corev1.Container
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; !v.runsOnce(c) || !v.succeeded(c) {
			starts = append(starts, c)
		}
	}
	if len(starts) == 0 && hasCreated(pod, v.Observed) {
		return
	}
	a.CreateSandbox = true
	if len(pod.Spec.InitContainers) > 0 {
		a.start(&pod.Spec.InitContainers[0], true, nil)
		return
	}
	for _, c := range starts {
		a.start(c, false, nil)
	}
}

// runsOnce reports whether a container runs until it succeeds.
func (v *View) runsOnce(c *corev1.Container) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy == corev1.ContainerRestartPolicyOnFailure
	}
	return v.Pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
}

func (v *View) succeeded(c *corev1.Container) bool {
	latest, found := v.Observed.Latest(c.Name)
	return found && latest.State == cri.StateExited && latest.ExitCode == 0
}

// keepContainers starts, keeps and restarts the containers of an initialized
// pod. When none is left, the pod is done, and its sidecars are not restarted.
func (v *View) keepContainers(a *Actions) {
	kept, started := 0, 0
	for i := range v.Pod.Spec.Containers {
		spec := &v.Pod.Spec.Containers[i]
		latest, found := v.Observed.Latest(spec.Name)
		if !found || latest.State != cri.StateRunning {
			if !mayStart(v.Pod, spec, v.Observed) {
				continue
			}
			started++
			a.start(spec, false, latest)
			if found && latest.State != cri.StateCreated && latest.State != cri.StateExited {
				a.kill(latest, KillUnknown)
			}
			continue
		}
		reason := v.unwanted(spec, latest)
		if reason == "" {
			kept++
			continue
		}
		if reason == KillChanged || restartsRunning(&v.Pod.Spec, spec) {
			started++
			a.start(spec, false, latest)
		}
		a.kill(latest, reason)
	}
	if kept+started == 0 {
		a.KillPod, a.Starts = true, nil
	}
}

// reset removes all containers of a pod that restarts them all. Those that
// caused it go last, so that the cause is known until all others are gone.
func (v *View) reset(a *Actions) {
	var causes []string
	for _, list := range [][]corev1.Container{v.Pod.Spec.Containers, v.Pod.Spec.InitContainers} {
		for i := range list {
			for j := range v.Observed.Containers {
				c := &v.Observed.Containers[j]
				switch {
				case c.Name != list[i].Name:
					continue
				case c.State != cri.StateExited:
					a.kill(c, KillReset)
				case restartsAllAfter(&list[i], c.ExitCode):
					causes = append(causes, c.ID)
					continue
				}
				a.Removes = append(a.Removes, c.ID)
			}
		}
	}
	a.Removes = append(a.Removes, causes...)
}
