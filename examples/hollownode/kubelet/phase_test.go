package kubelet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

type phaseCase struct {
	init, main        string // a letter for each container
	terminal, started bool
	want              corev1.PodPhase
}

// letterStatus returns the status that a letter of the table means. A dash is
// none.
func letterStatus(name string, letter byte) (corev1.ContainerStatus, bool) {
	s := corev1.ContainerStatus{Name: name}
	terminated := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code}
	}
	waiting := &corev1.ContainerStateWaiting{}
	switch letter {
	case 'r': // running
		s.State.Running = &corev1.ContainerStateRunning{}
	case 'R': // running, and started
		s.State.Running, s.Started = &corev1.ContainerStateRunning{}, ptr.To(true)
	case 's': // succeeded
		s.State.Terminated = terminated(0)
	case 'f': // failed
		s.State.Terminated = terminated(1)
	case 'w': // waiting
		s.State.Waiting = waiting
	case 'z': // waiting, and has succeeded before
		s.State.Waiting, s.LastTerminationState.Terminated = waiting, terminated(0)
	case 'n': // waiting, and has failed before
		s.State.Waiting, s.LastTerminationState.Terminated = waiting, terminated(1)
	default:
		return s, false
	}
	return s, true
}

// 70 of the 94 cases of the TestPodPhase tables of kubelet_pods_test.go,
// v1.37.1. TestAContainersOwnPolicyDecidesThePhase has more.
func TestThePhaseIsThatOfTheKubelet(t *testing.T) {
	const (
		pending, run   = corev1.PodPending, corev1.PodRunning
		succeeded, bad = corev1.PodSucceeded, corev1.PodFailed
	)
	cases := 0
	for _, table := range []struct {
		policy corev1.RestartPolicy
		inits  string // i is an init container, s a sidecar
		cases  []phaseCase
	}{
		{policy: restart, cases: []phaseCase{
			{"", "--", false, false, pending}, {"", "rr", false, false, run}, {"", "ss", false, false, run},
			{"", "ss", true, false, succeeded}, {"", "sf", true, false, bad}, {"", "rs", false, false, run},
			{"", "r-", false, false, pending}, {"", "rw", false, false, pending}, {"", "rz", false, false, run},
		}},
		{policy: restart, inits: "i", cases: []phaseCase{
			{"-", "--", false, false, pending}, {"r", "--", false, false, pending}, {"f", "--", false, false, pending},
			{"z", "--", false, false, pending}, {"n", "--", false, false, pending}, {"w", "--", false, false, pending},
			{"s", "rr", false, false, run},
		}},
		{policy: restart, inits: "s", cases: []phaseCase{
			{"-", "--", false, false, pending}, {"r", "--", false, false, pending}, {"s", "--", false, false, pending},
			{"z", "--", false, false, pending}, {"n", "--", false, false, pending}, {"w", "--", false, false, pending},
			{"R", "r-", false, true, pending}, {"R", "rr", false, true, run}, {"r", "rr", false, true, run},
			{"s", "rr", false, true, run}, {"z", "rr", false, true, run}, {"f", "ss", true, true, succeeded},
			{"s", "ss", true, true, succeeded}, {"r", "rr", false, false, pending},
		}},
		{policy: restart, inits: "is", cases: []phaseCase{
			{"rr", "r", false, false, pending}, {"rr", "s", false, false, pending}, {"sr", "s", false, false, pending},
			{"sr", "s", false, true, run}, {"sr", "r", false, true, run},
		}},
		{policy: never, cases: []phaseCase{
			{"", "--", false, false, pending}, {"", "rr", false, false, run}, {"", "ss", false, false, succeeded},
			{"", "ff", false, false, bad}, {"", "rs", false, false, run}, {"", "r-", false, false, pending},
			{"", "rw", false, false, pending},
		}},
		{policy: never, inits: "i", cases: []phaseCase{
			{"-", "--", false, false, pending}, {"r", "--", false, false, pending}, {"f", "--", false, false, bad},
			{"z", "--", false, false, pending}, {"n", "--", false, false, bad}, {"w", "--", false, false, pending},
			{"s", "rr", false, false, run},
		}},
		{policy: never, inits: "s", cases: []phaseCase{
			{"-", "--", false, false, pending}, {"r", "--", false, false, pending}, {"s", "--", false, false, pending},
			{"z", "--", false, false, pending}, {"n", "--", false, false, pending}, {"w", "--", false, false, pending},
			{"R", "r-", false, true, pending}, {"R", "ss", false, true, run}, {"r", "ss", false, true, run},
			{"s", "ss", false, true, succeeded}, {"f", "ss", false, true, succeeded},
			{"z", "ss", false, true, succeeded}, {"n", "ss", false, true, succeeded},
		}},
		{policy: onFailure, cases: []phaseCase{
			{"", "--", false, false, pending}, {"", "rr", false, false, run}, {"", "ss", false, false, succeeded},
			{"", "ff", false, false, run}, {"", "rs", false, false, run}, {"", "r-", false, false, pending},
			{"", "rw", false, false, pending}, {"", "rz", false, false, run},
		}},
	} {
		for _, c := range table.cases {
			cases++
			pod, status := &corev1.Pod{}, &corev1.PodStatus{}
			pod.Spec.RestartPolicy = table.policy
			names := []string{"x", "y"}
			for i, kind := range table.inits {
				spec := corev1.Container{Name: names[i]}
				if kind == 's' {
					spec.RestartPolicy = &always
				}
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, spec)
				if s, ok := letterStatus(names[i], c.init[i]); ok {
					status.InitContainerStatuses = append(status.InitContainerStatuses, s)
				}
			}
			for i := range c.main {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: names[i]})
				if s, ok := letterStatus(names[i], c.main[i]); ok {
					status.ContainerStatuses = append(status.ContainerStatuses, s)
				}
			}
			assert.Equal(t, c.want, phase(pod, status, c.terminal, c.started), "%s %q %+v", table.policy, table.inits, c)
		}
	}
	assert.Equal(t, 70, cases)
}

// letterSpec returns a container with the policy that a letter means. A dash is
// none of its own.
func letterSpec(name string, letter rune) corev1.Container {
	c := corev1.Container{Name: name}
	policies := map[rune]corev1.ContainerRestartPolicy{
		'N': corev1.ContainerRestartPolicyNever, 'O': corev1.ContainerRestartPolicyOnFailure,
		'A': corev1.ContainerRestartPolicyAlways,
	}
	if policy, own := policies[letter]; own {
		c.RestartPolicy = &policy
	}
	return c
}

// 9 more cases: policies of containers. The last 15 are about rules that restart
// all containers.
func TestAContainersOwnPolicyDecidesThePhase(t *testing.T) {
	const (
		pending, run   = corev1.PodPending, corev1.PodRunning
		succeeded, bad = corev1.PodSucceeded, corev1.PodFailed
	)
	type policyCase struct {
		policy                 corev1.RestartPolicy
		inits, mains           string // a letter for each container
		initStates, mainStates string
		want                   corev1.PodPhase
	}
	for _, c := range []policyCase{
		{restart, "", "N", "", "f", bad},
		{restart, "", "O", "", "f", run},
		{restart, "", "A", "", "f", run},
		{never, "", "A-", "", "sf", run},
		{restart, "", "NO", "", "fs", bad},
		{restart, "", "NO", "", "ss", succeeded},

		{restart, "N", "-", "f", "-", bad},
		{never, "O", "-", "f", "-", pending},
		{never, "A", "-", "f", "-", pending},
	} {
		pod, status := &corev1.Pod{}, &corev1.PodStatus{}
		pod.Spec.RestartPolicy = c.policy
		names := []string{"x", "y"}
		for i, letter := range c.inits {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, letterSpec(names[i], letter))
			if s, ok := letterStatus(names[i], c.initStates[i]); ok {
				status.InitContainerStatuses = append(status.InitContainerStatuses, s)
			}
		}
		for i, letter := range c.mains {
			pod.Spec.Containers = append(pod.Spec.Containers, letterSpec("c"+names[i], letter))
			if s, ok := letterStatus("c"+names[i], c.mainStates[i]); ok {
				status.ContainerStatuses = append(status.ContainerStatuses, s)
			}
		}
		assert.Equal(t, c.want, phase(pod, status, false, true), "%+v", c)
	}
}
