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

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// staticPod is a manifest. Annotations are pairs without the domain.
func staticPod(name string, annotations ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[cri.AnnotationDomain+"/"+annotations[i]] = annotations[i+1]
	}
	return pod
}

// newStaticWorld is a world of one node with these static pods, which run.
func newStaticWorld(t *testing.T, pods ...*corev1.Pod) *world {
	t.Helper()
	w := newWorld(t)
	w.static = pods
	w.restart("node")
	w.run(5 * time.Second)
	return w
}

// set replaces the static pods.
func (w *world) set(pods ...*corev1.Pod) {
	w.static = pods
	require.NoError(w.t, w.fleet.SetStaticPods(w.now, pods))
}

// mirror returns the mirror of a static pod of a node. There must be one.
func (w *world) mirror(name, node string) *corev1.Pod {
	w.t.Helper()
	for _, pod := range w.pods {
		if isMirror(pod) && pod.Name == name+"-"+node {
			return pod
		}
	}
	require.Fail(w.t, "no mirror", "%s of %s: %s", name, node, strings.Join(w.log, "\n"))
	return nil
}

// containerOf returns the only run of a container of a static pod.
func (w *world) containerOf(mirror *corev1.Pod) cri.Container {
	w.t.Helper()
	state, found := w.runtime.Pod(w.now, RuntimeUID(mirror))
	require.True(w.t, found)
	require.Len(w.t, state.Containers, 1)
	return state.Containers[0]
}

// tail returns what was logged after a place, without times.
func (w *world) tail(from int) []string {
	var lines []string
	for _, line := range w.log[from:] {
		_, rest, _ := strings.Cut(line, " ")
		lines = append(lines, rest)
	}
	return lines
}

func TestAStaticPodRunsAndItsMirrorShowsIt(t *testing.T) {
	w := newWorld(t)
	w.static = []*corev1.Pod{staticPod("proxy")}
	w.restart("node-A", "node-b")
	w.run(5 * time.Second)
	require.Len(t, w.pods, 2)
	first, second := w.mirror("proxy", "node-a"), w.mirror("proxy", "node-b")
	assert.NotEqual(t, RuntimeUID(first), RuntimeUID(second))
	hash := string(RuntimeUID(first))
	assert.Equal(t, map[string]string{
		"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": hash, "kubernetes.io/config.mirror": hash,
	}, first.Annotations)
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-A", Controller: new(true)}},
		first.OwnerReferences)
	assert.Equal(t, "default", first.Namespace)
	assert.Equal(t, "node-A", first.Spec.NodeName)
	assert.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		first.Spec.Tolerations)
	assert.Equal(t, "Running ready c:running", describeStatus(&first.Status))
	state, _ := w.runtime.Pod(w.now, RuntimeUID(first))
	assert.True(t, state.Running())
	_, found := w.runtime.Pod(w.now, first.UID)
	assert.False(t, found, "the mirror itself runs nothing")
	w.run(time.Hour)
	assert.Len(t, w.pods, 2)
	assert.Len(t, w.tail(0), 4, "two creations, and the status of each: %q", w.log)
}

func TestAChangedStaticPodStartsWhenTheFormerHasEnded(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy", "stop-time", "7s"))
	old := w.mirror("proxy", "node")
	changed := staticPod("proxy", "stop-time", "7s")
	changed.Spec.Containers[0].Image = "image:2"
	from := len(w.log)
	w.set(changed)
	w.run(6 * time.Second)
	assert.Empty(t, w.tail(from), "the mirror stays until the former pod has ended")
	assert.Equal(t, []types.UID{RuntimeUID(old)}, w.runtime.Pods(w.now, "node"))
	w.run(4 * time.Second)
	replaced := w.mirror("proxy", "node")
	assert.NotEqual(t, old.UID, replaced.UID)
	assert.NotEqual(t, RuntimeUID(old), RuntimeUID(replaced))
	assert.Equal(t, []types.UID{RuntimeUID(replaced)}, w.runtime.Pods(w.now, "node"))
	assert.Equal(t, "image:2", w.containerOf(replaced).Image)
	tasks := w.tail(from)
	require.GreaterOrEqual(t, len(tasks), 3)
	assert.Equal(t, []string{"DeleteMirror proxy-node", "CreateMirror proxy-node"}, tasks[:2])
	assert.Equal(t, "PatchStatus proxy-node Running ready c:running", tasks[len(tasks)-1])

	w.set(staticPod("proxy", "stop-time", "7s"))
	w.run(time.Second)
	w.set(changed)
	w.run(time.Minute)
	again := w.mirror("proxy", "node")
	assert.Equal(t, RuntimeUID(replaced), RuntimeUID(again), "the same manifest is the same pod")
	assert.True(t, isReadyStatus(&again.Status))
	assert.Equal(t, []types.UID{RuntimeUID(replaced)}, w.runtime.Pods(w.now, "node"))
}

func isReadyStatus(s *corev1.PodStatus) bool {
	c := findCondition(s, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func TestTheSameStaticPodsAgainAreNoChange(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	before := w.due()
	w.set(staticPod("proxy"))
	assert.Equal(t, before, w.due(), "no node has a round")
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

func TestARestartOfTheKubeletOrTheProcessChangesNoStaticPod(t *testing.T) {
	for name, restart := range map[string]func(*world){
		"kubelet": func(w *world) { w.fleet.RestartNode(w.now, "node") },
		"process that finds the runtime": func(w *world) {
			w.restart("node")
			w.observe(w.mirror("proxy", "node"))
		},
		"process": func(w *world) { w.endProcess("node") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newStaticWorld(t, staticPod("proxy"))
			mirror := w.mirror("proxy", "node")
			container, written := w.containerOf(mirror), len(w.log)
			w.run(time.Minute)
			restart(w)
			w.run(time.Minute)
			assert.Empty(t, w.tail(written))
			after := w.containerOf(w.mirror("proxy", "node"))
			assert.Equal(t, container.ID, after.ID)
			assert.Equal(t, cri.StateRunning, after.State)
			assert.Equal(t, mirror.Status, w.mirror("proxy", "node").Status)
		})
	}
}

func TestAManifestThatChangesWhileTheProcessIsDownReplacesThePod(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"), staticPod("goes"))
	old := w.mirror("proxy", "node")
	w.static = []*corev1.Pod{staticPod("proxy", "ready-time", "1s")}
	w.endProcess("node")
	w.run(time.Minute)
	assert.Len(t, w.pods, 1)
	mirror := w.mirror("proxy", "node")
	assert.NotEqual(t, RuntimeUID(old), RuntimeUID(mirror))
	assert.Equal(t, []types.UID{RuntimeUID(mirror)}, w.runtime.Pods(w.now, "node"))
	assert.Zero(t, w.containerOf(mirror).Attempt)
}

func TestNothingOfStaticPodsHappensBeforeAllPodsAreKnown(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"), staticPod("goes"))
	kept, gone := w.mirror("proxy", "node"), w.mirror("goes", "node")
	container, log := w.containerOf(kept), len(w.log)
	w.static = w.static[:1]
	w.restart()
	w.fleet.synced = false
	w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	w.run(time.Minute)
	w.observe(gone)
	w.run(time.Minute)
	assert.Empty(t, w.tail(log))
	assert.Len(t, w.runtime.Pods(w.now, "node"), 2)
	w.observe(kept)
	w.fleet.MarkSynced(w.now)
	w.run(time.Minute)
	assert.Equal(t, []string{"DeleteMirror goes-node"}, w.tail(log))
	assert.Equal(t, []types.UID{RuntimeUID(kept)}, w.runtime.Pods(w.now, "node"))
	assert.Equal(t, container, w.containerOf(kept))
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
		"running": func() {}, "restarted": func() { w.fleet.RestartNode(w.now, "node") },
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

func TestAStaticPodThatHasSucceededRunsOnceOnItsMachine(t *testing.T) {
	pod := staticPod("setup", "run-time", "3s")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	w := newStaticWorld(t, pod)
	mirror := w.mirror("setup", "node")
	require.Equal(t, corev1.PodSucceeded, mirror.Status.Phase)
	written := len(w.log)
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	w.endProcess("node")
	w.run(time.Minute)
	assert.Empty(t, w.tail(written))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))

	w.drop(mirror.UID)
	w.run(time.Minute)
	assert.Equal(t, mirror.Status, w.mirror("setup", "node").Status, "its new mirror shows how it ended")

	// Another machine of the name runs it again. Its mirror is another one, too,
	// because containers that have ended for good may not run in a status.
	w.fleet.ForgetNode(w.now, "node")
	w.run(time.Minute)
	old := w.mirror("setup", "node").UID
	w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "second"}})
	w.run(time.Second)
	mirror = w.mirror("setup", "node")
	assert.NotEqual(t, old, mirror.UID)
	assert.Equal(t, types.UID("second"), mirror.OwnerReferences[0].UID)
	assert.Equal(t, "Running ready c:running", describeStatus(&mirror.Status))
}

func TestTaintsDoNotConcernStaticPods(t *testing.T) {
	w := newWorld(t)
	w.static = []*corev1.Pod{staticPod("proxy")}
	w.restart()
	w.fleet.ObserveNode(w.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
	})
	w.pod("claims", func(p *corev1.Pod) { p.Annotations[annotationSource] = sourceFile })
	w.run(time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
	assert.Equal(t, "TaintToleration", w.status("claims").Reason, "the API's pods are exempt from nothing")
	assert.Equal(t, "file", w.pods["claims"].Annotations[annotationSource], "the object is only read")
}

func TestASilentNodeRunsItsStaticPodsAndWritesNothing(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"), staticPod("goes"))
	log := len(w.log)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	marked := w.mirror("proxy", "node").DeepCopy()
	findCondition(&marked.Status, corev1.PodReady).Status = corev1.ConditionFalse
	w.observe(marked)
	w.set(staticPod("proxy"), staticPod("comes"))
	w.run(time.Minute)
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	assert.Empty(t, w.tail(log))
	running := 0
	for _, uid := range w.runtime.Pods(w.now, "node") {
		if state, _ := w.runtime.Pod(w.now, uid); state.Running() {
			running++
		}
	}
	assert.Equal(t, 2, running, "one has gone and one has come")
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(11 * time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status), "it is restored")
	assert.True(t, isReadyStatus(&w.mirror("comes", "node").Status))
	assert.Len(t, w.pods, 2)
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

func TestARejectedStaticPodIsAdmittedByTheNextKubelet(t *testing.T) {
	w := newWorld(t)
	pod := staticPod("proxy")
	pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	w.static = []*corev1.Pod{pod}
	w.restart("node")
	w.run(time.Second)
	rejected := w.mirror("proxy", "node")
	assert.Equal(t, "NodeAffinity", rejected.Status.Reason)
	w.fleet.ObserveNode(w.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"disk": "ssd"}},
	})
	w.drop(rejected.UID) // the world takes no status after a final one
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
}

func TestARebootRestartsStaticPodsOnce(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	w.fleet.RebootNode(w.now, "node")
	w.run(10 * time.Second)
	assert.Equal(t, "Running ready c:running/1", describeStatus(&w.mirror("proxy", "node").Status))
	assert.Equal(t, 1, w.created)
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
