package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statuses returns what was written of a pod, without the times.
func (w *world) statuses(name string) []string {
	var lines []string
	for _, line := range w.log {
		parts := strings.SplitN(line, " ", 4)
		if parts[2] == name {
			lines = append(lines, strings.Join(append(parts[1:2:2], parts[3:]...), " "))
		}
	}
	return lines
}

func container(name string, change func(*corev1.Container)) corev1.Container {
	c := corev1.Container{Name: name, Image: "image"}
	if change != nil {
		change(&c)
	}
	return c
}

func TestAPodComesAndGoes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "mount-time", "1s", "pull-time", "2s", "stop-time", "3s", "unmount-time", "4s")
	w.run(10 * time.Second)
	w.delete("a", 30)
	w.run(time.Minute)
	assert.Equal(t, []string{
		"0s PatchStatus a Pending c:ContainerCreating",
		"3s PatchStatus a Running ready c:running",
		"13s PatchStatus a Succeeded c:exited=0",
		"17s DeletePod a",
	}, w.log)
	assert.Empty(t, w.fleet.pods)
	assert.Zero(t, w.due(), "nothing of the pod is left")
}

func TestACrashLoopThroughTheWholeLoop(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", nil, "run-time", "1s", "exit-code", "1")
	w.run(12 * time.Minute)
	var started []string
	for _, line := range w.log {
		if strings.Contains(line, "c:running") {
			started = append(started, strings.Fields(line)[0])
		}
	}
	// Each run takes 1 s, and the waits are 0, 10, 20, 40, 80, 160 and 300 s.
	assert.Equal(t, []string{"0s", "1s", "12s", "33s", "1m14s", "2m35s", "5m16s", "10m17s"}, started)
}

func TestImagesThatFailBackOff(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", nil, "pull-failures", "2", "pull-time", "1s")
	w.run(5 * time.Minute)
	assert.Equal(t, []string{
		"0s PatchStatus a Pending c:ContainerCreating",
		// The sandbox has started during the pull, so a sync follows at once, and
		// ErrImagePull is not seen.
		"1s PatchStatus a Pending c:ImagePullBackOff",
		// The next sync comes after 10 s, the next pull after 20 s.
		"12s PatchStatus a Pending c:ErrImagePull",
		"22s PatchStatus a Pending c:ImagePullBackOff",
		"33s PatchStatus a Running ready c:running",
	}, w.log)
}

func TestInitContainersAndSidecarsStartAndStopInOrder(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = never
		p.Spec.InitContainers = []corev1.Container{
			container("i", nil),
			container("s", func(c *corev1.Container) {
				c.RestartPolicy = &always
				c.StartupProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 10}
			}),
		}
	}, "i:run-time", "5s", "s:startup-time", "3s", "c:run-time", "10s")
	w.run(time.Minute)
	assert.Equal(t, []string{
		"0s PatchStatus a Pending i:running s:PodInitializing c:PodInitializing",
		"5s PatchStatus a Pending i:exited=0 s:running c:PodInitializing",
		"8s PatchStatus a Running ready i:exited=0 s:running c:running",
		"18s PatchStatus a Succeeded i:exited=0 s:exited=0 c:exited=0",
	}, w.log)
}

func TestAHaltHoldsFinalDeletionsOnly(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	w.fleet.Halt(w.now)
	w.delete("a", 1)
	w.pod("b", nil)
	w.run(time.Hour)
	assert.Contains(t, w.names(), types.UID("a"))
	assert.Equal(t, corev1.PodSucceeded, w.status("a").Phase, "its status is written")
	assert.Contains(t, w.statuses("b"), "PatchStatus Running ready c:running")
	w.fleet.Resume(w.now)
	w.run(time.Second)
	assert.NotContains(t, w.names(), types.UID("a"))
}

func TestTwoRunsOfTheSameWorldAreEqual(t *testing.T) {
	play := func() []string {
		var nodes []string
		for i := range 50 {
			nodes = append(nodes, fmt.Sprint("node-", i))
		}
		w := newWorld(t, nodes...)
		for i := range 500 {
			w.pod(fmt.Sprint("pod-", i), func(p *corev1.Pod) { p.Spec.NodeName = nodes[i%50] },
				"run-time", fmt.Sprint(i%90+1, "s"), "exit-code", "0,1", "pull-failures", fmt.Sprint(i%2))
		}
		w.run(5 * time.Minute)
		for i := range 500 {
			w.delete(types.UID(fmt.Sprint("pod-", i)), int64(i%40))
		}
		w.run(5 * time.Minute)
		assert.Empty(t, w.pods)
		assert.Zero(t, w.due())
		return w.log
	}
	first := play()
	assert.Equal(t, first, play())
}

func TestAFleetNeedsARuntimeAndATime(t *testing.T) {
	_, err := NewFleet(FleetConfig{}, start)
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "Runtime")
	_, err = NewFleet(FleetConfig{Runtime: newWorld(t).runtime}, time.Time{})
	require.ErrorIs(t, err, ErrInvalidConfig)
}
