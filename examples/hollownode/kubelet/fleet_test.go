package kubelet

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
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

// A pod whose containers take no time costs one write to start, and one and its
// deletion to end.
func TestWhatHappensAtOneMomentIsOneWrite(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(10 * time.Second)
	w.delete("a", 30)
	w.run(time.Minute)
	assert.Equal(t, []string{
		"0s PatchStatus a Running ready c:running",
		"10s PatchStatus a Succeeded c:exited=0",
		"10s DeletePod a",
	}, w.log)
}

// A pod that changes all the time would not be written otherwise.
func TestALaterSyncDelaysNoWrite(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	r := w.fleet.pods["a"]
	r.publication.overwritten(0)
	w.fleet.requestWrite(w.now, r)
	w.now = w.now.Add(time.Millisecond)
	w.fleet.queue.Advance(w.now)
	w.fleet.requestSync(w.now, r)
	task, found := w.fleet.Start(w.now)
	require.True(t, found)
	assert.Equal(t, TaskPatchStatus, task.Kind)
}

func TestAPodThatIsGoneIsStoppedAndNotWritten(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "5s")
	w.run(time.Second)
	before := len(w.log)
	w.fleet.ForgetPod(w.now, "a")
	w.run(4 * time.Second)
	state, found := w.runtime.Pod(w.now, "a")
	require.True(t, found && state.Running(), "it has its grace period")
	w.run(time.Minute)
	assert.Len(t, w.log, before)
	_, found = w.runtime.Pod(w.now, "a")
	assert.False(t, found)
	assert.Zero(t, w.due())
}

func TestNothingIsRemovedBeforeAllPodsAreKnown(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.synced = false
	w.pod("a", nil)
	w.run(time.Second)
	w.fleet.ForgetPod(w.now, "a")
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
	w.fleet.MarkSynced(w.now)
	w.run(time.Minute)
	assert.Empty(t, w.fleet.pods)
}

// The runtime goes on with its sync, as the kubelet's does. All its containers
// start, and stop then.
func TestAPodThatIsDeletedDuringItsPullStartsFirst(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, container("d", nil)) },
		"pull-time", "10s", "start-time", "5s")
	w.run(5 * time.Second)
	w.delete("a", 30)
	w.run(14 * time.Second)
	assert.Equal(t, 1, w.runtime.Counts().Started, "d takes 5 s more")
	w.run(time.Minute)
	assert.Equal(t, 2, w.runtime.Counts().Started)
	assert.Empty(t, w.pods)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

// A shorter grace period cancels a stop, and nothing that starts the pod.
func TestAShorterGracePeriodEndsNoPull(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s", "stop-time", "forever")
	w.run(5 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	w.delete("a", 7)
	w.run(time.Minute)
	assert.Equal(t, 1, w.runtime.Counts().Started)
	assert.Contains(t, w.log, "17s DeletePod a")
}

// A wait for volumes is all that a deletion ends.
func TestADeletionWaitsForNoVolumes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "mount-time", "10m")
	w.run(10 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	assert.Empty(t, w.pods)
	w.run(time.Hour)
	assert.Zero(t, w.runtime.Counts().Started)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

// A kubelet that restarts loses the calls of its runtime that are under way.
func TestAPullOfAFormerKubeletBeginsAgain(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10m")
	w.run(5 * time.Minute)
	w.fleet.RestartNode(w.now, "node")
	w.run(10*time.Minute - time.Second)
	assert.Zero(t, w.runtime.Counts().Started)
	w.run(time.Minute)
	assert.Equal(t, 1, w.runtime.Counts().Started)
}

func TestAShorterGracePeriodEndsAPodSooner(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	w.delete("a", 30)
	w.run(2 * time.Second)
	w.delete("a", 5)
	w.run(2 * time.Second)
	w.delete("a", 20)
	w.run(time.Minute)
	assert.Contains(t, w.log, "8s PatchStatus a Failed c:exited=137")
	assert.Contains(t, w.log, "8s DeletePod a")
}

func TestAnUpdateThatShortensNothingCancelsNothing(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	cancels := w.runtime.cancels
	w.delete("a", 40)
	assert.Equal(t, cancels, w.runtime.cancels)
	w.delete("a", 20)
	assert.Equal(t, cancels+1, w.runtime.cancels)
}

func TestAnUpdateDuringASyncThatFailsIsSyncedAtOnce(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil, "sandbox-time", "2s", "sandbox-failures", "1")
	w.run(time.Second)
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"new": "label"}
	w.observe(pod)
	w.run(time.Minute)
	assert.Contains(t, w.log, "4s PatchStatus a Running ready c:running", "not after 10 s: %v", w.log)
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

func TestARunningPodThatIsRejectedAfterARestartStops(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	w.restart()
	node := &corev1.Node{}
	node.Name = "node"
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
	w.fleet.ObserveNode(w.now, node)
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, corev1.PodFailed, w.status("a").Phase)
	assert.Equal(t, "TaintToleration", w.status("a").Reason)
	_, found := w.runtime.Pod(w.now, "a")
	assert.False(t, found)
}

func TestAStopThatFailsIsTriedAgainLater(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", nil)
	w.run(time.Second)
	w.runtime.stopFailures = 1
	w.delete("a", 30)
	w.run(time.Minute)
	assert.Contains(t, w.log, "11s DeletePod a")
}

func TestAnEndIsNotDelayedByAFailureBeforeIt(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "1s", "pull-failures", "all")
	w.run(time.Second - 1)
	w.now = start.Add(time.Second)
	w.runtime.Pod(w.now, "a") // the pull fails now, and the fleet does not know yet
	w.delete("a", 30)
	w.run(0)
	assert.Empty(t, w.pods)
}

func TestProbesBeginWhileAnotherContainerIsPulled(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
		p.Spec.Containers = append(p.Spec.Containers, container("d", func(c *corev1.Container) { c.Image = "other" }))
	}, "d:pull-time", "1m")
	w.run(10 * time.Second)
	assert.True(t, w.status("a").ContainerStatuses[0].Ready, "%v", w.log)
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

func TestProbesMakeReadyAndRestart(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, InitialDelaySeconds: 2}
		p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 2, FailureThreshold: 3}
	}, "ready-time", "4s", "live-time", "7s", "stop-time", "1s", "stop-code", "143")
	w.run(15 * time.Second)
	assert.Equal(t, []string{
		"0s PatchStatus a Running c:running",
		"4s PatchStatus a Running ready c:running",
		// Liveness fails at 8, 10 and 12 s. The first restart is at once.
		"13s PatchStatus a Running c:running/1",
	}, w.log)
}

func TestAPodEndsAtItsDeadlineWithoutAChange(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](30) }, "stop-time", "2s")
	w.run(time.Hour)
	assert.Equal(t, []string{
		"0s PatchStatus a Running ready c:running",
		"30s PatchStatus a Running c:running", "32s PatchStatus a Failed DeadlineExceeded c:exited=0",
	}, w.log)
}

// What was restarted, and how it has ended, is not lost with the admission.
func TestAPodThatIsRejectedAfterARestartKeepsItsContainers(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "run-time", "5s,forever", "stop-time", "1s")
	w.run(time.Minute)
	w.fleet.SetFaults(w.now, "node", Faults{DiskPressure: true})
	w.log = nil
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	assert.Equal(t, []string{
		"1m0s PatchStatus a Running c:running/1",
		"1m1s PatchStatus a Failed Evicted c:exited=0/1",
	}, w.log)
}

// Nothing runs of it any more, so nothing must be shown as running.
func TestAPodThatIsRejectedAfterItsContainersAreGoneShowsNoneThatRuns(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{DiskPressure: true})
	w.pod("a", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "c", ContainerID: "lost", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	})
	w.run(time.Minute)
	assert.Equal(t, []string{"0s PatchStatus a Failed Evicted c:exited=137"}, w.log)
}

// It has ended while its node was silent, and well as far as the node knows.
func TestAFinalPhaseOfAnotherClientStays(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "30s")
	w.run(5 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	failed := w.pods["a"].DeepCopy()
	failed.Status.Phase, failed.Status.Reason = corev1.PodFailed, "PodGC"
	w.observe(failed)
	w.run(time.Minute)
	w.log = nil
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Minute)
	assert.Equal(t, []string{"1m5s PatchStatus a Failed PodGC c:exited=0"}, w.log)
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
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Second)
	require.NotEmpty(t, w.log)
	assert.NotContains(t, w.log[0], "ready")
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

func TestAFailedWriteIsRetriedWithTheNewestStatus(t *testing.T) {
	w := newWorld(t, "node")
	failures := 0
	w.refuse = func(Task) bool { failures++; return failures <= 3 }
	w.pod("a", nil, "pull-time", "100ms")
	w.run(time.Minute)
	require.Len(t, w.log, 4)
	assert.Contains(t, w.log[3], "Running ready c:running", "what was not written before is not written now")
}

// overwrite has another client say that a pod is not ready.
func (w *world) overwrite(name types.UID, message string) {
	pod := w.pods[name].DeepCopy()
	ready := findCondition(&pod.Status, corev1.PodReady)
	ready.Status, ready.Message = corev1.ConditionFalse, message
	w.observe(pod)
}

func TestAStatusThatAnotherClientOverwritesIsRestored(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(15 * time.Second)
	written := len(w.log)
	w.overwrite("a", "")
	w.run(reconcilePeriod)
	require.Len(t, w.log, written+1)
	assert.Contains(t, w.log[written], "PatchStatus a Running ready")
	w.run(time.Hour)
	assert.Len(t, w.log, written+1, "once")
}

func TestAClientThatGoesOnWritingPostponesNoRestoration(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(15 * time.Second)
	written := len(w.log)
	for second := range 60 {
		w.overwrite("a", strconv.Itoa(second))
		w.run(time.Second)
	}
	assert.Len(t, w.log, written+6, "one in 10 s")
}

func TestNodesRestoreStatusesAtTimesOfTheirOwn(t *testing.T) {
	const nodes = 100
	var names []string
	for i := range nodes {
		names = append(names, strconv.Itoa(i))
	}
	w := newWorld(t, names...)
	for _, name := range names {
		w.pod(name, func(p *corev1.Pod) { p.Spec.NodeName = name })
	}
	w.run(15 * time.Second)
	for _, name := range names {
		w.overwrite(types.UID(name), "")
	}
	for range 10 {
		written := len(w.log)
		w.run(reconcilePeriod / 10)
		assert.InDelta(t, nodes/10, len(w.log)-written, nodes/10-1)
	}
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

func TestTheLatestUpdateWins(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "5s")
	w.run(time.Second)
	for _, image := range []string{"second", "third"} {
		pod := w.pods["a"].DeepCopy()
		pod.Spec.Containers[0].Image = image
		w.observe(pod)
	}
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	var images []string
	for _, c := range state.Containers {
		images = append(images, c.Image)
	}
	assert.Equal(t, []string{"third", "image"}, images)
}

func TestANodeRejectsWhatItCannotTake(t *testing.T) {
	node := &corev1.Node{}
	node.Name = "node"
	node.Labels = map[string]string{"disk": "ssd"}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("3"),
		"example.com/gpu": resource.MustParse("1"),
	}
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute},
		{Key: "n", Effect: corev1.TaintEffectNoSchedule}}
	request := func(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
		}
	}
	tolerate := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	port := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	other := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	request(corev1.ResourceCPU, "1500m")(other)
	port(other)
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		others int
		want   Rejection
	}{
		"fits": {request(corev1.ResourceCPU, "500m"), 1, Rejection{}},
		"cpu": {request(corev1.ResourceCPU, "501m"), 1, Rejection{"OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"}},
		"memory": {request(corev1.ResourceMemory, "2Gi"), 0, Rejection{"OutOfmemory",
			"Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"}},
		"storage": {request(corev1.ResourceEphemeralStorage, "2Gi"), 0, Rejection{"OutOfephemeral-storage",
			"Node didn't have enough resource: ephemeral-storage, requested: 2147483648, used: 0, capacity: 1073741824"}},
		"extended": {request("example.com/gpu", "2"), 0, Rejection{"OutOfexample.com/gpu",
			"Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"}},
		"extended, unknown to the node": {request("example.com/tpu", "2"), 0, Rejection{}},
		"pods": {nil, 3, Rejection{"OutOfpods",
			"Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"}},
		"affinity": {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }, 0, Rejection{
			"NodeAffinity",
			"Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
		"ports": {port, 1, Rejection{"NodePorts",
			"Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}},
		"taint": {func(p *corev1.Pod) { p.Spec.Tolerations = nil }, 0, Rejection{"TaintToleration",
			"Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"}},
		"taint, static": {func(p *corev1.Pod) {
			p.Spec.Tolerations, p.Annotations = nil, map[string]string{"kubernetes.io/config.source": "file"}
		}, 0, Rejection{}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		tolerate(pod)
		if test.change != nil {
			test.change(pod)
		}
		var used usage
		for range test.others + 1 {
			used.add(other)
		}
		used.remove(other)
		assert.Equal(t, test.want, admit(node, pod, &used), name)
	}
	assert.Empty(t, admit(&corev1.Node{}, other, &usage{}), "a node without allocatable resources enforces none")
}

func TestARejectedPodFailsAndTakesNothing(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{}
	node.Name = "node"
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	w.pod("a", nil)
	w.pod("b", nil)
	w.run(time.Second)
	assert.Empty(t, w.log, "pods wait for their node")
	w.fleet.ObserveNode(w.now, node)
	w.run(time.Second)
	assert.Contains(t, w.statuses("a"), "PatchStatus Running ready c:running")
	assert.Equal(t, []string{"PatchStatus Failed OutOfpods"}, w.statuses("b"))
	assert.Contains(t, w.status("b").Message, "Pod was rejected: Node didn't have enough resource: pods")
	_, found := w.runtime.Pod(w.now, "b")
	assert.False(t, found)
	w.delete("b", 0)
	w.delete("a", 0)
	w.run(10 * time.Second)
	assert.Empty(t, w.pods)
	w.pod("c", nil)
	w.run(time.Second)
	assert.Contains(t, w.statuses("c"), "PatchStatus Running ready c:running", "there is room again")
}

func TestARelistComparesContainers(t *testing.T) {
	list := func(containers ...cri.Container) *cri.Pod { return &cri.Pod{Containers: containers} }
	created := running("c")
	created.State = cri.StateCreated
	unknown := running("c")
	unknown.State = cri.StateUnknown
	for _, test := range []struct {
		old, observed *cri.Pod
		want          []lifecycleEvent
	}{
		{list(), list(), nil},
		{list(), list(running("c")), []lifecycleEvent{eventStarted}},
		{list(running("c")), list(running("c")), nil},
		{list(running("c")), list(exited("c", 0)), []lifecycleEvent{eventDied}},
		{list(), list(exited("c", 0)), []lifecycleEvent{eventDied}},
		{list(running("c")), list(unknown), []lifecycleEvent{eventChanged}},
		{list(created), list(unknown), nil},
		{list(exited("c", 0)), list(), []lifecycleEvent{eventRemoved}},
		{list(running("c")), list(), []lifecycleEvent{eventDied, eventRemoved}},
		{list(unknown), list(), []lifecycleEvent{eventDied, eventRemoved}},
	} {
		assert.Equal(t, test.want, compare(test.old, test.observed), "%+v %+v", test.old, test.observed)
	}
	assert.False(t, eventRemoved.syncs())
	assert.False(t, eventChanged.syncs(), "the kubelet does not send it")
	assert.True(t, eventDied.syncs())
}

func TestAllContainersRestartTogether(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = never
		restartAllOn(&p.Spec.Containers[0])
		p.Spec.Containers = append(p.Spec.Containers, container("d", nil))
	}, "c:run-time", "5s,forever", "c:exit-code", "1")
	w.run(time.Minute)
	last := w.log[len(w.log)-1]
	assert.Contains(t, last, "Running ready c:running/1 d:running/1", "%v", w.log)
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
