package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Kinds of pods of the API.
var (
	syncing     = Worker{Lifecycle: LifecycleSync, Config: ConfigStateDesired}
	terminating = Worker{Lifecycle: LifecycleTerminating, Config: ConfigStateDesired}
	terminated  = Worker{Lifecycle: LifecycleTerminated, Config: ConfigStateDesired}
	orphaned    = Worker{Lifecycle: LifecycleTerminating, Config: ConfigStateOrphan}
	unknown     = Worker{Lifecycle: LifecycleTerminating, Config: ConfigStateRuntimeOnly}
)

func TestAPodCountsFromItsAdmissionUntilItIsGone(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "10s", "unmount-time", "5s")
	w.run(time.Second)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{syncing: 1})
	w.delete("a", 30)
	w.run(time.Second)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{terminating: 1})
	w.run(12 * time.Second)
	wantPods(t, w, BySource{API: 1}, BySource{}, map[Worker]int{terminated: 1})
	w.run(time.Minute)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{})
}

// A pod that has ended stays in the API, and its worker with it.
func TestAPodThatHasEndedIsDesiredAndNotActive(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(pod *corev1.Pod) { pod.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(time.Minute)
	wantPods(t, w, BySource{API: 1}, BySource{}, map[Worker]int{terminated: 1})
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(time.Minute)
	wantPods(t, w, BySource{API: 1}, BySource{}, map[Worker]int{terminated: 1})
}

func TestARejectedPodIsDesiredAndHasNoWorker(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"no": "such"} })
	w.run(time.Minute)
	assert.Equal(t, corev1.PodFailed, w.status("a").Phase)
	wantPods(t, w, BySource{API: 1}, BySource{}, map[Worker]int{})
}

func TestAPodThatIsGoneFromTheAPIIsAnOrphanUntilItHasEnded(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "10s")
	w.run(time.Second)
	w.drop("a")
	w.run(time.Second)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{orphaned: 1})
	assert.Zero(t, w.fleet.Counts().Orphaned, "the kubelet knew it")
	w.run(time.Minute)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{})
}

// A silent node does not know that a pod is gone.
func TestAPodIsDesiredUntilItsNodeHearsThatItIsGone(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "10s")
	w.run(time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	w.drop("a")
	w.run(time.Minute)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{syncing: 1})
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Second)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{orphaned: 1})
}

func TestAPodThatOnlyTheRuntimeHasIsCountedOnce(t *testing.T) {
	w := newWorld(t, "node")
	w.refuse = func(Task) bool { return true } // so that the runtime keeps what has ended
	w.pod("a", nil, "stop-time", "10s")
	w.pod("ended", func(pod *corev1.Pod) { pod.Spec.RestartPolicy = never }, "run-time", "0s")
	w.run(5 * time.Second)
	w.pods = map[types.UID]*corev1.Pod{}
	w.restart("node")
	w.run(time.Second)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{
		unknown: 1, {LifecycleTerminated, ConfigStateRuntimeOnly, false}: 1,
	})
	assert.Equal(t, 1, w.fleet.Counts().Orphaned, "that which has ended is none")
	w.run(time.Minute)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{})
}

// The kubelet that starts again finds a pod that its former life was ending.
func TestAPodThatWasEndingBeforeARestartOfItsKubeletIsOneOfTheRuntime(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "20s")
	w.run(time.Second)
	w.drop("a")
	w.run(time.Second)
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Second)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{unknown: 1})
	assert.Equal(t, 1, w.fleet.Counts().Orphaned)
}

func TestAPodThatComesBackWhileItEndsIsRestarted(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil, "stop-time", "10s")
	w.run(time.Second)
	w.drop("a")
	w.run(time.Second)
	w.observe(pod)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{terminating: 1})
	assert.Zero(t, w.fleet.Counts().Restarted)
	w.run(time.Minute)
	assert.Equal(t, BySource{API: 1}, w.fleet.Counts().Restarted)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{syncing: 1})
	w.drop("a")
	w.run(time.Minute)
	w.observe(pod)
	w.run(time.Minute)
	assert.Equal(t, BySource{API: 1}, w.fleet.Counts().Restarted, "it was forgotten when it came back")
}

func TestStaticPodsCountApart(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy", "stop-time", "10s"))
	w.pod("a", nil)
	w.run(time.Second)
	static := Worker{LifecycleSync, ConfigStateDesired, true}
	wantPods(t, w, BySource{1, 1}, BySource{1, 1}, map[Worker]int{syncing: 1, static: 1})
	assert.Equal(t, 1, w.fleet.Counts().Mirrors)
	w.set()
	w.run(time.Second)
	wantPods(t, w, BySource{API: 1}, BySource{API: 1}, map[Worker]int{
		syncing: 1, {LifecycleTerminating, ConfigStateOrphan, true}: 1,
	})
	w.set(staticPod("proxy", "stop-time", "10s"))
	w.run(time.Second)
	wantPods(t, w, BySource{1, 1}, BySource{1, 1}, map[Worker]int{
		syncing: 1, {LifecycleTerminating, ConfigStateDesired, true}: 1,
	})
	w.run(time.Minute)
	wantPods(t, w, BySource{1, 1}, BySource{1, 1}, map[Worker]int{syncing: 1, static: 1})
	assert.Equal(t, BySource{Static: 1}, w.fleet.Counts().Restarted)
}

func TestAStaticPodThatWasEndingBeforeARestartOfItsKubeletIsOneOfTheRuntime(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy", "stop-time", "20s"))
	w.set()
	w.run(time.Second)
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Second)
	wantPods(t, w, BySource{}, BySource{}, map[Worker]int{unknown: 1})
	assert.Equal(t, 1, w.fleet.Counts().Orphaned)
	assert.Zero(t, w.fleet.Counts().Restarted)
}

func TestContainersThatEndAreCountedByHowTheyEnd(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "image"}}
	}, "init:run-time", "1s", "c:run-time", "5s,forever", "c:exit-code", "3")
	w.pod("b", nil)
	w.run(10 * time.Second)
	want := map[Termination]int{
		{cri.ContainerTypeInit, 0, "Completed"}: 1, {cri.ContainerTypeMain, 3, "Error"}: 1,
	}
	assert.Equal(t, want, w.fleet.Counts().Terminated)
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	assert.Equal(t, want, w.fleet.Counts().Terminated, "their ends were known before")
	w.delete("b", 1)
	w.run(time.Minute)
	want[Termination{cri.ContainerTypeMain, 0, "Completed"}] = 1
	assert.Equal(t, want, w.fleet.Counts().Terminated)
}

func TestSandboxesThatFailAreErrorsUnlessTheirPodEnds(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "sandbox-failures", "2")
	w.pod("ends", nil, "sandbox-failures", "all", "sandbox-time", "5s")
	w.run(time.Second)
	w.delete("ends", 30)
	w.run(time.Minute)
	assert.Empty(t, w.pods["ends"])
	assert.Equal(t, 2, w.fleet.Counts().SandboxErrors)
	assert.Equal(t, 3, w.runtime.Counts().SandboxFailures)
}

func TestStartsOfPodsAreMeasured(t *testing.T) {
	for _, watchFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("watch first ", watchFirst), func(t *testing.T) { measuresStarts(t, watchFirst) })
	}
}

func measuresStarts(t *testing.T, watchFirst bool) {
	w := newWorld(t, "node")
	w.watchFirst = watchFirst
	w.now = w.now.Add(time.Hour)
	created := func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(w.now.Add(-2 * time.Second)) }
	w.pod("a", created, "pull-time", "7s")
	w.pod("fails", func(pod *corev1.Pod) { created(pod); pod.Spec.Containers[0].Image = "other" }, "pull-failures", "all")
	w.pod("unschedulable", func(pod *corev1.Pod) {
		created(pod)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
	})
	w.run(time.Minute)
	counts := w.fleet.Counts()
	assert.Equal(t, []time.Duration{0, 0, 0, 0, 7 * time.Second}, spread(t, counts.Starts, 7),
		"three first syncs and two that run")
	assert.Equal(t, []time.Duration{9 * time.Second}, spread(t, counts.TotalStarts, 9))

	w.restart("node")
	for _, name := range w.names() {
		w.observe(w.pods[name])
	}
	w.run(time.Second)
	require.True(t, w.runtime.Crash(w.now, "a", "c", 1))
	w.run(time.Minute)
	assert.Zero(t, w.fleet.Counts().TotalStarts.Count, "they had begun before")
	assert.EqualValues(t, 3, w.fleet.Counts().Starts.Count, "each has a first sync")
}

func TestWritesOfStatusesAreMeasuredFromTheFirstChange(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{APILatency: 3 * time.Second})
	w.pod("a", nil, "pull-time", "1s")
	w.run(10 * time.Second)
	assert.Equal(t, []time.Duration{3 * time.Second}, spread(t, w.fleet.Counts().Writes, 3), "both changes in one write")
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Minute)
	w.refuse = func(Task) bool { return true }
	w.delete("a", 1)
	w.run(4 * time.Second)
	w.refuse = nil
	w.run(time.Minute)
	writes := w.fleet.Counts().Writes
	assert.Greater(t, writes.Sum, 3+4.0, "failed writes are part of the time")
	assert.Less(t, writes.Sum, 3+2*60.0)
}

// A change that comes while a write is on its way waits from then on.
func TestAChangeDuringAWriteWaitsFromItsOwnTime(t *testing.T) {
	for ok, since := range map[bool]time.Duration{true: 5 * time.Second, false: time.Second} {
		var p publication
		pod := &corev1.Pod{}
		require.True(t, p.set(time.Second, pod, corev1.PodStatus{Phase: corev1.PodPending}))
		require.True(t, p.set(2*time.Second, pod, corev1.PodStatus{Phase: corev1.PodPending, Reason: "b"}))
		began := p.since
		require.Equal(t, time.Second, began)
		_, version := p.begin(pod, false)
		require.True(t, p.set(5*time.Second, pod, corev1.PodStatus{Phase: corev1.PodRunning}))
		p.end(version, began, ok)
		assert.True(t, p.pending())
		assert.Equal(t, since, p.since, "the write has ended well: %v", ok)
	}
}

func wantPods(t *testing.T, w *world, desired, active BySource, workers map[Worker]int) {
	t.Helper()
	counts := w.fleet.Counts()
	assert.Equal(t, desired, counts.Desired, "desired")
	assert.Equal(t, active, counts.Active, "active")
	assert.Equal(t, workers, counts.Workers)
}

// spread returns durations, each as zero or as the only one that is not, which
// has these seconds.
func spread(t *testing.T, d Durations, seconds float64) []time.Duration {
	t.Helper()
	require.InDelta(t, seconds, d.Sum, 0.001)
	var all []time.Duration
	for i, n := range d.Buckets {
		for range n {
			if i == 0 {
				all = append(all, 0)
			} else {
				require.Greater(t, seconds, d.Bounds[i-1])
				require.LessOrEqual(t, seconds, d.Bounds[i])
				all = append(all, time.Duration(seconds)*time.Second)
			}
		}
	}
	require.Len(t, all, int(d.Count))
	return all
}
