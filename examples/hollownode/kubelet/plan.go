package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
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
	if removes := slices.Concat(a.Removes, v.dead(a)); len(removes) > 0 {
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
