package edge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is an edge, its fleet and its cluster, at a time.
type world struct {
	*testing.T
	*Edge
	cluster *memory.Cluster
	fleet   *kubelet.Fleet
	runtime *cri.Fake
	now     time.Time
	// cached are the pods of the informer. Added and paused are the nodes that the
	// sender has, and those of them that are paused.
	cached   map[string][]*corev1.Pod
	added    map[string]heartbeat.Node
	paused   map[string]bool
	changed  []string
	problems []string
	silent   bool
}

func newWorld(t *testing.T) *world {
	w := &world{
		T: t, cluster: memory.NewCluster(), now: start,
		cached: map[string][]*corev1.Pod{}, added: map[string]heartbeat.Node{}, paused: map[string]bool{},
	}
	var err error
	w.runtime, err = cri.NewFake(start)
	require.NoError(t, err)
	w.fleet, err = kubelet.NewFleet(kubelet.FleetConfig{Runtime: w.runtime}, start)
	require.NoError(t, err)
	turn := func(turn func(time.Time)) { turn(w.now) }
	w.Edge, err = NewEdge(Config{
		Fleet: w.fleet, Runtime: w.runtime, Observe: turn, View: turn,
		Pods:       func(namespace string) PodClient { return w.cluster.CoreV1().Pods(namespace) },
		Nodes:      w.cluster.CoreV1().Nodes(),
		PodsOf:     func(node string) []*corev1.Pod { return w.cached[node] },
		Heartbeats: w, Silent: func(string) bool { return w.silent },
		IsOurs:  func(node *corev1.Node) bool { return node.Labels["ours"] != "" },
		Problem: func(_ metav1.Object, err error) { w.problems = append(w.problems, err.Error()) },
	})
	require.NoError(t, err)
	return w
}

func (w *world) Add(node heartbeat.Node) error {
	if _, found := w.added[node.Name]; found {
		return heartbeat.ErrDuplicateNode
	}
	w.added[node.Name] = node
	return nil
}

func (w *world) Remove(name string) bool {
	_, found := w.added[name]
	delete(w.added, name)
	delete(w.paused, name)
	return found
}

func (w *world) Changed(name string) bool {
	w.changed = append(w.changed, name)
	_, found := w.added[name]
	return found
}

func (w *world) Pause(name string) bool  { return w.setPaused(name, true) }
func (w *world) Resume(name string) bool { return w.setPaused(name, false) }

func (w *world) setPaused(name string, paused bool) bool {
	_, found := w.added[name]
	w.paused[name] = found && paused
	return found
}

func (w *world) create(name string) *corev1.Pod {
	w.Helper()
	pod, err := w.cluster.CoreV1().Pods("ns").Create(w.Context(), newPod(name), metav1.CreateOptions{})
	require.NoError(w, err)
	return pod
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

func newNode(annotations ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "1", Annotations: map[string]string{}}}
	for _, name := range annotations {
		node.Annotations[cri.AnnotationDomain+"/"+name] = ""
	}
	return node
}

// run lets the fleet work for a time, without a result of its calls.
func (w *world) run(period time.Duration) {
	for end := w.now.Add(period); w.now.Before(end); w.now = w.now.Add(100 * time.Millisecond) {
		for task, ok := w.fleet.Start(w.now); ok; task, ok = w.fleet.Start(w.now) {
			w.fleet.Finish(w.now, task, kubelet.ResultDone)
		}
	}
}

func (w *world) restarts(pod types.UID) int32 {
	w.Helper()
	state, _ := w.runtime.Pod(w.now, pod)
	c, found := state.Latest("main")
	require.True(w, found)
	return c.Attempt
}

// A pod that was deleted and created again under its name is another one.
func TestATaskNeverTouchesANamesake(t *testing.T) {
	w := newWorld(t)
	namesake := w.create("p")
	gone := namesake.DeepCopy()
	gone.UID = "former"
	status := corev1.PodStatus{Phase: corev1.PodFailed}
	result, err := w.Perform(t.Context(), kubelet.Task{Kind: kubelet.TaskPatchStatus, Pod: gone, Status: status})
	require.NoError(t, err)
	assert.Equal(t, kubelet.ResultGone, result)
	result, err = w.Perform(t.Context(), kubelet.Task{Kind: kubelet.TaskDeletePod, Pod: gone})
	require.Error(t, err, "the watch tells that it is gone")
	assert.Equal(t, kubelet.ResultFailed, result)
	stored, err := w.cluster.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, namesake, stored)

	for _, task := range []kubelet.Task{
		{Kind: kubelet.TaskPatchStatus, Pod: namesake, Status: status}, {Kind: kubelet.TaskDeletePod, Pod: namesake},
	} {
		result, err = w.Perform(t.Context(), task)
		require.NoError(t, err)
		assert.Equal(t, kubelet.ResultDone, result)
	}
	for _, kind := range []kubelet.TaskKind{kubelet.TaskPatchStatus, kubelet.TaskDeletePod} {
		result, err = w.Perform(t.Context(), kubelet.Task{Kind: kind, Pod: namesake})
		require.NoError(t, err)
		assert.Equal(t, kubelet.ResultGone, result)
	}
}

func TestARegistrationDoesNotTakeAForeignNode(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"ours": "yes"}}}
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	register := func() error {
		_, err := w.Perform(t.Context(), kubelet.Task{Kind: kubelet.TaskRegisterNode, Object: node})
		return err
	}
	require.NoError(t, register())
	require.NoError(t, register(), "it is there")
	nodes := w.cluster.CoreV1().Nodes()
	require.NoError(t, nodes.Delete(t.Context(), "node", metav1.DeleteOptions{}))
	_, err := nodes.Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, register(), ErrForeignNode)
	_, err = w.Perform(t.Context(), kubelet.Task{Kind: "other", Node: "node"})
	require.Error(t, err)
}

func TestNodesThatComeAndGoAreToldToTheSender(t *testing.T) {
	w := newWorld(t)
	w.cached["node"] = []*corev1.Pod{newPod("p")}
	w.Pods.OnAdd(newPod("q"), true)
	assert.False(t, w.fleet.HasPod("q"), "its node is not of the fleet")
	w.Nodes.OnAdd(newNode(), true)
	assert.True(t, w.fleet.HasPod("p"))
	w.MarkSynced()
	require.True(t, w.beats())
	node := w.added["node"]
	assert.EqualValues(t, "1", node.UID)
	status, err := node.Status(t.Context())
	require.NoError(t, err)
	assert.Len(t, status.Conditions, 4)

	w.Nodes.OnUpdate(newNode(), newNode(kubelet.AnnotationSilent))
	assert.False(t, w.beats(), "a silent node sends nothing")
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationSilent), newNode(kubelet.AnnotationSilent, kubelet.AnnotationDiskPressure))
	assert.Empty(t, w.changed)
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationSilent), newNode(kubelet.AnnotationMemoryPressure))
	assert.True(t, w.beats(), "its first report is due at once")
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationMemoryPressure), newNode(kubelet.AnnotationMemoryPressure))
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationMemoryPressure), newNode())
	assert.Equal(t, []string{"node"}, w.changed, "once for each change")

	w.Nodes.OnDelete(newNode())
	assert.Empty(t, w.added)
	_, err = node.Status(t.Context())
	require.ErrorIs(t, err, errUnknown)
	w.Nodes.OnDelete(newNode())
}

// beats reports whether the node would send a heartbeat now.
func (w *world) beats() bool {
	_, added := w.added["node"]
	return added && !w.paused["node"]
}

// It must not stay paused where it was: an entry there would outlive its node.
func TestASilentNodeThatBecomesSlowLeavesItsSender(t *testing.T) {
	w, slow := newWorld(t), newWorld(t)
	w.config.SlowHeartbeats = slow
	w.MarkSynced()
	silent, slowly := newNode(kubelet.AnnotationSilent), newNode()
	slowly.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationAPILatency] = "2s"
	silentAndSlow := slowly.DeepCopy()
	silentAndSlow.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationSilent] = ""
	w.Nodes.OnAdd(newNode(), false)
	w.Nodes.OnUpdate(newNode(), silent)
	assert.Contains(t, w.added, "node", "it is paused")
	w.Nodes.OnUpdate(silent, silentAndSlow)
	assert.Empty(t, w.added)
	assert.Empty(t, slow.added)
	w.Nodes.OnUpdate(silentAndSlow, slowly)
	assert.Empty(t, w.added)
	assert.True(t, slow.beats())
	w.Nodes.OnDelete(slowly)
	assert.Empty(t, slow.added)
}

// A cut by the caller and the annotation add up, and each ends alone.
func TestANodeIsSilentByItsCallerOrItsAnnotation(t *testing.T) {
	w := newWorld(t)
	w.silent = true
	w.Nodes.OnAdd(newNode(), true)
	w.Recheck("unknown")
	w.MarkSynced()
	assert.Empty(t, w.added, "it was cut off before it came")
	w.silent = false
	assert.False(t, w.beats(), "until it is checked again")
	w.Recheck("node")
	assert.True(t, w.beats())
	w.silent = true
	w.Recheck()
	assert.False(t, w.beats())
	w.Nodes.OnUpdate(newNode(), newNode(kubelet.AnnotationSilent))
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationSilent), newNode())
	assert.False(t, w.beats(), "the caller still wants it")
	w.Nodes.OnUpdate(newNode(), newNode(kubelet.AnnotationSilent))
	w.silent = false
	w.Recheck("node")
	assert.False(t, w.beats(), "its annotation still wants it")
	w.Pods.OnAdd(newPod("p"), false)
	w.run(time.Second)
	_, started := w.runtime.Pod(w.now, "p")
	assert.False(t, started, "it has not heard of the pod")
	w.Nodes.OnUpdate(newNode(kubelet.AnnotationSilent), newNode())
	assert.True(t, w.beats())
	w.run(time.Second)
	_, started = w.runtime.Pod(w.now, "p")
	assert.True(t, started)
}

func TestTheAnnotationOfACrashCountsWhenItChanges(t *testing.T) {
	w := newWorld(t)
	w.Nodes.OnAdd(newNode(), true)
	since := metav1.NewTime(start)
	crashing := func(name, value string) *corev1.Pod {
		pod := newPod(name)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "id", Image: "image",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}}}
		pod.Annotations = map[string]string{cri.AnnotationDomain + "/" + cri.AnnotationCrash: value}
		return pod
	}
	w.Pods.OnAdd(crashing("old", "main"), true)
	state, _ := w.runtime.Pod(w.now, "old")
	assert.True(t, state.Running(), "it was there before this process, as was the annotation")
	w.MarkSynced()
	w.Pods.OnAdd(newPod("p"), false)
	w.run(time.Second)
	for range 2 {
		w.Pods.OnUpdate(newPod("p"), crashing("p", "main:1"))
		w.run(time.Second)
		assert.EqualValues(t, 1, w.restarts("p"), "once for each value")
	}
	for _, wrong := range []string{":1", "main:256", "main:-1"} {
		w.Pods.OnUpdate(newPod("p"), crashing("p", wrong))
	}
	assert.Len(t, w.problems, 3)
	w.Pods.OnDelete(crashing("p", ""))
	w.Pods.OnDelete(crashing("old", ""))
	assert.Empty(t, w.crashes)
}

// The watch shows a node with each of its reports.
func TestWhatIsWrongWithANodeIsToldOnceForEachChange(t *testing.T) {
	w := newWorld(t)
	for _, names := range [][]string{{"slient"}, {"slient"}, {"slient", "api-latency"}, {"silent"}, {"slient"}} {
		w.Nodes.OnAdd(newNode(names...), false)
	}
	require.Len(t, w.problems, 3)
	assert.Contains(t, w.problems[0], `there is no "slient"`)
	assert.Contains(t, w.problems[1], "/api-latency=")
	assert.Equal(t, w.problems[0], w.problems[2])
	w.Nodes.OnDelete(newNode())
	assert.Empty(t, w.Edge.problems)
}

// What a mirror pod shows runs under the UID of its static pod.
func TestAMirrorIsAboutItsStaticPod(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.fleet.SetStaticPods(start, []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}}))
	w.Nodes.OnAdd(newNode(), true)
	w.MarkSynced()
	task, ok := w.fleet.Start(w.now)
	require.True(t, ok && task.Kind == kubelet.TaskCreateMirror)
	w.create(task.Pod.Name)
	result, err := w.Perform(t.Context(), task)
	require.ErrorContains(t, err, "CreateMirror of pod ns/p-node: ", "another pod has the name")
	assert.Equal(t, kubelet.ResultFailed, result)
	require.NoError(t, w.cluster.CoreV1().Pods("ns").Delete(t.Context(), "p-node", metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
	}))
	result, err = w.Perform(t.Context(), task)
	require.NoError(t, err)
	assert.Equal(t, kubelet.ResultDone, result)
	w.fleet.Finish(w.now, task, result)
	mirror, err := w.cluster.CoreV1().Pods("ns").Get(t.Context(), "p-node", metav1.GetOptions{})
	require.NoError(t, err)
	trimmed, err := new(Trimmer).Trim(mirror.DeepCopy())
	require.NoError(t, err)
	w.Pods.OnAdd(trimmed, false)
	w.run(time.Second)
	crashing := trimmed.(*corev1.Pod).DeepCopy()
	crashing.Annotations[cri.AnnotationDomain+"/"+cri.AnnotationCrash] = "main:1"
	w.Pods.OnUpdate(trimmed, crashing)
	w.run(time.Second)
	assert.EqualValues(t, 1, w.restarts(kubelet.RuntimeUID(mirror)))

	next := newWorld(t)
	crashing.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "id", Image: "image",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}}}}
	next.Nodes.OnAdd(newNode(), true)
	next.Pods.OnAdd(crashing, true)
	state, _ := next.runtime.Pod(start, kubelet.RuntimeUID(mirror))
	assert.True(t, state.Running())
	assert.Equal(t, mirror.UID, crashing.UID, "the object is only read")
	_, found := next.runtime.Pod(start, mirror.UID)
	assert.False(t, found)

	former := *mirror
	former.UID = "former"
	result, err = w.Perform(t.Context(), kubelet.Task{Kind: kubelet.TaskDeleteMirror, Pod: &former})
	require.Error(t, err, "the watch tells that it is gone")
	assert.Equal(t, kubelet.ResultFailed, result)
	result, err = w.Perform(t.Context(), kubelet.Task{Kind: kubelet.TaskDeleteMirror, Pod: mirror})
	require.NoError(t, err)
	assert.Equal(t, kubelet.ResultDone, result)
}

func TestAnEdgeNamesAllThatIsMissing(t *testing.T) {
	_, err := NewEdge(Config{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, field := range []string{
		"Fleet", "Runtime", "Observe", "View", "Pods", "Nodes", "PodsOf", "Heartbeats", "IsOurs",
	} {
		require.ErrorContains(t, err, "Config."+field+" is nil")
	}
}
