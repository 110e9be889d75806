package cri

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sandboxIP starts a sandbox of a pod, and returns its IP or the reason why
// there is none.
func sandboxIP(t *testing.T, f *Fake, uid string, attempt uint32) string {
	t.Helper()
	pod := newPod(nil, "a")
	pod.UID = types.UID(uid)
	f.Begin(start, Plan{Node: "node", Pod: pod, Steps: []Step{{Kind: StepCreateSandbox, Attempt: attempt}}})
	result := drain(f, start, 0)[0].Results[0]
	if !result.Done {
		return result.Reason + ": " + result.Message
	}
	state, _ := f.Pod(start, pod.UID)
	return state.Sandboxes[0].IP
}

func TestFleetsOfOneClusterHaveNetworksOfTheirOwn(t *testing.T) {
	one, other := newFake(t), newFake(t)
	assert.Equal(t, "10.0.0.1", sandboxIP(t, one, "a", 0))
	require.NoError(t, other.SetPodNetwork("10.64.7.9/10"))
	assert.Equal(t, "10.64.0.1", sandboxIP(t, other, "a", 0))
	for _, wrong := range []string{"", "fd00::/64", "10.0.0.0/31", "10.0.0/8", "10.0.0.0/8x", "10.0.0.0"} {
		require.ErrorIs(t, newFake(t).SetPodNetwork(wrong), ErrInvalidNetwork)
	}
}

// After days all IPs have been in use. Those of the pods that go on are left
// out then.
func TestNoTwoSandboxesHaveAnIP(t *testing.T) {
	f := newFake(t)
	require.NoError(t, f.SetPodNetwork("10.1.2.0/29"))
	goesOn := sandboxIP(t, f, "goes on", 0)
	for i := range 20 {
		uid := fmt.Sprint("pod-", i)
		assert.NotEqual(t, goesOn, sandboxIP(t, f, uid, 0))
		require.True(t, f.Remove(start, types.UID(uid)))
	}
	for i := range 5 {
		assert.Contains(t, sandboxIP(t, f, fmt.Sprint("full-", i), 0), "10.1.2.")
	}
	assert.Equal(t, "CreatePodSandboxError: no IP is free in 10.1.2.0/29", sandboxIP(t, f, "last", 0))
	// The end of a sandbox, another one, a reboot and a lost machine free IPs.
	pod := newPod(nil, "a")
	pod.UID = "full-0"
	f.Begin(start, Plan{Node: "node", Pod: pod, Steps: []Step{{Kind: StepStopSandboxes}}})
	drain(f, start, 0)
	assert.Contains(t, sandboxIP(t, f, "last", 1), "10.1.2.")
	assert.Contains(t, sandboxIP(t, f, "last", 2), "10.1.2.", "it takes the place of its own")
	f.Reboot(start, "node")
	for i := range 6 {
		assert.Contains(t, sandboxIP(t, f, fmt.Sprint("rebooted-", i), 0), "10.1.2.")
	}
	f.RemoveNode(start, "node")
	assert.Empty(t, f.addresses.taken)
}

// A node forgets images, or a month of releases would fill the memory.
func TestANodeKeepsItsLatestImagesAndThoseInUse(t *testing.T) {
	f := newFake(t)
	run := func(uid, image string) {
		pod := newPod(nil, "a")
		pod.UID, pod.Spec.Containers[0].Image = types.UID(uid), image
		f.Begin(start, Plan{Node: "node", Pod: pod, Steps: startSteps("a")})
		drain(f, start, 0)
	}
	run("goes on", "in use")
	run("again-0", "often")
	for i := range 3 * mostImages {
		uid := fmt.Sprint("pod-", i)
		run(uid, fmt.Sprint("image-", i))
		require.True(t, f.Crash(start, types.UID(uid), "a", 0))
		require.True(t, f.Remove(start, types.UID(uid)))
		if i%50 == 0 {
			uid = fmt.Sprint("again-", i+1)
			run(uid, "often")
			require.True(t, f.Crash(start, types.UID(uid), "a", 0))
			require.True(t, f.Remove(start, types.UID(uid)))
		}
	}
	images := f.machines["node"].images
	assert.Len(t, images, mostImages)
	for _, image := range []string{"in use", "often", fmt.Sprint("image-", 3*mostImages-1)} {
		assert.Contains(t, images, image)
	}
	assert.NotContains(t, images, "image-0")
	// What is gone is pulled again.
	pod := newPod(map[string]string{domain + "pull-time": "3s"}, "a")
	pod.Spec.Containers[0].Image = "image-0"
	f.Begin(start, Plan{Node: "node", Pod: pod, Steps: startSteps("a")})
	drain(f, start, time.Minute)
	assert.Equal(t, start.Add(3*time.Second), get(t, f, start, "a").StartedAt)
	assert.Equal(t, corev1.PullPolicy(""), pod.Spec.Containers[0].ImagePullPolicy)
}
