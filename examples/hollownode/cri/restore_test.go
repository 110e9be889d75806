package cri

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func at(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(d)) }

// storedPod returns a pod whose status shows one ready sandbox and these
// containers.
func storedPod(annotations map[string]string, statuses ...corev1.ContainerStatus) *corev1.Pod {
	var names []string
	for _, s := range statuses {
		names = append(names, s.Name)
	}
	pod := newPod(annotations, names...)
	pod.UID = "stored"
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.1.7", ContainerStatuses: statuses,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}},
	}
	return pod
}

func runningStatus(name string, restarts int32, since time.Duration) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Image: "image", ContainerID: "fake://old/" + name, RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(since)}},
	}
}

func endedState(id string, code int32, finished time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ContainerID: id, ExitCode: code, Reason: "Error", StartedAt: at(0), FinishedAt: at(finished),
	}}
}

func TestContainersRunOnAfterARestartOfTheProcess(t *testing.T) {
	f := newFake(t)
	restarted := runningStatus("main", 2, 10*time.Second)
	restarted.LastTerminationState = endedState("fake://old/former", 3, 9*time.Second)
	waiting := corev1.ContainerStatus{
		Name: "waits", Image: "image", RestartCount: 4,
		LastTerminationState: endedState("fake://old/crashed", 1, time.Second),
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}
	ended := corev1.ContainerStatus{
		Name: "ended", Image: "image", RestartCount: 1, State: endedState("fake://old/ended", 0, time.Second),
	}
	pod := storedPod(map[string]string{domain + "run-time": "1m"}, restarted, waiting, ended)
	require.True(t, f.Restore(start.Add(20*time.Second), "node", pod))
	require.True(t, f.Restore(start.Add(20*time.Second), "node", pod), "it is there")

	state, found := f.Pod(start.Add(20*time.Second), "stored")
	require.True(t, found)
	require.Len(t, state.Sandboxes, 1)
	require.Len(t, state.Containers, 4)
	assert.Equal(t, "10.0.1.7", state.Sandboxes[0].IP)
	assert.True(t, state.Sandboxes[0].Ready)
	main, _ := state.LatestActive("main")
	assert.Equal(t, Container{
		ID: "fake://old/main", Name: "main", Image: "image", Sandbox: state.Sandboxes[0].ID, Attempt: 2,
		State: StateRunning, CreatedAt: start.Add(10 * time.Second), StartedAt: start.Add(10 * time.Second),
	}, *main)
	assert.EqualValues(t, 1, state.Containers[1].Attempt, "the run before")
	assert.EqualValues(t, 3, state.Containers[1].ExitCode)
	crashed, _ := state.Latest("waits")
	assert.EqualValues(t, 4, crashed.Attempt, "the run that it waits for has not begun")
	assert.Equal(t, StateExited, crashed.State)
	finished, _ := state.Latest("ended")
	assert.EqualValues(t, 1, finished.Attempt)

	// It was to run for a minute from its start on.
	next, ok := f.Next(start.Add(20 * time.Second))
	assert.True(t, ok)
	assert.Equal(t, start.Add(70*time.Second), next)

	// The next sandbox has another IP, and pulls nothing that was there.
	other := newPod(map[string]string{domain + "pull-time": "1h"}, "main")
	other.Spec.Containers[0].Image = "image"
	f.Begin(start.Add(21*time.Second), Plan{Node: "node", Pod: other, Steps: startSteps("main")})
	state, _ = f.Pod(start.Add(21*time.Second), other.UID)
	assert.Equal(t, "10.0.1.8", state.Sandboxes[0].IP)
	assert.Len(t, state.Containers, 1)
	assert.True(t, state.Running())
}

func TestAContainerThatWasToExitMeanwhileHasExitedAtItsTime(t *testing.T) {
	f := newFake(t)
	pod := storedPod(map[string]string{domain + "run-time": "5s", domain + "exit-code": "7"},
		runningStatus("main", 0, time.Second))
	require.True(t, f.Restore(start.Add(time.Hour), "node", pod))
	state, _ := f.Pod(start.Add(time.Hour), "stored")
	assert.Equal(t, StateExited, state.Containers[0].State)
	assert.Equal(t, start.Add(6*time.Second), state.Containers[0].FinishedAt)
	assert.EqualValues(t, 7, state.Containers[0].ExitCode)
}

// The kubelet makes no second sandbox for a pod that restarts nothing. So there
// must be a trace of the first one, which the status no longer shows.
func TestContainersThatLostTheirSandboxKeepATraceOfIt(t *testing.T) {
	f := newFake(t)
	pod := storedPod(nil, corev1.ContainerStatus{Name: "main", State: endedState("fake://old/main", 255, time.Second)})
	pod.Status.Conditions = nil
	require.True(t, f.Restore(start, "node", pod))
	state, _ := f.Pod(start, "stored")
	require.Len(t, state.Sandboxes, 1)
	assert.False(t, state.Sandboxes[0].Ready)
	assert.Equal(t, state.Sandboxes[0].ID, state.Containers[0].Sandbox)
}

func TestWhatHasEndedOrNeverBegunIsNotRestored(t *testing.T) {
	f := newFake(t)
	ended := corev1.ContainerStatus{Name: "main", State: endedState("fake://old/main", 0, time.Second)}
	pod := storedPod(nil, ended)
	pod.Status.Phase = corev1.PodSucceeded
	assert.False(t, f.Restore(start, "node", pod))
	pending := newPod(nil, "main")
	assert.False(t, f.Restore(start, "node", pending))
	assert.Empty(t, f.Pods(start, "node"))

	// A final phase does not end containers: their kubelet has yet to stop them.
	pod = storedPod(nil, runningStatus("main", 0, 0))
	pod.Status.Phase = corev1.PodFailed
	assert.True(t, f.Restore(start, "node", pod))
	assert.Equal(t, []types.UID{"stored"}, f.Pods(start, "node"))
}
