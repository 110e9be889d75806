package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

const (
	// reasonContainerCreating and reasonPodInitializing are why a container waits
	// that nothing else is known of.
	reasonContainerCreating = "ContainerCreating"
	reasonPodInitializing   = "PodInitializing"
	// reasonStatusUnknown is why a container has ended that is gone.
	reasonStatusUnknown = "ContainerStatusUnknown"
	// lostCode is the exit code of a container that is gone.
	lostCode int32 = 137
)

// containerStatuses returns the statuses of the containers of a list, in its
// order.
func (v *statusView) containerStatuses(
	specs []corev1.Container, old []corev1.ContainerStatus, init bool,
) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for i := range specs {
		before := containerStatus(old, specs[i].Name)
		s := v.containerStatus(&specs[i], before)
		v.showWait(&specs[i], init, &s)
		v.showProbes(&specs[i], init, &s)
		statuses = append(statuses, s)
	}
	return statuses
}

// containerStatus returns what the runtime shows of a container. Before is its
// status before, or nil.
func (v *statusView) containerStatus(spec *corev1.Container, before *corev1.ContainerStatus) corev1.ContainerStatus {
	latest, found := v.Observed.Latest(spec.Name)
	if !found {
		return v.lostStatus(spec, before)
	}
	s := corev1.ContainerStatus{
		Name: spec.Name, Image: latest.Image, ImageID: latest.Image, ContainerID: latest.ID,
		RestartCount: latest.Attempt, State: shownState(latest),
	}
	if before != nil {
		s.RestartCount = max(s.RestartCount, before.RestartCount)
		s.LastTerminationState = before.LastTerminationState
		if before.ContainerID != s.ContainerID && before.State.Terminated != nil {
			s.LastTerminationState = before.State
		}
		if s.State == (corev1.ContainerState{}) && before.State.Running != nil {
			s.State.Terminated = lostEnd()
			s.RestartCount = before.RestartCount + 1
		}
	}
	if s.State == (corev1.ContainerState{}) {
		s.State = v.initialState()
	}
	if former := v.former(latest); former != nil {
		s.LastTerminationState = shownState(former)
	}
	return s
}

// lostStatus returns the status of a container of which the runtime has no run:
// it was never started, or it was removed.
func (v *statusView) lostStatus(spec *corev1.Container, before *corev1.ContainerStatus) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: spec.Name, Image: spec.Image, State: v.initialState()}
	if before == nil {
		return s
	}
	s.RestartCount, s.LastTerminationState = before.RestartCount, before.LastTerminationState
	switch {
	case before.State.Terminated != nil:
		return *before
	case before.State.Running != nil && s.LastTerminationState.Terminated == nil:
		// It has run, so it must not make the pod pending again.
		s.LastTerminationState.Terminated = lostEnd()
		s.LastTerminationState.Terminated.Message =
			"The container could not be located when the pod was deleted.  The container used to be Running"
		if v.Pod.DeletionTimestamp == nil {
			s.RestartCount++
		}
	}
	return s
}

// lostEnd is how a container has ended whose end was not seen.
func lostEnd() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		Reason: reasonStatusUnknown, Message: "The container could not be located when the pod was terminated",
		ExitCode: lostCode,
	}
}

// initialState is that of a container of which nothing is known.
func (v *statusView) initialState() corev1.ContainerState {
	reason := reasonContainerCreating
	if len(v.Pod.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// shownState returns the state of a run as the API shows it. It is empty for
// a run of which nothing is known.
func shownState(c *cri.Container) corev1.ContainerState {
	switch c.State {
	case cri.StateCreated:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	case cri.StateRunning:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: apiTime(c.StartedAt)}}
	case cri.StateExited:
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message, ContainerID: c.ID,
			StartedAt: apiTime(c.StartedAt), FinishedAt: apiTime(c.FinishedAt),
		}}
	default:
		return corev1.ContainerState{}
	}
}

// former returns the run before the latest of a name, or nil.
func (v *statusView) former(latest *cri.Container) *cri.Container {
	for i := range v.Observed.Containers {
		if c := &v.Observed.Containers[i]; c.Name == latest.Name && c.ID != latest.ID {
			return c
		}
	}
	return nil
}

// showWait shows why a container is not started, if that is known.
func (v *statusView) showWait(spec *corev1.Container, init bool, s *corev1.ContainerStatus) {
	latest, found := v.Observed.Latest(spec.Name)
	if init {
		if found && latest.State == cri.StateExited && latest.ExitCode == 0 {
			return
		}
		if !found && s.State.Waiting != nil && !isSidecar(spec) && hasCreated(v.Pod, v.Observed) {
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "Completed", Message: "Unable to get init container status from container runtime " +
					"and pod has been initialized, treat it as exited normally",
			}}
			return
		}
	}
	wait, waits := v.waiting[spec.Name]
	if !waits || !mayStart(v.Pod, spec, v.Observed) {
		return
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: wait.Reason, Message: wait.Message,
	}}
}

// showProbes sets whether a container has started and is ready.
func (v *statusView) showProbes(spec *corev1.Container, init bool, s *corev1.ContainerStatus) {
	started := s.State.Running != nil
	if started && spec.StartupProbe != nil {
		started = v.Probes[ProbeKey{s.ContainerID, cri.ProbeStartup}] == ProbeSuccess
	}
	s.Started = &started
	if init && !isSidecar(spec) {
		s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		return
	}
	s.Ready = started && (spec.ReadinessProbe == nil || v.isReady(s.ContainerID))
}

// isReady reports whether the readiness probe of a container says so. One that
// the kubelet has kept stays ready if its pod is.
func (v *statusView) isReady(id string) bool {
	switch v.Probes[ProbeKey{id, cri.ProbeReadiness}] {
	case ProbeSuccess:
		return true
	case ProbeKept:
		c := findCondition(&v.Pod.Status, corev1.PodReady)
		return c != nil && c.Status == corev1.ConditionTrue && v.shownReady(id)
	default:
		return false
	}
}

// shownReady reports whether the API shows a run as ready. It can show the run
// before it, because a write has failed.
func (v *statusView) shownReady(id string) bool {
	for _, list := range [][]corev1.ContainerStatus{v.Pod.Status.InitContainerStatuses, v.Pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].ContainerID == id {
				return list[i].Ready
			}
		}
	}
	return false
}

// apiTime returns a time as the API stores it, in whole seconds.
func apiTime(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

// phaseCounts counts the containers of a pod by what they say of its phase.
type phaseCounts struct {
	pendingInit, pendingSidecar, failedInit                 int
	unknown, running, waiting, stopped, succeeded, finished int
}

// phase returns the phase of a pod. Terminal tells that none of its containers
// is restarted, started that one of the main containers has run in this
// sandbox.
func phase(pod *corev1.Pod, status *corev1.PodStatus, terminal, started bool) corev1.PodPhase {
	n := countContainers(pod, status)
	switch {
	case n.failedInit > 0:
		return corev1.PodFailed
	case n.pendingInit > 0, n.pendingSidecar > 0 && !started, n.waiting > 0:
		return corev1.PodPending
	case n.running > 0 && n.unknown == 0:
		return corev1.PodRunning
	case n.running > 0 || n.stopped == 0 || n.unknown > 0:
		return corev1.PodPending
	case n.stopped > n.finished && !(terminal && !isStatic(pod)):
		return corev1.PodRunning
	case n.stopped == n.succeeded:
		return corev1.PodSucceeded
	default:
		return corev1.PodFailed
	}
}

func countContainers(pod *corev1.Pod, status *corev1.PodStatus) phaseCounts {
	var n phaseCounts
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s := containerStatus(status.InitContainerStatuses, c.Name)
		if isSidecar(c) {
			n.sidecar(s)
			continue
		}
		switch ended := lastEnd(s); {
		case ended == nil:
			n.pendingInit++
		case ended.ExitCode != 0 && !restartsAfter(&pod.Spec, c, ended.ExitCode):
			n.failedInit++
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := containerStatus(status.ContainerStatuses, c.Name)
		ended := lastEnd(s)
		switch {
		case s == nil:
			n.unknown++
		case s.State.Running != nil:
			n.running++
		case ended != nil:
			n.stopped++
			if !restartsAfter(&pod.Spec, c, ended.ExitCode) {
				n.finished++
			}
			if s.State.Terminated != nil && ended.ExitCode == 0 {
				n.succeeded++
			}
		case s.State.Waiting != nil:
			n.waiting++
		default:
			n.unknown++
		}
	}
	return n
}

// sidecar counts a sidecar. One that has ended does not count.
func (n *phaseCounts) sidecar(s *corev1.ContainerStatus) {
	switch {
	case s == nil:
		n.unknown++
	case s.State.Running != nil:
		n.running++
		if s.Started == nil || !*s.Started {
			n.pendingSidecar++
		}
	case lastEnd(s) != nil:
	case s.State.Waiting != nil:
		n.pendingSidecar++
		n.waiting++
	default:
		n.pendingSidecar++
		n.unknown++
	}
}

// lastEnd returns how a container that does not run ended last, or nil.
func lastEnd(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	switch {
	case s == nil || s.State.Running != nil:
		return nil
	case s.State.Terminated != nil:
		return s.State.Terminated
	case s.State.Waiting != nil:
		return s.LastTerminationState.Terminated
	default:
		return nil
	}
}

// containerStatus returns the status of a name, or nil.
func containerStatus(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
