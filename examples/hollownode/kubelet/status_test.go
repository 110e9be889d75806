package kubelet

import (
	"slices"
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

func TestConditionsFollowThePodThroughItsLife(t *testing.T) {
	const (
		sandboxed, initialized = corev1.PodReadyToStartContainers, corev1.PodInitialized
		ready, containers      = corev1.PodReady, corev1.ContainersReady
	)
	v := initView()
	v.Observed = &cri.Pod{}
	s := statusOf(v, nil, start)
	assert.Equal(t, corev1.PodPending, s.Phase)
	assert.Equal(t, map[corev1.PodConditionType]string{
		sandboxed: "False PodSandboxNotReady", initialized: "False ContainersNotInitialized",
		ready: "False ContainersNotReady", containers: "False ContainersNotReady", corev1.PodScheduled: "True",
	}, conditionsOf(&s))
	assert.Equal(t, "containers with incomplete status: [i1 i2 i3]", findCondition(&s, initialized).Message)
	assert.Equal(t, "containers with unready status: [c1 c2 c3]", findCondition(&s, ready).Message)
	assert.Equal(t, "PodInitializing", s.ContainerStatuses[0].State.Waiting.Reason)
	assert.Equal(t, start, s.StartTime.Time)

	v.Observed = initView().Observed
	s = statusOf(v, &s, start.Add(time.Second))
	assert.Equal(t, "True", conditionsOf(&s)[sandboxed])
	assert.Equal(t, "True", conditionsOf(&s)[initialized])
	assert.Equal(t, start.Add(time.Second), findCondition(&s, initialized).LastTransitionTime.Time)
	assert.Equal(t, "10.0.0.1", s.PodIP)

	v.Observed.Containers = append(v.Observed.Containers, running("c1"), running("c2"), running("c3"))
	s = statusOf(v, &s, start.Add(2*time.Second))
	assert.Equal(t, corev1.PodRunning, s.Phase)
	assert.Equal(t, "True", conditionsOf(&s)[ready])
	assert.Equal(t, start.Add(time.Second), findCondition(&s, initialized).LastTransitionTime.Time, "it has not changed")
	assert.Equal(t, start.Add(2*time.Second), findCondition(&s, ready).LastTransitionTime.Time)
	assert.Equal(t, start, s.StartTime.Time)

	policy(v, never)
	for i := 3; i < 6; i++ {
		state(v, i, cri.StateExited, 0)
	}
	s = statusOf(v, &s, start.Add(3*time.Second))
	assert.Equal(t, corev1.PodSucceeded, s.Phase)
	assert.Equal(t, "False PodCompleted", conditionsOf(&s)[ready])
	assert.Equal(t, "True PodCompleted", conditionsOf(&s)[initialized])
}

func TestReadyWaitsForProbesAndGates(t *testing.T) {
	v := baseView()
	c := &v.Pod.Spec.Containers[0]
	c.StartupProbe, c.ReadinessProbe = &corev1.Probe{}, &corev1.Probe{}
	v.Pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	s := statusOf(v, nil, start)
	assert.False(t, *s.ContainerStatuses[0].Started)
	assert.False(t, s.ContainerStatuses[0].Ready)
	assert.True(t, s.ContainerStatuses[1].Ready, "it has no probe")
	set(v, 0, cri.ProbeReadiness, ProbeSuccess)
	s = statusOf(v, nil, start)
	assert.False(t, s.ContainerStatuses[0].Ready, "it has not started")
	set(v, 0, cri.ProbeStartup, ProbeSuccess)
	s = statusOf(v, nil, start)
	assert.True(t, s.ContainerStatuses[0].Ready)
	assert.Equal(t, "True", conditionsOf(&s)[corev1.ContainersReady])
	assert.Equal(t, "False ReadinessGatesNotReady", conditionsOf(&s)[corev1.PodReady])
	v.Pod.Status.Conditions = []corev1.PodCondition{{Type: "gate", Status: corev1.ConditionFalse}}
	s = statusOf(v, nil, start)
	assert.Equal(t, "False ReadinessGatesNotReady", conditionsOf(&s)[corev1.PodReady])
	v.Pod.Status.Conditions[0].Status = corev1.ConditionTrue
	s = statusOf(v, nil, start)
	assert.Equal(t, "True", conditionsOf(&s)[corev1.PodReady])
	assert.Equal(t, "True", conditionsOf(&s)["gate"], "conditions of other clients stay")
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

func TestAnOldStatusNeverOverwritesANewOne(t *testing.T) {
	pod := baseView().Pod
	var p publication
	phaseOf := func(phase corev1.PodPhase) corev1.PodStatus { return corev1.PodStatus{Phase: phase} }
	require.True(t, p.set(0, pod, phaseOf(corev1.PodPending)))
	require.False(t, p.set(0, pod, phaseOf(corev1.PodPending)), "nothing has changed")
	status, first := p.begin(pod, false)
	assert.Equal(t, corev1.PodPending, status.Phase)
	require.True(t, p.set(0, pod, phaseOf(corev1.PodRunning)))
	assert.False(t, p.pending(), "one write at a time")
	p.end(first, 0, true)
	assert.True(t, p.pending(), "the second change was not in the first write")
	status, second := p.begin(pod, false)
	assert.Equal(t, corev1.PodRunning, status.Phase)
	p.end(first, 0, true)
	assert.False(t, p.pending(), "the second write is on its way")
	p.end(second, 0, false)
	assert.True(t, p.pending(), "it failed")
	_, third := p.begin(pod, false)
	p.end(third, 0, true)
	assert.False(t, p.pending())
	p.overwritten(0)
	assert.True(t, p.pending())
	_, fourth := p.begin(pod, false)
	p.overwritten(0)
	p.end(fourth, 0, true)
	assert.True(t, p.pending(), "the write may have been before what has overwritten it")
}

// Another client has ended the pod. A write of ours from before arrives after
// that and takes the phase back, and a watch shows it later still.
func TestAFinalPhaseOfAnotherClientIsNotTakenBack(t *testing.T) {
	for _, running := range []bool{false, true} {
		pod := baseView().Pod.DeepCopy()
		pod.Status.Phase = corev1.PodFailed
		var p publication
		require.True(t, p.set(0, pod, corev1.PodStatus{Phase: corev1.PodRunning}))
		status, version := p.begin(pod, running)
		assert.Equal(t, corev1.PodFailed, status.Phase)
		p.end(version, 0, true)

		pod.Status.Phase = corev1.PodRunning
		p.overwritten(0)
		status, _ = p.begin(pod, running)
		assert.Equal(t, corev1.PodFailed, status.Phase, "containers may run: %v", running)
	}
}

// A controller that replaces a pod as soon as it has failed would otherwise run
// both. Source: mergePodStatus in pkg/kubelet/status, v1.37.1.
func TestAFinalPhaseIsHeldBackUntilTheContainersHaveEnded(t *testing.T) {
	pod := baseView().Pod
	var p publication
	require.True(t, p.set(0, pod, corev1.PodStatus{Phase: corev1.PodRunning}))
	require.True(t, p.set(0, pod, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"}))
	status, version := p.begin(pod, true)
	assert.Equal(t, corev1.PodStatus{Phase: corev1.PodRunning}, status)
	p.end(version, 0, true)
	shown := pod.DeepCopy()
	shown.Status = status
	assert.True(t, p.arrived(shown, true), "another client has not overwritten it")
	assert.False(t, p.pending())
	p.release(0)
	assert.True(t, p.pending())
	status, version = p.begin(shown, false)
	assert.Equal(t, corev1.PodFailed, status.Phase)
	assert.Equal(t, "DeadlineExceeded", status.Reason)
	p.end(version, 0, true)
	shown.Status = status
	p.release(0)
	assert.False(t, p.pending(), "the API server has it")
}

func TestAStatusDoesNotReviveAContainer(t *testing.T) {
	v := baseView()
	policy(v, never)
	state(v, 0, cri.StateExited, 1)
	var p publication
	require.True(t, p.set(0, v.Pod, statusOf(v, nil, start)))
	v.Observed.Containers[0] = running("c1")
	assert.False(t, p.set(0, v.Pod, statusOf(v, p.status, start)))
	policy(v, onFailure)
	assert.True(t, p.set(0, v.Pod, statusOf(v, p.status, start)))
}

func TestConditionsOfOtherClientsAreNoChangeOfOurs(t *testing.T) {
	a := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "other"}, {Type: corev1.PodReady}}}
	b := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}}
	assert.True(t, sameStatus(&a, &b))
	b.Conditions[0].LastTransitionTime = metav1.NewTime(start)
	assert.False(t, sameStatus(&a, &b))
}

func TestStatusesDifferInWhatTheKubeletWrites(t *testing.T) {
	one := func() *corev1.PodStatus {
		return &corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "r", PodIPs: []corev1.PodIP{{IP: "1.1.1.1"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, ObservedGeneration: 1},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
			},
		}
	}
	assert.True(t, sameStatus(one(), one()))
	gated := one()
	gate := corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionTrue}
	gated.Conditions = []corev1.PodCondition{gate, gated.Conditions[0], gate, gated.Conditions[1], gate}
	assert.True(t, sameStatus(one(), gated))
	assert.True(t, sameStatus(gated, one()))
	for name, change := range map[string]func(s *corev1.PodStatus){
		"phase":           func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed },
		"reason":          func(s *corev1.PodStatus) { s.Reason = "" },
		"IP":              func(s *corev1.PodStatus) { s.PodIPs[0].IP = "2.2.2.2" },
		"restarts":        func(s *corev1.PodStatus) { s.ContainerStatuses[0].RestartCount++ },
		"one less":        func(s *corev1.PodStatus) { s.Conditions = s.Conditions[:1] },
		"other order":     func(s *corev1.PodStatus) { slices.Reverse(s.Conditions) },
		"condition":       func(s *corev1.PodStatus) { s.Conditions[1].Status = corev1.ConditionFalse },
		"its reason":      func(s *corev1.PodStatus) { s.Conditions[1].Reason = "r" },
		"its message":     func(s *corev1.PodStatus) { s.Conditions[1].Message = "m" },
		"its generation":  func(s *corev1.PodStatus) { s.Conditions[0].ObservedGeneration++ },
		"its probe":       func(s *corev1.PodStatus) { s.Conditions[0].LastProbeTime = metav1.NewTime(start) },
		"its transition":  func(s *corev1.PodStatus) { s.Conditions[0].LastTransitionTime = metav1.NewTime(start) },
		"no transition":   func(s *corev1.PodStatus) { s.Conditions[1].LastTransitionTime = metav1.Time{} },
		"its type":        func(s *corev1.PodStatus) { s.Conditions[0].Type = corev1.PodInitialized },
		"only of another": func(s *corev1.PodStatus) { s.Conditions = []corev1.PodCondition{gate} },
	} {
		other := one()
		change(other)
		assert.False(t, sameStatus(one(), other), name)
		assert.False(t, sameStatus(other, one()), name)
	}
}

// A spec that changes has another generation. Without one it is compared.
func TestSpecsOfOneGenerationAreTheSame(t *testing.T) {
	pod := func(generation, deadline int64) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Spec:       corev1.PodSpec{ActiveDeadlineSeconds: &deadline},
		}
	}
	assert.True(t, sameSpec(pod(0, 1), pod(0, 1)))
	assert.False(t, sameSpec(pod(0, 1), pod(0, 2)))
	assert.True(t, sameSpec(pod(1, 1), pod(2, 1)), "a deletion changes the generation, too")
	assert.False(t, sameSpec(pod(1, 1), pod(2, 2)))
	assert.True(t, sameSpec(pod(1, 1), pod(1, 1)))
}
