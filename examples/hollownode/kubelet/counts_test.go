package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

func wantPods(t *testing.T, w *world, desired, active BySource, workers map[Worker]int) {
	t.Helper()
	counts := w.fleet.Counts()
	assert.Equal(t, desired, counts.Desired, "desired")
	assert.Equal(t, active, counts.Active, "active")
	assert.Equal(t, workers, counts.Workers)
}
