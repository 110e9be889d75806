package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// View is what a sync sees of a pod. It is only read.
type View struct {
	Pod      *corev1.Pod
	Observed *cri.Pod
	Probes   Probes
	// RestartAll tells that an exit makes all containers restart.
	RestartAll bool
	// last is the last status, which the API may not show yet. Runs are counted
	// on from it. Nil is that of the pod.
	last *corev1.PodStatus
}

// Actions is what a sync does to a pod.
type Actions struct {
	// KillPod stops all containers and the sandbox. Without CreateSandbox the pod
	// is done.
	KillPod bool
	// CreateSandbox creates a sandbox, because of SandboxReason.
	CreateSandbox bool
	SandboxReason string
	// Attempt is how many sandboxes there were before the one created or kept.
	Attempt uint32
	// Starts are the containers to start, init containers first.
	Starts []Start
	// Kills are the containers to stop before.
	Kills []Kill
	// Removes are the IDs of containers to remove before, in this order.
	Removes []string
}

// Start is a container to start.
type Start struct {
	Container string
	Reason    StartReason
	// Init tells that it is an init container, Sidecar that it runs on.
	Init, Sidecar bool
}

// Kill is a container to stop.
type Kill struct {
	Container, ID string
	Reason        KillReason
}

// kill adds a container to stop.
func (a *Actions) kill(c *cri.Container, reason KillReason) {
	a.Kills = append(a.Kills, Kill{Container: c.Name, ID: c.ID, Reason: reason})
}

// start adds a container to start. The latest run is nil if there is none.
func (a *Actions) start(c *corev1.Container, init bool, latest *cri.Container) {
	reason := StartAfterKill
	switch {
	case latest == nil:
		reason = StartNew
	case latest.State == cri.StateExited:
		reason = StartExited
	case latest.State == cri.StateCreated:
		reason = StartFailed
	}
	a.Starts = append(a.Starts, Start{
		Container: c.Name, Reason: reason, Init: init, Sidecar: init && isSidecar(c),
	})
}

// unwanted returns why a running container must be stopped, or "".
func (v *View) unwanted(spec *corev1.Container, c *cri.Container) KillReason {
	switch {
	case c.Image != spec.Image:
		return KillChanged
	case v.probe(c, cri.ProbeLiveness) == ProbeFailure:
		return KillLiveness
	case v.probe(c, cri.ProbeStartup) == ProbeFailure:
		return KillStartup
	default:
		return ""
	}
}

// probe returns the result of a container's probe, or "" if it has not run.
func (v *View) probe(c *cri.Container, kind cri.ProbeKind) ProbeResult {
	return v.Probes[ProbeKey{c.ID, kind}]
}
