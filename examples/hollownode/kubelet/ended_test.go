package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	assert.Equal(t, "Succeeded c:exited=0", describeStatus(w.status("a")))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

// The mirror tells no second process what runs, because it is gone.
func TestAManifestThatChangesWhileNoMirrorIsThereReplacesThePod(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy", "stop-time", "5s"))
	old := RuntimeUID(w.mirror("proxy", "node"))
	w.refuse = func(Task) bool { return true }
	w.drop(w.mirror("proxy", "node").UID)
	w.run(time.Minute)
	w.refuse = nil
	w.static = []*corev1.Pod{staticPod("proxy", "ready-time", "1s")}
	w.restart("node")
	w.run(time.Second)
	assert.Equal(t, []types.UID{old}, w.runtime.Pods(w.now, "node"), "the new one waits for the end of the old one")
	w.run(time.Minute)
	assert.Equal(t, []types.UID{RuntimeUID(w.mirror("proxy", "node"))}, w.runtime.Pods(w.now, "node"))
	assert.NotEqual(t, old, w.runtime.Pods(w.now, "node")[0])
	counts := w.fleet.Counts()
	assert.Equal(t, BySource{Static: 1}, counts.Desired)
	assert.Equal(t, 1, counts.Mirrors)
	assert.Equal(t, map[Worker]int{{LifecycleSync, ConfigStateDesired, true}: 1}, counts.Workers)
}

func TestAStaticPodThatHasEndedDoesNotRunAgainWithoutItsMirror(t *testing.T) {
	pod := staticPod("once", "run-time", "3s")
	pod.Spec.RestartPolicy = never
	w := newStaticWorld(t, pod)
	mirror := w.mirror("once", "node")
	assert.Equal(t, corev1.PodSucceeded, mirror.Status.Phase)
	w.drop(mirror.UID)
	w.restart("node")
	w.run(time.Minute)
	assert.Equal(t, "Succeeded c:exited=0", describeStatus(&w.mirror("once", "node").Status))
	assert.Zero(t, w.containerOf(w.mirror("once", "node")).Attempt)
}

// An API server that is behind another one can hide a pod from a process that
// starts.
func TestAPodThatComesBackRunsAgain(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil, "stop-time", "10s")
	w.run(time.Second)
	w.restart("node")
	w.run(time.Second)
	w.observe(pod)
	w.run(time.Minute)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
	w.delete("a", 1)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

func TestAPodThatComesBackAndGoesEnds(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil)
	w.run(time.Second)
	w.restart("node")
	w.run(time.Second)
	w.observe(pod)
	w.drop("a")
	w.run(time.Minute)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, w.fleet.pods)
}

// The API may not show it yet, and no run is given the ID of a former one.
func TestARunThatOnlyTheLastStatusHasStillCounts(t *testing.T) {
	v := baseView()
	v.Observed.Containers = nil
	assert.Zero(t, v.attempts("c1"))
	v.last = &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "c1", ContainerID: "c1-2", RestartCount: 2,
	}}}
	assert.EqualValues(t, 3, v.attempts("c1"))
}
