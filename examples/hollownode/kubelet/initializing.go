package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

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
				a.start(spec, true, nil)
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
			a.start(&specs[i+1], true, v.active(specs[i+1].Name))
		}
		passed = true
		if state == initDone && latest.State == cri.StateRunning {
			v.restartSidecar(a, spec, latest)
		}
	}
	if !passed {
		a.start(&specs[0], true, nil)
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
		a.start(spec, true, latest)
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
		a.start(spec, true, latest)
		return initPending
	default:
		if !isSidecar(spec) && !restartsRunning(&v.Pod.Spec, spec) {
			return initDoomed
		}
		a.kill(latest, KillUnknown)
		a.start(spec, true, latest)
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
		a.start(spec, true, latest)
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
	a.start(spec, true, latest)
}

// active returns the newest container of a name in the present sandbox, or nil.
func (v *View) active(name string) *cri.Container {
	c, _ := v.Observed.LatestActive(name)
	return c
}
