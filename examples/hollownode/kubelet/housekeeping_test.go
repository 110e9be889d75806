package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAKubeletThatRestartsRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node", "other")
	w.pod("a", nil, "mount-time", "5s", "unmount-time", "7s")
	w.pod("b", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(20 * time.Second)
	before, _ := w.runtime.Pod(w.now, "a")
	written := len(w.log)
	w.restartKubelet("node")
	w.run(10 * time.Minute)
	after, _ := w.runtime.Pod(w.now, "a")
	assert.Equal(t, before, after)
	assert.Len(t, w.log, written, "the API server has all of it: %v", w.log[written:])
	w.delete("a", 30)
	w.run(7*time.Second - 1)
	assert.Contains(t, w.pods, types.UID("a"), "its volumes are known")
	w.run(time.Minute)
	assert.NotContains(t, w.pods, types.UID("a"))
}

func TestAProcessThatStartsAgainRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("runs", nil)
	w.pod("crashes", nil, "run-time", "2s", "exit-code", "1")
	w.pod("ended", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.pod("ends", nil, "stop-time", "10s")
	w.run(3 * time.Second) // the second run of crashes has begun at 2 s
	w.delete("ends", 30)
	w.run(500 * time.Millisecond)
	written := len(w.log)
	before := w.status("crashes").ContainerStatuses[0]
	w.endProcess("node")
	w.run(400 * time.Millisecond)
	assert.Len(t, w.log, written, "the API server has all of it: %v", w.log[written:])
	assert.Equal(t, before, w.status("crashes").ContainerStatuses[0])
	w.run(100 * time.Millisecond)
	assert.Contains(t, w.statuses("crashes"), "PatchStatus Running ready c:running/2", "its run ends at its time")
	w.run(time.Minute)
	assert.Equal(t, corev1.PodSucceeded, w.status("ended").Phase)
	assert.Zero(t, w.status("runs").ContainerStatuses[0].RestartCount)
	assert.NotContains(t, w.names(), types.UID("ends"))
}

// The result of a write that a former life of the kubelet began changes nothing
// of the present one.
func TestAWriteOfAFormerLifeIsNotTheNewOnes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s")
	task, ok := w.fleet.Start(w.now)
	require.True(t, ok)
	w.restartKubelet("node")
	_, ok = w.fleet.Start(w.now)
	assert.False(t, ok, "one write of a pod is on its way at a time")
	w.fleet.Finish(w.now, task, ResultDone)
	w.run(time.Minute)
	assert.Contains(t, w.log[len(w.log)-1], "Running ready c:running")
}

func TestAPodThatEndsStaysReadyWhenItsKubeletRestarts(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", readiness, "stop-time", "20s")
	w.run(20 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	w.runtime.deaf = true
	w.fleet.config.Rand = nil
	w.restartKubelet("node")
	w.run(5 * time.Second)
	assert.True(t, w.status("a").ContainerStatuses[0].Ready, "%v", w.log)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
	assert.Zero(t, w.due())
}

func TestARebootRestartsByPolicyAndCounts(t *testing.T) {
	w := newWorld(t, "node", "other")
	w.pod("a", nil, "mount-time", "2s")
	w.pod("never", func(p *corev1.Pod) { p.Spec.RestartPolicy = never })
	w.pod("done", func(p *corev1.Pod) { p.Spec.RestartPolicy = onFailure }, "run-time", "1s")
	w.pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "other" })
	w.run(20 * time.Second)
	for i := range 3 {
		before, _ := w.runtime.Pod(w.now, "a")
		w.reboot("node")
		w.run(time.Minute)
		s := w.status("a").ContainerStatuses[0]
		require.EqualValues(t, i+1, s.RestartCount, "%v", w.statuses("a"))
		require.NotNil(t, s.State.Running)
		require.EqualValues(t, 255, s.LastTerminationState.Terminated.ExitCode)
		require.Equal(t, "Unknown", s.LastTerminationState.Terminated.Reason)
		after, _ := w.runtime.Pod(w.now, "a")
		assert.NotEqual(t, before.Sandboxes[0].ID, after.Sandboxes[0].ID)
		assert.Equal(t, before.Sandboxes[0].Attempt+1, after.Sandboxes[0].Attempt)
		assert.Equal(t, after.Sandboxes[0].IP, w.status("a").PodIP)
	}
	assert.Equal(t, corev1.PodFailed, w.status("never").Phase)
	assert.EqualValues(t, 255, w.status("never").ContainerStatuses[0].State.Terminated.ExitCode)
	assert.Equal(t, corev1.PodSucceeded, w.status("done").Phase)
	assert.Zero(t, w.status("elsewhere").ContainerStatuses[0].RestartCount)
}

// A turn of a node with many pods visits a thousand of them, and the oldest
// come first.
func TestANodesPodsAreVisitedInTurnsAndByAge(t *testing.T) {
	w := newWorld(t)
	const pods = 5000
	for i := range pods {
		w.pod(fmt.Sprint("pod-", i), func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(start.Add(-time.Duration(i) * time.Second))
		})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	w.fleet.ObserveNode(w.now, node)
	visited := func() (n int) {
		for _, r := range w.fleet.pods {
			if r.state != workerNew {
				n++
			}
		}
		return n
	}
	assert.Zero(t, visited(), "the observation itself visits none")
	last := 0
	for last < pods {
		if task, ok := w.fleet.Start(w.now); ok {
			w.perform(task)
		}
		n := visited()
		require.LessOrEqual(t, n-last, stepsATurn)
		require.GreaterOrEqual(t, n, last)
		last = n
	}
	for i := range pods {
		uid := types.UID(fmt.Sprint("pod-", i))
		assert.Equal(t, i >= pods-10, w.fleet.pods[uid].counted != nil, "the oldest are taken: %s", uid)
	}
}

func TestAPodThatComesDuringARoundIsVisitedOnce(t *testing.T) {
	for _, age := range []time.Duration{0, time.Hour} {
		w := newWorld(t)
		for i := range 3 {
			w.pod(fmt.Sprint("pod-", i), func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(-time.Minute)) })
		}
		w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
		n := w.fleet.nodes["node"]
		n.housekeeping.proceed(w.now)
		n.housekeeping.proceed(w.now)
		w.pod("late", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(-age)) })
		w.run(time.Second)
		assert.Equal(t, noRound, n.housekeeping.visited)
		assert.EqualValues(t, 4, n.used.pods)
		for uid := range w.pods {
			assert.Contains(t, describeStatus(w.status(uid)), "Running ready")
		}
	}
}

// A kubelet that restarts loses the calls of its runtime that are under way.
func TestAPullOfAFormerKubeletBeginsAgain(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10m")
	w.run(5 * time.Minute)
	w.restartKubelet("node")
	w.run(10*time.Minute - time.Second)
	assert.Zero(t, w.runtime.started)
	w.run(time.Minute)
	assert.Equal(t, 1, w.runtime.started)
}

func TestAPlanOfAFormerProcessEndsFirst(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s")
	w.run(time.Second)
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, []string{
		"0s PatchStatus a Pending c:ContainerCreating", "1s PatchStatus a Pending c:ContainerCreating",
		"11s PatchStatus a Running ready c:running",
	}, w.log, "it begins again, and has not failed")
}

func TestARestartOfTheProcessRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.pod("b", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(10 * time.Second)
	before, _ := w.runtime.Pod(w.now, "a")
	written := len(w.log)
	w.restart("node")
	for _, name := range []string{"a", "b"} {
		w.observe(w.pods[types.UID(name)])
	}
	w.run(10 * time.Minute)
	after, _ := w.runtime.Pod(w.now, "a")
	assert.Equal(t, before, after)
	assert.Equal(t, corev1.PodSucceeded, w.status("b").Phase)
	assert.Len(t, w.log, written, "the API server has all of it: %v", w.log[written:])
}

// The API can show the run before it, because a write has failed.
func TestARunThatTheAPIDoesNotShowIsNotReadyAfterARestart(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
	}, "ready-time", "30s", "run-time", "1m")
	w.run(50 * time.Second)
	w.refuse = func(Task) bool { return true }
	w.run(25 * time.Second) // its second run is not shown
	w.refuse = nil
	w.log = nil
	w.restartKubelet("node")
	w.run(time.Second)
	require.NotEmpty(t, w.log)
	assert.NotContains(t, w.log[0], "ready")
}

// Another client has made the phase final, so the phase alone does not tell
// whether the last status was written.
func TestAFinalPhaseOfAnotherClientGetsItsEndsAfterARestart(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-code", "3")
	w.run(5 * time.Second)
	w.refuse = func(Task) bool { return true }
	failed := w.pods["a"].DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	w.observe(failed)
	w.run(time.Minute)
	assert.NotNil(t, w.status("a").ContainerStatuses[0].State.Running, "its end was not written")

	w.refuse = nil
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, "Failed c:exited=3", describeStatus(w.status("a")))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

// Its machine was lost, with what the runtime knew.
func TestAFinalPhaseWithoutContainersIsNotReady(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(5 * time.Second)
	failed := w.pods["a"].DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	w.pods["a"] = failed
	w.runtime.RemoveNode(w.now, "node")
	w.restart("node")
	w.observe(failed)
	w.run(time.Minute)
	assert.Equal(t, "Failed c:exited=137/1", describeStatus(w.status("a")))
	written := len(w.log)
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(time.Hour)
	assert.Len(t, w.log, written, "%q", w.log)
}

func TestAPodThatHasEndedDoesNotRunAgainWhenItsLastStatusIsLost(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(time.Second)
	w.refuse = func(Task) bool { return true }
	w.run(time.Minute)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))

	w.refuse = nil
	w.restartKubelet("node")
	w.run(time.Minute)
	assert.Equal(t, "Succeeded c:exited=0", describeStatus(w.status("a")))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}
