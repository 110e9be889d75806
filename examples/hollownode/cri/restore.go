package cri

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Restore makes the containers of a pod run that its status shows, as if they
// had never stopped. It is for a process that starts again, because what this
// runtime knows ends with the process. A container that was to exit meanwhile
// has exited at its time.
//
// It reports whether the runtime has the pod now. A pod that it knows already
// is left alone, as is one that has ended. Its annotations may make things fail
// again that had failed before. It must come before all plans, because pods
// that begin before it could be given the same IPs.
func (f *Fake) Restore(now time.Time, node string, pod *corev1.Pod) bool {
	f.advance(now)
	if f.pods[pod.UID] != nil {
		return true
	}
	p := &podRecord{uid: pod.UID, name: nameOf(pod), node: node}
	p.restoreSandbox(pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			p.restoreContainer(pod, &list[i])
		}
	}
	p.restoreFormerSandbox()
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		if !p.running() {
			return false
		}
	}
	if len(p.sandboxes)+len(p.containers) == 0 {
		return false
	}
	f.pods[pod.UID] = p
	f.machine(node).pods[pod.UID] = p
	for _, s := range p.sandboxes {
		f.addresses.reserve(s.IP)
	}
	for _, c := range p.containers {
		f.machine(node).useImage(c.Image)
		if c.State == StateRunning {
			c.exitAt = later(c.StartedAt, c.script.runTime(c.Attempt))
			f.arm(timer{pod.UID, c.ID}, c.exitAt)
		}
	}
	return true
}

// restoreSandbox adds the sandbox that the status of a pod shows.
func (p *podRecord) restoreSandbox(pod *corev1.Pod) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			s := Sandbox{ID: newID(pod.UID, "", 0), Ready: true, HostNetwork: pod.Spec.HostNetwork}
			if !s.HostNetwork {
				s.IP = pod.Status.PodIP
			}
			p.sandboxes = []Sandbox{s}
		}
	}
}

// restoreFormerSandbox adds the sandbox of containers that have lost it. A pod
// that restarts nothing goes on in none. Without a trace of the first one it
// would seem to be new.
func (p *podRecord) restoreFormerSandbox() {
	if len(p.sandboxes) > 0 || len(p.containers) == 0 {
		return
	}
	former := Sandbox{ID: newID(p.uid, "", 0)}
	p.sandboxes = []Sandbox{former}
	for _, c := range p.containers {
		c.Sandbox = former.ID
	}
}

// restoreContainer adds the runs of a container that its status shows.
func (p *podRecord) restoreContainer(pod *corev1.Pod, s *corev1.ContainerStatus) {
	former := s.RestartCount - 1
	switch {
	case s.State.Running != nil:
		c := p.restoreRun(pod, s, s.ContainerID, s.RestartCount)
		c.State, c.StartedAt = StateRunning, s.State.Running.StartedAt.Time
		c.CreatedAt = c.StartedAt
	case s.State.Terminated != nil:
		p.restoreEnd(pod, s, s.State.Terminated, s.RestartCount)
	default:
		former = s.RestartCount // what it waits for has not begun
	}
	p.restoreEnd(pod, s, s.LastTerminationState.Terminated, former)
}

// restoreEnd adds a run that has ended, if the runtime had it.
func (p *podRecord) restoreEnd(
	pod *corev1.Pod, s *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated, attempt int32,
) {
	if ended == nil || ended.ContainerID == "" {
		return
	}
	c := p.restoreRun(pod, s, ended.ContainerID, max(attempt, 0))
	c.State, c.ExitCode, c.Reason, c.Message = StateExited, ended.ExitCode, ended.Reason, ended.Message
	c.CreatedAt, c.StartedAt, c.FinishedAt = ended.StartedAt.Time, ended.StartedAt.Time, ended.FinishedAt.Time
}

func (p *podRecord) restoreRun(
	pod *corev1.Pod, s *corev1.ContainerStatus, id string, attempt int32,
) *containerRecord {
	c := &containerRecord{Container: Container{ID: id, Name: s.Name, Image: s.Image, Attempt: attempt}}
	if len(p.sandboxes) > 0 {
		c.Sandbox = p.sandboxes[0].ID
	}
	// A plan would have refused a script that is wrong.
	script, _ := ParseScript(pod, s.Name)
	c.script = &script
	if spec := findSpec(pod, s.Name); spec != nil {
		c.hooked = spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil
	}
	p.containers = append(p.containers, c)
	return c
}

// running reports whether any container runs.
func (p *podRecord) running() bool {
	for _, c := range p.containers {
		if c.State == StateRunning {
			return true
		}
	}
	return false
}
