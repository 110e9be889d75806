package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/timedqueue"
)

// View is what a sync sees of a pod. It is only read.
type View struct {
	Pod      *corev1.Pod
	Observed *cri.Pod
	Probes   Probes
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
}

// Start is a container to start.
type Start struct {
	Container string
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

// start adds a container to start.
func (a *Actions) start(c *corev1.Container, init bool) {
	a.Starts = append(a.Starts, Start{Container: c.Name, Init: init, Sidecar: init && isSidecar(c)})
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

// KillReason says why a container is stopped.
type KillReason string

const (
	// KillChanged: the definition of the container has changed.
	KillChanged KillReason = "Changed"
	// KillLiveness: its liveness probe has failed.
	KillLiveness KillReason = "LivenessProbe"
	// KillStartup: its startup probe has failed.
	KillStartup KillReason = "StartupProbe"
	// KillUnknown: nothing is known of it, and it may run.
	KillUnknown KillReason = "Unknown"
)

// reasonCrashLoop is why a container waits for its back-off.
const reasonCrashLoop = "CrashLoopBackOff"

// Wait is a container that is not started yet.
type Wait struct {
	Container string
	// Reason and Message are shown in its status.
	Reason, Message string
	// Until is when it may be started. Zero is not known.
	Until time.Time
}

// plan returns the steps of a sync for the runtime, and the containers that
// wait for their back-off. It counts the restarts that it allows.
func (v *View) plan(now time.Time, a *Actions, waiting *backOffs) (steps []cri.Step, waits []Wait) {
	if a.KillPod {
		if !a.CreateSandbox && !v.Observed.Running() && !v.hasReadySandbox() {
			return nil, nil // it has stopped, as after a reboot
		}
		steps = append(steps, v.stopPod()...)
		if !a.CreateSandbox {
			return steps, nil
		}
		steps = append(steps, cri.Step{Kind: cri.StepCreateSandbox, Attempt: a.Attempt})
	} else if len(a.Kills) > 0 {
		steps = append(steps, cri.Step{Kind: cri.StepStop, Stops: v.stops(a.Kills)})
	}
	if removes := v.dead(a); len(removes) > 0 {
		steps = append(steps, cri.Step{Kind: cri.StepRemove, Remove: removes})
	}
	for i := range a.Starts {
		start := &a.Starts[i]
		spec := containerSpec(v.Pod, start.Container)
		if until := v.crashed(now, spec, waiting); now.Before(until) {
			waits = append(waits, Wait{Container: spec.Name, Reason: reasonCrashLoop, Until: until, Message: fmt.Sprintf(
				"back-off %s restarting failed container=%s pod=%s", waiting.wait(crashKey(spec), v.finished(spec)),
				spec.Name, podID(v.Pod))})
			if start.Init && !start.Sidecar {
				break
			}
			continue
		}
		image := backOffKey{image: spec.Image}
		steps = append(steps, cri.Step{
			Kind: cri.StepStart, Container: spec.Name, Attempt: uint32(v.attempts(spec.Name)),
			MayPull:  now.Sub((*waiting)[image].updated) >= waiting.wait(image, now),
			Required: start.Init && !start.Sidecar,
		})
	}
	return steps, waits
}

// hasReadySandbox reports whether a sandbox of the pod is left to stop.
func (v *View) hasReadySandbox() bool {
	return slices.ContainsFunc(v.Observed.Sandboxes, func(s cri.Sandbox) bool { return s.Ready })
}

// stopPod returns the steps that stop a pod, before its new sandbox or for
// good.
func (v *View) stopPod() []cri.Step {
	var steps []cri.Step
	grace := containerGrace(v.Pod, &corev1.Container{}, "")
	if stops := stopAll(v.Pod, v.Observed, grace); len(stops) > 0 {
		steps = append(steps, cri.Step{Kind: cri.StepStop, Stops: stops})
	}
	if len(v.Observed.Sandboxes) > 0 {
		steps = append(steps, cri.Step{Kind: cri.StepStopSandboxes})
	}
	return steps
}

// stops returns how to stop the containers of a pod that goes on.
func (v *View) stops(kills []Kill) []cri.Stop {
	stops := make([]cri.Stop, 0, len(kills))
	for _, k := range kills {
		grace := containerGrace(v.Pod, containerSpec(v.Pod, k.Container), k.Reason)
		stops = append(stops, cri.Stop{ID: k.ID, Grace: grace})
	}
	return stops
}

// dead returns the IDs of runs that nothing needs any more. Those of init
// containers go with their sandbox. Of each name the last two are kept.
func (v *View) dead(a *Actions) []string {
	var ids []string
	seen := map[string]int{}
	init := map[string]bool{}
	for i := range v.Pod.Spec.InitContainers {
		init[v.Pod.Spec.InitContainers[i].Name] = true
	}
	for i := range v.Observed.Containers {
		c := &v.Observed.Containers[i]
		seen[c.Name]++
		if seen[c.Name] > 2 && c.State == cri.StateExited || a.CreateSandbox && init[c.Name] {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// crashed returns when a container that has exited may be started, and counts
// the restart if that is now.
func (v *View) crashed(now time.Time, spec *corev1.Container, waiting *backOffs) time.Time {
	finished := v.finished(spec)
	if finished.IsZero() {
		return now
	}
	until := finished.Add(waiting.wait(crashKey(spec), finished))
	if !now.Before(until) {
		waiting.count(now, crashKey(spec), finished)
	}
	return until
}

// finished returns when the newest exited run of a container has ended.
func (v *View) finished(spec *corev1.Container) time.Time {
	for i := range v.Observed.Containers {
		if c := &v.Observed.Containers[i]; c.Name == spec.Name && c.State == cri.StateExited {
			return c.FinishedAt
		}
	}
	return time.Time{}
}

// attempts returns how many runs of a container there were. What the runtime
// has forgotten is known from the pod's status.
func (v *View) attempts(name string) int32 {
	if latest, found := v.Observed.Latest(name); found {
		return latest.Attempt + 1
	}
	last := v.last
	if last == nil {
		last = &v.Pod.Status
	}
	for _, list := range [][]corev1.ContainerStatus{last.InitContainerStatuses, last.ContainerStatuses} {
		for i := range list {
			ended := list[i].LastTerminationState.Terminated
			if list[i].Name == name && (list[i].ContainerID != "" || ended != nil && ended.ContainerID != "") {
				return list[i].RestartCount + 1
			}
		}
	}
	return 0
}

func crashKey(spec *corev1.Container) backOffKey { return backOffKey{spec.Name, spec.Image} }

// podID returns how messages name a pod.
func podID(pod *corev1.Pod) string {
	return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
}

// containerSpec returns the container of a name. An empty one stands for a name
// that the pod does not have.
func containerSpec(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return &corev1.Container{Name: name}
}

const (
	// firstBackOff and longestBackOff bound the waits between crashes and between
	// pulls. Source: pkg/kubelet, MaxCrashLoopBackOff and
	// imageBackOffPeriod, v1.37.1.
	firstBackOff   = 10 * time.Second
	longestBackOff = 300 * time.Second
	// backOffReset is how long after a failure the next one counts as the first.
	backOffReset = 2 * longestBackOff
)

// backOffs are the waits of one pod, by what failed. The zero value is empty.
type backOffs map[backOffKey]backOff

// backOffKey identifies what failed: a container with its definition, or an
// image if the container is empty.
type backOffKey struct{ container, image string }

// backOff is a wait that doubles.
type backOff struct {
	before  int // failures before the last
	updated time.Time
}

// wait returns how long after a failure at this time the next attempt waits.
func (b backOffs) wait(key backOffKey, failed time.Time) time.Duration {
	entry, found := b[key]
	if !found || failed.Sub(entry.updated) > backOffReset {
		return 0
	}
	return entry.delay()
}

func (b backOff) delay() time.Duration {
	return timedqueue.Backoff{Initial: firstBackOff, Max: longestBackOff}.Delay(b.before)
}

// count counts a failure. For a container it is counted when the restart is
// allowed, so that the first restart does not wait.
func (b *backOffs) count(now time.Time, key backOffKey, failed time.Time) {
	if *b == nil {
		*b = backOffs{}
	}
	entry, found := (*b)[key]
	if found && failed.Sub(entry.updated) <= backOffReset {
		entry.before++
	} else {
		entry.before = 0
	}
	entry.updated = now
	(*b)[key] = entry
}

// Messages of the condition PodReadyToStartContainers. Source:
// pkg/kubelet/types, v1.37.1.
const (
	sandboxMissing  = "no pod sandbox exists"
	sandboxNotReady = "pod sandbox is not ready"
	sandboxTwice    = "multiple pod sandboxes are ready and need to be reconciled"
	sandboxNetwork  = "network namespace mode changed and sandbox needs to be recreated"
	sandboxNoIP     = "pod sandbox has no IP address"
)

// sandboxChange returns why a pod needs a new sandbox, or "" if it needs none.
// Attempt is how many there were before the one that it needs or has.
func sandboxChange(pod *corev1.Pod, observed *cri.Pod) (reason string, attempt uint32) {
	if len(observed.Sandboxes) == 0 {
		return sandboxMissing, 0
	}
	ready := 0
	for i := range observed.Sandboxes {
		if observed.Sandboxes[i].Ready {
			ready++
		}
	}
	newest := &observed.Sandboxes[0]
	switch {
	case ready > 1:
		reason = sandboxTwice
	case !newest.Ready:
		reason = sandboxNotReady
	case newest.HostNetwork != pod.Spec.HostNetwork:
		reason = sandboxNetwork
	case !newest.HostNetwork && newest.IP == "":
		reason = sandboxNoIP
	default:
		return "", newest.Attempt
	}
	return reason, newest.Attempt + 1
}
