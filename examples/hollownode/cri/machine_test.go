package cri

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// twoNodes returns a runtime with the running pods a and b on node-1 and c on
// node-2.
func twoNodes(t *testing.T, annotations map[string]string) *Fake {
	f := newFake(t)
	for _, name := range []types.UID{"b", "a", "c"} {
		pod := newPod(annotations, "main")
		pod.UID = name
		node := "node-1"
		if name == "c" {
			node = "node-2"
		}
		f.Begin(start, Plan{Node: node, Pod: pod, Steps: startSteps("main")})
	}
	drain(f, start, 0)
	return f
}

func TestPodsAreListedByNode(t *testing.T) {
	f := twoNodes(t, nil)
	assert.Equal(t, []types.UID{"a", "b"}, f.Pods(start, "node-1"))
	assert.Equal(t, []types.UID{"c"}, f.Pods(start, "node-2"))
	f.Reboot(start, "node-2")
	require.True(t, f.Remove(start, "c"))
	assert.Empty(t, f.Pods(start, "node-2"))
}

func TestARebootEndsContainersSandboxesAndPlans(t *testing.T) {
	f := twoNodes(t, map[string]string{domain + "run-time": "1h"})
	other := newPod(map[string]string{domain + "pull-time": "10s"}, "main")
	other.UID, other.Spec.Containers[0].Image = "pulling", "other"
	f.Begin(start, Plan{Node: "node-1", Pod: other, Steps: startSteps("main")})
	now := start.Add(time.Second)
	f.Reboot(now, "node-1")
	for _, name := range []types.UID{"a", "b", "pulling"} {
		state, found := f.Pod(now, name)
		require.True(t, found)
		assert.False(t, state.Busy || state.Running() || state.Sandboxes[0].Ready, name)
		assert.Empty(t, state.Sandboxes[0].IP)
		for _, c := range state.Containers {
			assert.Equal(t, StateExited, c.State)
			assert.Equal(t, rebootCode, c.ExitCode)
			assert.Equal(t, "Unknown", c.Reason)
			assert.Equal(t, now, c.FinishedAt)
		}
	}
	state, _ := f.Pod(now, "c")
	assert.True(t, state.Running(), "another node goes on")
	assert.Empty(t, drain(f, now, time.Minute), "a plan that a reboot has ended is not reported")
	f.Begin(now, Plan{Node: "node-1", Pod: other, Steps: []Step{{Kind: StepStopSandboxes}}})
}

func TestANodeThatIsRemovedLeavesNothing(t *testing.T) {
	f := twoNodes(t, map[string]string{domain + "run-time": "1h"})
	pod := newPod(map[string]string{domain + "pull-time": "10s"}, "main")
	pod.Spec.Containers[0].Image, pod.Spec.Containers[0].ImagePullPolicy = "other", corev1.PullAlways
	f.Begin(start, Plan{Node: "node-1", Pod: pod, Steps: startSteps("main")})
	f.RemoveNode(start, "node-1")
	f.RemoveNode(start, "node-2")
	drain(f, start, 0)
	assert.Empty(t, f.pods)
	assert.Empty(t, f.machines)
	assert.Zero(t, f.queue.Len())
}
