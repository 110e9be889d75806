package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// tail returns what was logged after a place, without times.
func (w *world) tail(from int) []string {
	var lines []string
	for _, line := range w.log[from:] {
		_, rest, _ := strings.Cut(line, " ")
		lines = append(lines, rest)
	}
	return lines
}

func TestTheMirrorGoesAfterTheContainersOfItsStaticPod(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy", "stop-time", "7s"), staticPod("stays"))
	gone, stays := w.mirror("proxy", "node"), w.containerOf(w.mirror("stays", "node"))
	w.set(staticPod("stays"))
	w.run(6 * time.Second)
	assert.Contains(t, w.pods, gone.UID)
	w.run(2 * time.Second)
	assert.NotContains(t, w.pods, gone.UID)
	assert.Equal(t, stays.ID, w.containerOf(w.mirror("stays", "node")).ID)
	w.run(time.Minute)
	assert.Len(t, w.fleet.pods, 1)
	assert.Len(t, w.fleet.mirrors, 1)
}

func TestADeletedMirrorComesAgainAndNothingRestarts(t *testing.T) {
	for name, end := range map[string]func(*world, types.UID){
		"at once":       func(w *world, uid types.UID) { w.drop(uid) },
		"with a period": func(w *world, uid types.UID) { w.delete(uid, 30) },
		"and the first write finds out": func(w *world, uid types.UID) {
			delete(w.pods, uid)
			w.runtime.deaf = true // the pod gets not ready, which must be written
			w.run(time.Minute)
			w.runtime.deaf = false
			w.run(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := staticPod("proxy")
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			w := newStaticWorld(t, pod)
			before, container := w.mirror("proxy", "node"), w.containerOf(w.mirror("proxy", "node"))
			end(w, before.UID)
			w.run(time.Second)
			after := w.mirror("proxy", "node")
			assert.NotEqual(t, before.UID, after.UID)
			assert.Nil(t, after.DeletionTimestamp)
			assert.True(t, isReadyStatus(&after.Status), "its status is written at once")
			assert.Equal(t, container, w.containerOf(after))
		})
	}
}

func TestAMirrorWithoutAStaticPodIsDeleted(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("forged", func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "any" })
	w.run(time.Second)
	assert.Equal(t, []string{"DeleteMirror forged"}, w.tail(0))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, w.fleet.mirrors)
}

func TestAMirrorWaitsUntilItsNameIsFree(t *testing.T) {
	w := newWorld(t)
	w.pods["other"] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "proxy-node", UID: "other"},
		Spec:       corev1.PodSpec{NodeName: "elsewhere"},
	}
	w.static = []*corev1.Pod{staticPod("proxy")}
	w.restart("node")
	w.run(time.Minute)
	assert.Len(t, w.runtime.Pods(w.now, "node"), 1, "the pod runs without a mirror")
	assert.Less(t, len(w.log), 20, "attempts back off")
	delete(w.pods, "other")
	w.run(10 * time.Minute)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
}

func TestAMirrorThatTheWatchDoesNotShowIsAskedForAgain(t *testing.T) {
	w := newWorld(t)
	w.static, w.blind = []*corev1.Pod{staticPod("proxy")}, true
	w.restart("node")
	w.run(9 * time.Second)
	assert.Equal(t, []string{"CreateMirror proxy-node"}, w.tail(0))
	delete(w.pods, "mirror-1") // between two lists of the watch
	w.blind = false
	w.run(2 * time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
}

func TestTheLateNewsOfADeletionCreatesNoSecondMirror(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	old := w.mirror("proxy", "node").UID
	w.delete(old, 30)
	remove, ok := w.fleet.Start(w.now)
	require.True(t, ok && remove.Kind == TaskDeleteMirror)
	delete(w.pods, old)
	w.fleet.Finish(w.now, remove, ResultDone)
	create, ok := w.fleet.Start(w.now)
	require.True(t, ok && create.Kind == TaskCreateMirror)
	w.fleet.ForgetPod(w.now, old)
	w.blind = true
	w.perform(create)
	log := len(w.log)
	w.run(time.Second)
	assert.Empty(t, w.tail(log), "the watch has not shown it yet")
	w.fleet.ObservePod(w.now, w.mirror("proxy", "node"))
	w.run(time.Minute)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
	assert.Equal(t, 2, w.created)
}

func TestAMirrorThatComesOutOtherwiseIsNotReplacedAtFullSpeed(t *testing.T) {
	w := newWorld(t)
	w.static = []*corev1.Pod{staticPod("proxy")}
	w.strip = true
	w.restart("node")
	w.run(time.Minute)
	assert.InDelta(t, 6, w.created, 1, "one in 10 s")
	w.strip = false
	w.run(20 * time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
	assert.Len(t, w.pods, 1)
}

func TestWhatOthersWriteIntoAMirrorIsRestoredAndEndsNothing(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	mirror := w.mirror("proxy", "node")
	container := w.containerOf(mirror)
	failed := mirror.DeepCopy()
	failed.Status.Phase, failed.Status.Reason = corev1.PodFailed, "Foreign"
	w.pods[mirror.UID] = failed.DeepCopy()
	w.pods[mirror.UID].Status.Phase = corev1.PodPending
	w.observe(w.pods[mirror.UID])
	w.run(reconcilePeriod)
	assert.Equal(t, mirror.Status, w.pods[mirror.UID].Status)

	for name, after := range map[string]func(){
		"running": func() {}, "restarted": func() { w.restartKubelet("node") },
	} {
		w.pods[mirror.UID] = failed
		w.fleet.ObservePod(w.now, failed)
		after()
		w.refuse = func(Task) bool { return true } // the world takes no status after a final one
		w.run(time.Minute)
		w.refuse = nil
		w.pods[mirror.UID] = mirror
		w.fleet.ObservePod(w.now, mirror)
		w.run(time.Minute)
		assert.Equal(t, container, w.containerOf(mirror), name)
		assert.Equal(t, mirror.Status, w.mirror("proxy", "node").Status, name)
	}
}

func TestAHaltHoldsTheDeletionOfMirrors(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	w.fleet.Halt(w.now)
	w.set()
	w.run(time.Minute)
	assert.Len(t, w.pods, 1)
	assert.Empty(t, w.runtime.Pods(w.now, "node"), "the pod has ended")
	w.fleet.Resume(w.now)
	w.run(time.Second)
	assert.Empty(t, w.pods)
}

func TestAStatusThatReachesAFormerMirrorIsWrittenToTheNext(t *testing.T) {
	pod := staticPod("proxy")
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	w := newStaticWorld(t, pod)
	old := w.mirror("proxy", "node")
	require.True(t, isReadyStatus(&old.Status))
	w.runtime.deaf = true
	var task Task
	for task.Kind != TaskPatchStatus { // that it is not ready
		w.now, _ = w.fleet.Next(w.now)
		task, _ = w.fleet.Start(w.now)
	}
	w.drop(old.UID)
	create, ok := w.fleet.Start(w.now)
	require.True(t, ok && create.Kind == TaskCreateMirror)
	w.perform(create)
	w.fleet.Finish(w.now, task, ResultDone)
	w.run(time.Minute)
	assert.Equal(t, "Running c:running", describeStatus(&w.mirror("proxy", "node").Status))
}

func TestAKubeletGoesOnFromTheStatusOfAMirror(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	for name, test := range map[string]struct {
		phase  corev1.PodPhase
		states []corev1.ContainerState
		want   corev1.PodPhase
	}{
		"running":                 {corev1.PodRunning, []corev1.ContainerState{running}, corev1.PodRunning},
		"has ended":               {corev1.PodFailed, []corev1.ContainerState{ended, waiting}, corev1.PodFailed},
		"was rejected":            {corev1.PodFailed, nil, corev1.PodPending},
		"one has ended, one runs": {corev1.PodFailed, []corev1.ContainerState{ended, running}, corev1.PodPending},
		"has not begun":           {corev1.PodFailed, []corev1.ContainerState{waiting}, corev1.PodPending},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := &corev1.Pod{Status: corev1.PodStatus{Phase: test.phase, Reason: "Why"}}
			for _, state := range test.states {
				mirror.Status.ContainerStatuses = append(mirror.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
			}
			got := seeded(&corev1.Pod{}, mirror).Status
			assert.Equal(t, test.want, got.Phase)
			assert.Equal(t, test.want != test.phase, got.Reason == "", "another phase has another reason")
			assert.Len(t, got.ContainerStatuses, len(test.states))
			assert.Equal(t, "Why", mirror.Status.Reason, "the mirror is only read")
		})
	}
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
