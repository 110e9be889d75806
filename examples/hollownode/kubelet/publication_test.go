package kubelet

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

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
	r.publication.overwritten()
	r.publication.request(w.now)
	w.now = w.now.Add(time.Millisecond)
	w.fleet.queue.Advance(w.now)
	r.requestSync(w.now)
	task, found := w.fleet.Start(w.now)
	require.True(t, found)
	assert.Equal(t, TaskPatchStatus, task.Kind)
}

func TestAnOldStatusNeverOverwritesANewOne(t *testing.T) {
	pod := baseView().Pod
	var p publication
	phaseOf := func(phase corev1.PodPhase) corev1.PodStatus { return corev1.PodStatus{Phase: phase} }
	require.True(t, p.set(pod, phaseOf(corev1.PodPending)))
	require.False(t, p.set(pod, phaseOf(corev1.PodPending)), "nothing has changed")
	status, first := p.begin(pod, false)
	assert.Equal(t, corev1.PodPending, status.Phase)
	require.True(t, p.set(pod, phaseOf(corev1.PodRunning)))
	assert.False(t, p.pending(), "one write at a time")
	p.end(first, true)
	assert.True(t, p.pending(), "the second change was not in the first write")
	status, second := p.begin(pod, false)
	assert.Equal(t, corev1.PodRunning, status.Phase)
	p.end(first, true)
	assert.False(t, p.pending(), "the second write is on its way")
	p.end(second, false)
	assert.True(t, p.pending(), "it failed")
	_, third := p.begin(pod, false)
	p.end(third, true)
	assert.False(t, p.pending())
	p.overwritten()
	assert.True(t, p.pending())
	_, fourth := p.begin(pod, false)
	p.overwritten()
	p.end(fourth, true)
	assert.True(t, p.pending(), "the write may have been before what has overwritten it")
}

// Another client has ended the pod. A write of ours from before arrives after
// that and takes the phase back, and a watch shows it later still.
func TestAFinalPhaseOfAnotherClientIsNotTakenBack(t *testing.T) {
	for _, running := range []bool{false, true} {
		pod := baseView().Pod.DeepCopy()
		pod.Status.Phase = corev1.PodFailed
		var p publication
		require.True(t, p.set(pod, corev1.PodStatus{Phase: corev1.PodRunning}))
		status, version := p.begin(pod, running)
		assert.Equal(t, corev1.PodFailed, status.Phase)
		p.end(version, true)

		pod.Status.Phase = corev1.PodRunning
		p.overwritten()
		status, _ = p.begin(pod, running)
		assert.Equal(t, corev1.PodFailed, status.Phase, "containers may run: %v", running)
	}
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

// A controller that replaces a pod as soon as it has failed would otherwise run
// both. Source: mergePodStatus in pkg/kubelet/status, v1.37.1.
func TestAFinalPhaseIsHeldBackUntilTheContainersHaveEnded(t *testing.T) {
	pod := baseView().Pod
	var p publication
	require.True(t, p.set(pod, corev1.PodStatus{Phase: corev1.PodRunning}))
	require.True(t, p.set(pod, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"}))
	status, version := p.begin(pod, true)
	assert.Equal(t, corev1.PodStatus{Phase: corev1.PodRunning}, status)
	p.end(version, true)
	shown := pod.DeepCopy()
	shown.Status = status
	assert.True(t, p.arrived(shown, true), "another client has not overwritten it")
	assert.False(t, p.pending())
	p.release()
	assert.True(t, p.pending())
	status, version = p.begin(shown, false)
	assert.Equal(t, corev1.PodFailed, status.Phase)
	assert.Equal(t, "DeadlineExceeded", status.Reason)
	p.end(version, true)
	shown.Status = status
	p.release()
	assert.False(t, p.pending(), "the API server has it")
}

func TestAStatusDoesNotReviveAContainer(t *testing.T) {
	v := baseView()
	policy(v, never)
	state(v, 0, cri.StateExited, 1)
	var p publication
	require.True(t, p.set(v.Pod, statusOf(v, nil, start)))
	v.Observed.Containers[0] = running("c1")
	assert.False(t, p.set(v.Pod, statusOf(v, p.status, start)))
	policy(v, onFailure)
	assert.True(t, p.set(v.Pod, statusOf(v, p.status, start)))
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
