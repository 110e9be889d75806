package controller

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// H1, kubernetes #108268: a restart untaints no node and moves no deadline.
func TestRestartKeepsTaintsAndDeadlines(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	w.advance(grace + interval + 5*time.Second)
	added := timeAdded(t, w.nodes["a-000"])
	w.done = nil
	w.start()
	w.advance(added.Time.Add(29 * time.Second).Sub(w.now))
	require.Empty(t, deeds[PatchTaints](w))
	require.Empty(t, deeds[Evict](w))
	w.advance(10 * time.Second)
	evicted := times[Evict](w, added.Time)
	require.Len(t, evicted, 1)
	require.GreaterOrEqual(t, evicted[0], 30*time.Second)
	require.LessOrEqual(t, evicted[0], 32*time.Second)
}

// A node that is tainted but whose condition says that it is ready was left so
// by a crash. Only a beat shows that it is alive.
func TestTaintedNodeIsUntaintedByABeatOnly(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(4, "a")
	w.addNodes(4, "b")
	for _, name := range []string{"a-000", "a-001"} {
		w.beat(name)
		node := w.nodes[name]
		node.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		}
	}
	w.silent["a-001"] = true
	w.start()
	w.act()
	require.Empty(t, deeds[PatchTaints](w), "nothing is untainted at the start")
	w.advance(2 * interval)
	require.Empty(t, w.taintsOf("a-000"))
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-001"),
		"it has not been heard of")
	w.advance(2 * grace)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-001"))
	require.Equal(t, corev1.ConditionUnknown, w.nodes["a-001"].Status.Conditions[0].Status)
}

// A node that came back while no replica led keeps its pods: their deadlines
// have passed, and it is untainted by its first heartbeat. One that died again
// after its report loses them when it is found silent.
func TestPodsOfANodeThatCameBackBeforeTheStartStay(t *testing.T) {
	for _, died := range []bool{false, true} {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + interval + 5*time.Second)
		added := timeAdded(t, w.nodes["a-000"])
		node := w.nodes["a-000"].DeepCopy() // it reports, and no replica leads
		node.Status.Conditions[0].Status = corev1.ConditionTrue
		w.nodes["a-000"] = node
		w.now = added.Add(time.Minute) // its pods were due after 30 s
		w.silent["a-000"] = died
		w.done = nil
		start := w.now
		w.start()
		w.advance(grace - interval)
		require.Empty(t, deeds[Evict](w), "it is said to be ready")
		w.advance(3 * interval)
		if !died {
			require.Empty(t, deeds[Evict](w))
			require.Empty(t, w.taintsOf("a-000"))
			continue
		}
		require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
		require.Equal(t, added, timeAdded(t, w.nodes["a-000"]), "it is the same lineage")
		evicted := times[Evict](w, start)
		require.Len(t, evicted, 1)
		require.LessOrEqual(t, evicted[0], grace+interval, "its deadline does not begin again")
	}
}

// Nodes that were found not ready and untainted wait a grace period: we may
// have started just after every zone was down.
func TestStartStabilizesBeforeNewTaints(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(5, "a")
	w.nodes["a-000"].Status.Conditions[0].Status = corev1.ConditionUnknown
	w.silent["a-000"] = true
	w.start()
	start := w.now
	w.advance(2 * grace)
	var released []time.Duration
	for _, d := range w.done {
		if patch, ok := d.action.(PatchTaints); ok && patch.Released {
			released = append(released, d.at.Sub(start))
		}
	}
	require.Len(t, released, 1)
	require.GreaterOrEqual(t, released[0], grace)
}

// H6, kubernetes #48681, #135205: pods are marked after a crash, after a
// failure, and when they come later.
func TestH6PodsAreMarkedWhateverHappens(t *testing.T) {
	t.Run("after a crash", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.fail = func(a Action) error {
			if _, ok := a.(MarkPodNotReady); ok {
				return errServer
			}
			return nil
		}
		w.advance(grace + time.Second)
		w.fail = nil
		w.start()
		w.advance(time.Second)
		require.Len(t, deeds[MarkPodNotReady](w), 1)
	})
	t.Run("after a failure", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		failures := 3
		w.fail = func(a Action) error {
			if _, ok := a.(MarkPodNotReady); ok && failures > 0 {
				failures--
				return errServer
			}
			return nil
		}
		w.advance(grace + 20*time.Second)
		require.Zero(t, failures)
		require.Len(t, deeds[MarkPodNotReady](w), 1)
	})
	t.Run("bound later", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + time.Second)
		w.addPod("late", "a-000", tolerate(600))
		w.advance(time.Second)
		marked := deeds[MarkPodNotReady](w)
		require.Len(t, marked, 2)
		require.Equal(t, "late", marked[1].Pod.Name)
	})
	// A terminating pod that is ready is a serving endpoint.
	t.Run("terminating", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		leaving := w.addPod("leaving", "a-000", tolerate(600)).DeepCopy()
		leaving.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.setPod(leaving)
		w.advance(grace + time.Second)
		var names []string
		for _, mark := range deeds[MarkPodNotReady](w) {
			names = append(names, mark.Pod.Name)
		}
		require.Contains(t, names, "leaving")
		require.Len(t, names, 2)
	})
	t.Run("once in an episode", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + time.Second)
		pod := deeds[MarkPodNotReady](w)[0].Pod.DeepCopy() // says that it is ready
		w.setPod(pod)
		w.c.Reevaluate()
		w.advance(time.Second)
		require.Len(t, deeds[MarkPodNotReady](w), 1, "a client that disagrees is not fought")
	})
}

// A cache that is behind must not make us undo what we have just written.
func TestOwnWriteCountsMoreThanAnOlderCache(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	old := w.nodes["a-000"]
	w.advance(grace + time.Second)
	patches := len(deeds[PatchTaints](w))
	require.Positive(t, patches)
	w.c.ObserveNode(w.now, old)
	w.advance(time.Second)
	require.Len(t, deeds[PatchTaints](w), patches, "nothing is computed from the old version")
	require.Len(t, deeds[DeclareUnknown](w), 1)

	w.c.ObserveNode(w.now.Add(2*ownWriteCounts), old)
	require.Equal(t, old, w.c.nodes["a-000"].object, "but not for ever: the store may have been set back")
}

// A node that was deleted and recreated during a write is another one.
func TestRecreatedNodeDuringAWrite(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	var recreated bool
	w.fail = func(a Action) error {
		patch, ok := a.(PatchTaints)
		if !ok || !patch.Released || recreated {
			return nil
		}
		recreated = true
		w.deleteNode("a-000")
		w.silent["a-000"] = false
		w.addNode("a-000", "a")
		return nil
	}
	w.advance(grace + 3*interval)
	require.True(t, recreated)
	require.Empty(t, w.taintsOf("a-000"), "the patch was for the old one")
	w.silent["a-000"] = true
	w.advance(grace + 3*interval)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute, "and the new one is watched like any other")
}

func TestNodeMovesZoneWhileItWaits(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	w.advance(grace - interval/2)
	node := w.nodes["a-000"].DeepCopy()
	node.Labels[corev1.LabelTopologyZone] = "b"
	w.setNode(node)
	require.Equal(t, 1, w.c.Queued(w.c.nodes["a-000"].zone))
	w.advance(2 * interval)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
}

// Found by the simulation (seed 35): what an eviction has written to a pod
// counts more than what a cache shows that is behind.
func TestMarkOfAFailedEvictionIsRememberedUntilTheCacheShowsIt(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("p", "a-000")
	node := w.nodes["a-000"].DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(node)
	evict := func() (Task, eviction.Task) {
		task, ok := w.c.Start(w.now)
		require.True(t, ok)
		evict, ok := task.Action.(Evict)
		require.True(t, ok)
		return task, evict.Task
	}
	first, attempt := evict()
	require.False(t, attempt.HasDisruptionTarget)
	marked := pod.DeepCopy()
	marked.ResourceVersion = strconv.Itoa(w.version + 10)
	marked.Status.Conditions = append(marked.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: eviction.ConditionReasonTaint,
	})
	w.c.Finish(w.now, first,
		Result{Eviction: eviction.Result{Outcome: eviction.OutcomeFailed, Err: errServer, Pod: marked}})
	touched := pod.DeepCopy() // an older version that comes late
	touched.ResourceVersion = strconv.Itoa(w.version + 5)
	w.c.ObservePod(w.now, touched)
	w.now = w.now.Add(time.Second)
	_, again := evict()
	require.True(t, again.HasDisruptionTarget)
}

// A live read that finds a heartbeat vouches for the node's conditions like the
// heartbeat itself. The taint of a node that is ready goes without a sweep over
// all nodes.
func TestNodeFoundAliveLosesItsTaint(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(3, "a")
	tainted := w.nodes["a-000"].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
	w.setNode(tainted)
	w.silent["a-000"] = true
	w.start()
	w.act()
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-000"),
		"it may have died after it said that it was ready")
	w.now = w.now.Add(grace)
	for read := 0; read < 3; { // all have been silent for so long
		task, ok := w.c.Start(w.now)
		require.True(t, ok)
		action, is := task.Action.(ReadLease)
		if !is {
			w.c.Finish(w.now, task, w.perform(task.Action)) // the first is taken back
			continue
		}
		read++
		w.c.Finish(w.now, task, Result{Leases: map[string]string{action.Node.Name: "newer"}})
	}
	w.act()
	require.Empty(t, deeds[DeclareUnknown](w))
	require.Empty(t, w.taintsOf("a-000"))
}

// A mark for an eviction that became moot is taken back with the Event of
// kube-controller-manager, as the program tainteviction does.
func TestAMarkIsTakenBackWithAnEvent(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("marked", "a-000", tolerate(600)).DeepCopy()
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: eviction.ConditionReasonTaint,
	})
	w.setPod(pod)
	w.advance(time.Second)
	var said []string
	for _, event := range deeds[Record](w) {
		if event.Object.Name == "marked" {
			said = append(said, event.Type+" "+event.Reason+" "+event.Message)
		}
	}
	require.Equal(t, []string{
		"Normal TaintManagerEviction Cancelling deletion of Pod default/marked",
	}, said)
}

// H1: the API server taints each new node as not ready. The first report after
// its creation is a heartbeat, so the taint goes at once. A node that is first
// seen ready has to be heard.
func TestH1TheTaintOfANewNodeGoesWithItsFirstReport(t *testing.T) {
	for _, seenBare := range []bool{true, false} {
		w := active(t, "a", "b")
		node := w.nodes["a-000"].DeepCopy()
		node.Name, node.UID = "new", "new"
		node.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		}
		w.next["new"] = w.now.Add(interval)
		if seenBare {
			bare := node.DeepCopy()
			bare.Status.Conditions = nil
			w.setNode(bare)
			w.advance(time.Second)
			require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"))
			node.Spec.Taints = bare.Spec.Taints
		}
		w.setNode(node)
		w.advance(time.Second)
		if !seenBare {
			require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"), "not heard yet")
			w.advance(interval)
		}
		require.Empty(t, w.taintsOf("new"))
	}
}
