package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

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
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-A", Controller: ptr.To(true)}},
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

func TestARestartOfTheKubeletOrTheProcessChangesNoStaticPod(t *testing.T) {
	for name, restart := range map[string]func(*world){
		"kubelet": func(w *world) { w.restartKubelet("node") },
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

func TestAStaticPodThatHasSucceededRunsOnceOnItsMachine(t *testing.T) {
	pod := staticPod("setup", "run-time", "3s")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	w := newStaticWorld(t, pod)
	mirror := w.mirror("setup", "node")
	require.Equal(t, corev1.PodSucceeded, mirror.Status.Phase)
	written := len(w.log)
	w.restartKubelet("node")
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
	w.restartKubelet("node")
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
	w.restartKubelet("node")
	w.run(time.Second)
	assert.True(t, isReadyStatus(&w.mirror("proxy", "node").Status))
}

func TestARebootRestartsStaticPodsOnce(t *testing.T) {
	w := newStaticWorld(t, staticPod("proxy"))
	w.reboot("node")
	w.run(10 * time.Second)
	assert.Equal(t, "Running ready c:running/1", describeStatus(&w.mirror("proxy", "node").Status))
	assert.Equal(t, 1, w.created)
}

func TestWrongManifestsAreRefused(t *testing.T) {
	for says, change := range map[string]func(*corev1.Pod){
		`metadata.name is "A", want the name of a pod`: func(p *corev1.Pod) { p.Name = "A" },
		`metadata.namespace is "a.b", want`:            func(p *corev1.Pod) { p.Namespace = "a.b" },
		`metadata.uid is "1", want none`:               func(p *corev1.Pod) { p.UID = "1" },
		"want a static pod and not its mirror": func(p *corev1.Pod) {
			p.Annotations[corev1.MirrorPodAnnotationKey] = ""
		},
		"spec.containers is empty":         func(p *corev1.Pod) { p.Spec.Containers = nil },
		`the name of a container is ""`:    func(p *corev1.Pod) { p.Spec.Containers[0].Name = "" },
		`container "c" has no image`:       func(p *corev1.Pod) { p.Spec.Containers[0].Image = "" },
		`two containers have the name "c"`: func(p *corev1.Pod) { p.Spec.InitContainers = p.Spec.Containers },
	} {
		t.Run(says, func(t *testing.T) {
			pod := staticPod("proxy")
			require.NoError(t, ValidateStaticPod(pod))
			change(pod)
			require.ErrorContains(t, ValidateStaticPod(pod), says)
			_, err := NewFleet(FleetConfig{Runtime: &cri.Fake{}, StaticPods: []*corev1.Pod{pod}}, start)
			require.ErrorIs(t, err, ErrInvalidConfig)
			require.ErrorContains(t, err, "config field StaticPods: static pod 0: ")
		})
	}
	require.ErrorContains(t, ValidateStaticPod(nil), "nil")
	w := newStaticWorld(t, staticPod("proxy"))
	err := w.fleet.SetStaticPods(w.now, []*corev1.Pod{staticPod("other"), staticPod("other")})
	require.ErrorContains(t, err, "static pod 1: default/other is there twice")
	assert.Equal(t, "proxy", w.fleet.static.manifests[0].pod.Name, "nothing has changed")
}

func TestStaticPodsGetTheDefaultsOfTheAPI(t *testing.T) {
	pod := staticPod("proxy")
	pod.Spec.HostNetwork = true
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: "k", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5)},
	}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 82}}
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
		"cpu": resource.MustParse("1"), "memory": resource.MustParse("2"),
	}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("1")}
	given := pod.DeepCopy()
	got := withDefaults(pod)
	assert.Equal(t, given, pod, "the manifest is only read")
	assert.Equal(t, "default", got.Namespace)
	assert.Equal(t, corev1.RestartPolicyAlways, got.Spec.RestartPolicy)
	assert.EqualValues(t, 30, *got.Spec.TerminationGracePeriodSeconds)
	assert.Equal(t, []corev1.Toleration{
		{Key: "k", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}, got.Spec.Tolerations)
	c := &got.Spec.Containers[0]
	assert.EqualValues(t, 80, c.Ports[0].HostPort)
	assert.EqualValues(t, 82, c.Ports[1].HostPort)
	assert.Equal(t, "1", c.Resources.Requests.Cpu().String())
	assert.Equal(t, "1", c.Resources.Requests.Memory().String())
	for image, want := range map[string]corev1.PullPolicy{
		"a": corev1.PullAlways, "r:5000/a": corev1.PullAlways, "r:5000/a:latest": corev1.PullAlways,
		"r:5000/a:1": corev1.PullIfNotPresent, "a@sha256:0": corev1.PullIfNotPresent,
	} {
		pod.Spec.Containers[0].Image = image
		assert.Equal(t, want, withDefaults(pod).Spec.Containers[0].ImagePullPolicy, image)
	}
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
	assert.Equal(t, corev1.PullNever, withDefaults(pod).Spec.Containers[0].ImagePullPolicy)
}
