package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

func statusOf(v *View, old *corev1.PodStatus, now time.Time) corev1.PodStatus {
	if old == nil {
		old = &corev1.PodStatus{}
	}
	sv := &statusView{View: *v, old: old}
	return sv.generate(now)
}

// conditionsOf returns the status and reason of each condition.
func conditionsOf(s *corev1.PodStatus) map[corev1.PodConditionType]string {
	got := map[corev1.PodConditionType]string{}
	for _, c := range s.Conditions {
		got[c.Type] = string(c.Status)
		if c.Reason != "" {
			got[c.Type] += " " + c.Reason
		}
	}
	return got
}

func TestAWaitingContainerShowsWhyAndHowItEnded(t *testing.T) {
	v := baseView()
	state(v, 0, cri.StateExited, 3)
	v.Observed.Containers[0].Attempt = 4
	sv := &statusView{View: *v, old: &corev1.PodStatus{}, waiting: map[string]Wait{
		"c1": {Container: "c1", Reason: reasonCrashLoop, Message: "back-off"},
		"c2": {Container: "c2", Reason: reasonCrashLoop},
	}}
	s := sv.generate(start)
	c := s.ContainerStatuses[0]
	assert.Equal(t, reasonCrashLoop, c.State.Waiting.Reason)
	assert.EqualValues(t, 3, c.LastTerminationState.Terminated.ExitCode)
	assert.EqualValues(t, 4, c.RestartCount)
	assert.NotNil(t, s.ContainerStatuses[1].State.Running, "it runs, whatever the reason was")
	assert.Equal(t, corev1.PodRunning, s.Phase)

	// The run after that shows the former one as its last end.
	next := running("c1")
	next.ID, next.Attempt = "next", 5
	v.Observed.Containers = append([]cri.Container{next}, v.Observed.Containers...)
	s = statusOf(v, &s, start)
	assert.NotNil(t, s.ContainerStatuses[0].State.Running)
	assert.EqualValues(t, 3, s.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	assert.EqualValues(t, 5, s.ContainerStatuses[0].RestartCount)
}

func TestAContainerThatIsGoneDoesNotMakeThePodPending(t *testing.T) {
	v := baseView()
	s := statusOf(v, nil, start)
	v.Observed.Containers = v.Observed.Containers[1:]
	s = statusOf(v, &s, start)
	assert.Equal(t, corev1.PodRunning, s.Phase)
	c := s.ContainerStatuses[0]
	assert.Equal(t, reasonStatusUnknown, c.LastTerminationState.Terminated.Reason)
	assert.EqualValues(t, 1, c.RestartCount)
}

func TestAnInitContainerThatIsGoneHasSucceededIfOthersWereCreated(t *testing.T) {
	v := initView()
	v.Observed.Containers = []cri.Container{running("c1")}
	s := statusOf(v, nil, start)
	assert.Equal(t, "Completed", s.InitContainerStatuses[0].State.Terminated.Reason)
	assert.True(t, s.InitContainerStatuses[0].Ready || s.InitContainerStatuses[0].State.Terminated.ExitCode == 0)
}

func TestAPodEndsAtItsDeadline(t *testing.T) {
	v := baseView()
	v.Pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](10)
	s := statusOf(v, nil, start)
	before := statusOf(v, &s, start.Add(10*time.Second-1))
	assert.Equal(t, corev1.PodRunning, before.Phase)
	after := statusOf(v, &s, start.Add(10*time.Second))
	assert.Equal(t, corev1.PodFailed, after.Phase)
	assert.Equal(t, reasonDeadlineExceeded, after.Reason)
	later := statusOf(v, &after, start.Add(20*time.Second))
	assert.Equal(t, reasonDeadlineExceeded, later.Reason)
	assert.Equal(t, "False PodFailed", conditionsOf(&later)[corev1.PodReady])
}

func TestAFinalPhaseStays(t *testing.T) {
	v := baseView()
	for _, final := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		s := statusOf(v, &corev1.PodStatus{Phase: final, Reason: "why"}, start)
		assert.Equal(t, final, s.Phase)
		assert.Equal(t, "why", s.Reason)
		v.Pod.Status.Phase = final
		s = statusOf(v, nil, start)
		assert.Equal(t, final, s.Phase)
		v.Pod.Status.Phase = ""
	}
}

func TestAPodThatHasEndedLosesWhatIsNotKnownToHaveEnded(t *testing.T) {
	v := initView()
	v.Observed.Containers = append(v.Observed.Containers, running("c1"), exited("c2", 0))
	s := statusOf(v, nil, start)
	v.Pod.Status = s
	final := finalStatus(start, v.Pod, &s)
	assert.Equal(t, corev1.PodFailed, final.Phase)
	assert.Equal(t, lostCode, final.ContainerStatuses[0].State.Terminated.ExitCode)
	assert.EqualValues(t, 0, final.ContainerStatuses[1].State.Terminated.ExitCode)
	v.Observed.Containers = v.Observed.Containers[:1]
	state(v, 0, cri.StateRunning, 0)
	v.Pod.Status = corev1.PodStatus{}
	s = statusOf(v, nil, start)
	v.Pod.Status = s
	final = finalStatus(start, v.Pod, &s)
	assert.NotNil(t, final.InitContainerStatuses[0].State.Terminated)
	assert.NotNil(t, final.InitContainerStatuses[1].State.Waiting, "it was never started")
	assert.NotNil(t, final.ContainerStatuses[0].State.Waiting)
}

// An init container that is stopped with its pod may exit with 0. That is not
// known to be its success.
func TestAPodThatHasEndedDuringItsInitContainersWasNotInitialized(t *testing.T) {
	v := initView()
	v.Pod.Spec.InitContainers = v.Pod.Spec.InitContainers[:1]
	v.Observed.Containers = v.Observed.Containers[:1]
	state(v, 0, cri.StateRunning, 0)
	v.Pod.Status = statusOf(v, nil, start)
	state(v, 0, cri.StateExited, 0)
	s := statusOf(v, &v.Pod.Status, start)
	require.NotNil(t, s.InitContainerStatuses[0].State.Terminated)
	final := finalStatus(start, v.Pod, &s)
	assert.NotNil(t, final.ContainerStatuses[0].State.Waiting, "it was never started")
	assert.Equal(t, corev1.PodFailed, final.Phase)
}

// TestActiveDeadlineHandler of active_deadline_test.go, v1.37.1. Zero seconds
// are no deadline.
func TestAPodIsPastItsDeadlineAsForTheKubelet(t *testing.T) {
	type deadlineCase struct {
		started         bool // a minute ago
		deadlineSeconds int64
		want            bool
	}
	for _, c := range []deadlineCase{
		{true, 30, true}, {true, 120, false}, {true, 0, false}, {false, 120, false}, {false, 0, false},
	} {
		pod, status := baseView().Pod, &corev1.PodStatus{}
		if c.started {
			status.StartTime = &metav1.Time{Time: start.Add(-time.Minute)}
		}
		if c.deadlineSeconds > 0 {
			pod.Spec.ActiveDeadlineSeconds = &c.deadlineSeconds
		}
		assert.Equal(t, c.want, pastDeadline(start, pod, status), "%+v", c)
	}
}
