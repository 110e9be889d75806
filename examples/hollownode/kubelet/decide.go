package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Decide returns what a sync does to a pod.
func Decide(v *View) Actions {
	reason, attempt := sandboxChange(v.Pod, v.Observed)
	a := Actions{Attempt: attempt}
	switch {
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
		a.start(&pod.Spec.InitContainers[0], true)
		return
	}
	for _, c := range starts {
		a.start(c, false)
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
			a.start(spec, false)
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
			a.start(spec, false)
		}
		a.kill(latest, reason)
	}
	if kept+started == 0 {
		a.KillPod, a.Starts = true, nil
	}
}

// initialize adds what init containers need, and reports whether the others may
// run. It reads them from the last to the first. A later one that exists proves
// that the earlier ones have succeeded, even if their runs are gone.
func (v *View) initialize(a *Actions) (initialized bool) {
	specs := v.Pod.Spec.InitContainers
	if len(specs) == 0 {
		return true
	}
	initialized = hasStarted(v.Pod, v.Observed)
	passed := initialized // a later one exists
	for i := len(specs) - 1; i >= 0; i-- {
		spec := &specs[i]
		if passed && !isSidecar(spec) {
			continue
		}
		latest, found := v.Observed.LatestActive(spec.Name)
		if !found {
			if passed {
				a.start(spec, true)
			}
			continue
		}
		state := v.initState(a, spec, latest)
		switch {
		case state == initDoomed:
			a.KillPod, a.Starts = true, nil
			return false
		case state == initDone && i == len(specs)-1:
			initialized = true
		case state == initDone && !passed:
			a.start(&specs[i+1], true)
		}
		passed = true
		if state == initDone && latest.State == cri.StateRunning {
			v.restartSidecar(a, spec, latest)
		}
	}
	if !passed {
		a.start(&specs[0], true)
	}
	slices.Reverse(a.Starts)
	return initialized
}

// initState is how far an init container is.
type initState uint8

const (
	// initPending: it runs, or is started.
	initPending initState = iota
	// initDone: it has succeeded or, as a sidecar, has started. The next may run.
	initDone
	// initDoomed: it has failed and is not restarted. The pod has failed.
	initDoomed
)

// String returns the name of the state.
func (s initState) String() string { return [...]string{"pending", "done", "doomed"}[s] }

// initState returns how far an init container is, and adds what it needs.
func (v *View) initState(a *Actions, spec *corev1.Container, latest *cri.Container) initState {
	switch latest.State {
	case cri.StateCreated:
		a.start(spec, true)
		return initPending
	case cri.StateRunning:
		if !isSidecar(spec) {
			return initPending
		}
		return v.sidecarState(a, spec, latest)
	case cri.StateExited:
		if !isSidecar(spec) {
			if latest.ExitCode == 0 && latest.Reason != oomKilled {
				return initDone
			}
			if v.Pod.DeletionTimestamp != nil || !restartsAfter(&v.Pod.Spec, spec, latest.ExitCode) {
				return initDoomed
			}
		}
		a.start(spec, true)
		return initPending
	default:
		if !isSidecar(spec) && !restartsRunning(&v.Pod.Spec, spec) {
			return initDoomed
		}
		a.kill(latest, KillUnknown)
		a.start(spec, true)
		return initPending
	}
}

// oomKilled is the reason of a container that ran out of memory. Its exit code
// need not tell.
const oomKilled = "OOMKilled"

// sidecarState returns whether a running sidecar lets the next container start:
// when its startup probe has succeeded.
func (v *View) sidecarState(a *Actions, spec *corev1.Container, latest *cri.Container) initState {
	if spec.StartupProbe == nil {
		return initDone
	}
	switch v.probe(latest, cri.ProbeStartup) {
	case ProbeSuccess:
		return initDone
	case ProbeFailure:
		a.kill(latest, KillStartup)
		a.start(spec, true)
	}
	return initPending
}

// restartSidecar restarts a sidecar that runs and should not. It has let the
// next container start before.
func (v *View) restartSidecar(a *Actions, spec *corev1.Container, latest *cri.Container) {
	var reason KillReason
	switch {
	case latest.Image != spec.Image:
		reason = KillChanged
	case spec.LivenessProbe != nil && v.probe(latest, cri.ProbeLiveness) == ProbeFailure:
		reason = KillLiveness
	default:
		return
	}
	a.kill(latest, reason)
	a.start(spec, true)
}

// isSidecar reports whether an init container runs as long as the pod.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restartsAfter reports whether a container is restarted after an exit. Its own
// policy comes before the pod's.
func restartsAfter(spec *corev1.PodSpec, c *corev1.Container, code int32) bool {
	if c.RestartPolicy != nil {
		switch *c.RestartPolicy {
		case corev1.ContainerRestartPolicyAlways:
			return true
		case corev1.ContainerRestartPolicyOnFailure:
			return code != 0
		case corev1.ContainerRestartPolicyNever:
			return false
		}
	}
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	default:
		return true
	}
}

// restartsRunning reports whether a container that is stopped while it runs is
// started again, whatever its exit code will be.
func restartsRunning(spec *corev1.PodSpec, c *corev1.Container) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return spec.RestartPolicy != corev1.RestartPolicyNever
}

// mayStart reports whether a container that does not run is to be started.
func mayStart(pod *corev1.Pod, c *corev1.Container, observed *cri.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	latest, found := observed.Latest(c.Name)
	if !found {
		return true
	}
	switch latest.State {
	case cri.StateRunning:
		return false
	case cri.StateExited:
		return restartsAfter(&pod.Spec, c, latest.ExitCode)
	default:
		return true
	}
}

// hasCreated reports whether any container of the pod's main list was created,
// in any sandbox.
func hasCreated(pod *corev1.Pod, observed *cri.Pod) bool {
	for i := range pod.Spec.Containers {
		c, found := observed.Latest(pod.Spec.Containers[i].Name)
		if found && (c.State == cri.StateCreated || c.State == cri.StateRunning || c.State == cri.StateExited) {
			return true
		}
	}
	return false
}

// hasStarted reports whether any container of the pod's main list is in the
// present sandbox. Then its init containers have all succeeded.
func hasStarted(pod *corev1.Pod, observed *cri.Pod) bool {
	for i := range pod.Spec.Containers {
		if _, found := observed.LatestActive(pod.Spec.Containers[i].Name); found {
			return true
		}
	}
	return false
}
