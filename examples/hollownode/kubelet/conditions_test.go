package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

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

// readyCase is one of a condition. A letter is a container or a gate. With y it
// is ready or true, with n it is not, and of a dash nothing is known.
type readyCase struct {
	sidecars, mains, gates string
	phase                  corev1.PodPhase
	reason, message        string
}

const (
	runs   = corev1.PodRunning
	noGate = `corresponding condition of pod readiness gate "g%d" does not exist.`
	unmet  = `the status of pod readiness gate "g%d" is not "True", but False`
)

// build returns the pod and status of a case. Unless it is the first of its
// table, there is a list of statuses: it has one that the pod does not know.
func (c readyCase) build(first bool) (*corev1.Pod, *corev1.PodStatus) {
	pod, status := &corev1.Pod{}, &corev1.PodStatus{Phase: c.phase}
	if !first {
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: "of another pod"}}
	}
	add := func(to *[]corev1.ContainerStatus, name string, letter rune) {
		if letter != '-' {
			*to = append(*to, corev1.ContainerStatus{Name: name, Ready: letter == 'y'})
		}
	}
	for i, letter := range c.sidecars {
		name := fmt.Sprintf("s%d", i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		add(&status.InitContainerStatuses, name, letter)
	}
	for i, letter := range c.mains {
		name := fmt.Sprintf("c%d", i)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		add(&status.ContainerStatuses, name, letter)
	}
	for i, letter := range c.gates {
		gate := corev1.PodConditionType(fmt.Sprintf("g%d", i))
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		if letter != '-' {
			is := map[rune]corev1.ConditionStatus{'y': corev1.ConditionTrue, 'n': corev1.ConditionFalse}[letter]
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: gate, Status: is})
		}
	}
	return pod, status
}

// TestGenerateContainersReadyCondition of status/generate_test.go, v1.37.1.
func TestContainersAreReadyAsForTheKubelet(t *testing.T) {
	for i, c := range []readyCase{
		{"", "", "", runs, reasonUnknownContainers, ""},
		{"", "", "", runs, "", ""},
		{"", "-", "", runs, reasonContainersNotReady, "containers with unknown status: [c0]"},
		{"", "yy", "", runs, "", ""},
		{"", "y-", "", runs, reasonContainersNotReady, "containers with unknown status: [c1]"},
		{"", "yn", "", runs, reasonContainersNotReady, "containers with unready status: [c1]"},
		{"", "n", "", corev1.PodSucceeded, reasonPodCompleted, ""},
		{"-", "y", "", runs, reasonContainersNotReady, "containers with unknown status: [s0]"},
		{"yy", "y", "", runs, "", ""},
		{"y-", "y", "", runs, reasonContainersNotReady, "containers with unknown status: [s1]"},
		{"yn", "y", "", runs, reasonContainersNotReady, "containers with unready status: [s1]"},
	} {
		pod, status := c.build(i == 0)
		_, is := readyConditions(pod, status)
		assert.Equal(t, condition(corev1.ContainersReady, c.reason, c.message), is, "%+v", c)
	}
}

// TestGeneratePodReadyCondition of status/generate_test.go, v1.37.1.
func TestAPodIsReadyAsForTheKubelet(t *testing.T) {
	for i, c := range []readyCase{
		{"", "", "", runs, reasonUnknownContainers, ""},
		{"", "", "", runs, "", ""},
		{"", "-", "", runs, reasonContainersNotReady, "containers with unknown status: [c0]"},
		{"", "yy", "", runs, "", ""},
		{"", "y-", "", runs, reasonContainersNotReady, "containers with unknown status: [c1]"},
		{"", "yn", "", runs, reasonContainersNotReady, "containers with unready status: [c1]"},
		{"", "n", "", corev1.PodSucceeded, reasonPodCompleted, ""},
		{"", "", "-", runs, reasonGatesNotReady, fmt.Sprintf(noGate, 0)},
		{"", "", "n", runs, reasonGatesNotReady, fmt.Sprintf(unmet, 0)},
		{"", "", "y", runs, "", ""},
		{"", "", "y-", runs, reasonGatesNotReady, fmt.Sprintf(noGate, 1)},
		{"", "", "yn", runs, reasonGatesNotReady, fmt.Sprintf(unmet, 1)},
		{"", "", "yy", runs, "", ""},
		{"", "n", "y", runs, reasonContainersNotReady, "containers with unready status: [c0]"},
	} {
		pod, status := c.build(i == 0)
		is, _ := readyConditions(pod, status)
		assert.Equal(t, condition(corev1.PodReady, c.reason, c.message), is, "%+v", c)
	}
}
