package shadow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
)

var (
	unreachable = corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	notReady    = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	foreign     = corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}
)

// newNode is a node that has beaten at some time.
func newNode(beat int, has ...corev1.Taint) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "1"},
		Spec:       corev1.NodeSpec{Taints: has},
	}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
	} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, LastHeartbeatTime: metav1.NewTime(after(beat)),
		})
	}
	return node
}

// declaredNode is that node once a controller has declared it.
func declaredNode(beat int, has ...corev1.Taint) *corev1.Node {
	node := newNode(beat, has...)
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		c.Status, c.Reason = corev1.ConditionUnknown, nodehealth.ReasonStopped
	}
	return node
}

// begunWith is a world that has begun with objects.
func begunWith(t *testing.T, objects ...any) *World {
	t.Helper()
	w, err := NewWorld(RecordConfig{})
	require.NoError(t, err)
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Node:
			require.Same(t, object, seen(w, 0, object))
		case *corev1.Pod:
			require.Same(t, object, w.ObservePod(start, object))
		}
	}
	w.Begin(start)
	return w
}

// seen shows a node to the world.
func seen(w *World, at int, node *corev1.Node) *corev1.Node {
	view, _ := w.ObserveNode(after(at), node)
	return view
}

func declare(t *testing.T, w *World, at int) *corev1.Node {
	t.Helper()
	view, err := w.Node("n")
	require.NoError(t, err)
	data, change, err := nodehealth.UnknownPatch(view, after(at))
	require.NoError(t, err)
	require.True(t, change)
	written, err := w.PatchNode(after(at), "n", nodehealth.PatchType, data)
	require.NoError(t, err)
	return written
}

func setTaints(t *testing.T, w *World, at int, all ...corev1.Taint) *corev1.Node {
	t.Helper()
	view, err := w.Node("n")
	require.NoError(t, err)
	data, err := taints.Patch(view, all)
	require.NoError(t, err)
	written, err := w.PatchNode(after(at), "n", taints.PatchType, data)
	require.NoError(t, err)
	return written
}

// tallied is what was counted, without times.
func tallied(w *World) map[Action]map[Verdict]int {
	counts := map[Action]map[Verdict]int{}
	for _, tally := range w.Record().Tallies() {
		if counts[tally.Action] == nil {
			counts[tally.Action] = map[Verdict]int{}
		}
		counts[tally.Action][tally.Verdict] = tally.Count
	}
	return counts
}

func one(action Action, verdict Verdict) map[Action]map[Verdict]int {
	return map[Action]map[Verdict]int{action: {verdict: 1}}
}

func TestC7WhatAnotherControllerWritesToANodeIsNotInTheView(t *testing.T) {
	w := begunWith(t, newNode(0))
	view := seen(w, 1, declaredNode(0, foreign, unreachable))
	require.Equal(t, corev1.ConditionTrue, nodehealth.ReadyStatus(view))
	require.Equal(t, newNode(0).Status, view.Status)
	require.Equal(t, []corev1.Taint{foreign}, view.Spec.Taints, "what the controllers do not own is")
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOpen: 1}, ActionAddNoExecute: {VerdictOpen: 1},
	}, tallied(w))

	view = seen(w, 2, newNode(2, foreign, unreachable))
	require.Equal(t, newNode(2).Status, view.Status, "what the kubelet writes is")
	require.Equal(t, []corev1.Taint{foreign}, view.Spec.Taints)
	view = seen(w, 3, newNode(2))
	require.Empty(t, view.Spec.Taints)
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOnlyCluster: 1}, ActionAddNoExecute: {VerdictOnlyCluster: 1},
	}, tallied(w))
}

func TestC7TheShadowsOwnWritesStayInTheView(t *testing.T) {
	w := begunWith(t, newNode(0, notReady))
	written := declare(t, w, 1)
	require.Equal(t, corev1.ConditionUnknown, nodehealth.ReadyStatus(written))
	written = setTaints(t, w, 2, unreachable)
	require.Equal(t, []corev1.Taint{unreachable}, written.Spec.Taints)
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOpen: 1}, ActionAddNoExecute: {VerdictOpen: 1},
		ActionRemoveNoSchedule: {VerdictOpen: 1},
	}, tallied(w))

	// A change of something else, by an administrator.
	changed := newNode(0, notReady, foreign)
	changed.Spec.Unschedulable = true
	view := seen(w, 3, changed)
	require.Equal(t, corev1.ConditionUnknown, nodehealth.ReadyStatus(view))
	require.Equal(t, []corev1.Taint{foreign, unreachable}, view.Spec.Taints)
	require.True(t, view.Spec.Unschedulable)

	// The other controller does the same.
	view = seen(w, 4, declaredNode(0, foreign, unreachable))
	require.Equal(t, written.Status, view.Status)
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictEarlier: 1}, ActionAddNoExecute: {VerdictEarlier: 1},
		ActionRemoveNoSchedule: {VerdictEarlier: 1},
	}, tallied(w))

	// The kubelet is back: neither side has to do anything about Unknown.
	view = seen(w, 5, newNode(5, foreign, unreachable))
	require.Equal(t, newNode(5).Status, view.Status)
	require.Empty(t, w.record.open)
}

func TestC7ANodeThatIsHeardBeforeTheClusterDeclaredItWasDeclaredByTheShadowAlone(t *testing.T) {
	w := begunWith(t, newNode(0))
	declare(t, w, 1)
	view := seen(w, 2, newNode(2))
	require.Equal(t, newNode(2).Status, view.Status)
	require.Equal(t, one(ActionDeclareUnknown, VerdictOnlyShadow), tallied(w))
}

func TestC7ANodeThatNeverReportedIsDeclared(t *testing.T) {
	bare := newNode(0)
	bare.Status.Conditions = nil
	w := begunWith(t, bare)
	other := declaredNode(0)
	for i := range other.Status.Conditions {
		other.Status.Conditions[i].Reason = nodehealth.ReasonNeverReported
	}
	view := seen(w, 1, other)
	require.Empty(t, view.Status.Conditions)
	written := declare(t, w, 2)
	require.Len(t, written.Status.Conditions, 4)

	alone := begunWith(t, bare)
	declare(t, alone, 1)
	changed := bare.DeepCopy()
	changed.Spec.Unschedulable = true
	view = seen(alone, 2, changed)
	require.Len(t, view.Status.Conditions, 4, "the shadow's own stay")
	again := other.DeepCopy()
	again.Labels = map[string]string{"a": "b"}
	view = seen(w, 3, again)
	require.Equal(t, corev1.ConditionUnknown, nodehealth.ReadyStatus(view))
	require.Len(t, view.Status.Conditions, 4)
	require.Equal(t, one(ActionDeclareUnknown, VerdictLater), tallied(w))
}

func TestC7TheViewOfANodeWithoutWritesOfOthersIsTheNode(t *testing.T) {
	w := begunWith(t, declaredNode(0, unreachable))
	for _, node := range []*corev1.Node{declaredNode(0, unreachable), newNode(1, unreachable, foreign)} {
		require.Same(t, node, seen(w, 1, node), "no copy")
	}
	require.Empty(t, w.Record().Tallies())
}

func TestC7AGuardOfTheShadowsWriteHolds(t *testing.T) {
	w := begunWith(t, newNode(0))
	stale, err := w.Node("n")
	require.NoError(t, err)
	data, _, err := nodehealth.UnknownPatch(stale, after(1))
	require.NoError(t, err)
	seen(w, 1, newNode(1))
	_, err = w.PatchNode(after(2), "n", nodehealth.PatchType, data)
	require.True(t, taints.IsStale(err), "%v: a fresh status wins", err)
	_, err = w.PatchNode(after(2), "n", types.StrategicMergePatchType, []byte(`{"metadata":{"uid":"other"}}`))
	require.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = w.PatchNode(after(2), "gone", nodehealth.PatchType, data)
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.Empty(t, w.Record().Tallies())
}

func TestC7LabelsAreCompared(t *testing.T) {
	w := begunWith(t, newNode(0))
	const key = "beta.kubernetes.io/os"
	_, err := w.PatchNode(after(1), "n", types.StrategicMergePatchType,
		[]byte(`{"metadata":{"uid":"u","labels":{"`+key+`":"linux"}}}`))
	require.NoError(t, err)
	view := seen(w, 2, newNode(2))
	require.Equal(t, "linux", view.Labels[key])
	labeled := newNode(2)
	labeled.Labels = map[string]string{key: "linux"}
	require.Same(t, labeled, seen(w, 3, labeled))
	require.Equal(t, one(ActionSetLabel, VerdictEarlier), tallied(w))

	w = begunWith(t, newNode(0))
	view = seen(w, 1, labeled)
	require.Empty(t, view.Labels, "another controller's")
	require.Equal(t, one(ActionSetLabel, VerdictOpen), tallied(w))
}

func TestC7NothingIsComparedBeforeTheShadowLeads(t *testing.T) {
	w, err := NewWorld(RecordConfig{})
	require.NoError(t, err)
	for _, node := range []*corev1.Node{newNode(0), declaredNode(0, unreachable), newNode(1)} {
		require.Same(t, node, seen(w, 0, node))
	}
	for _, pod := range []*corev1.Pod{newPod(), marked(newPod()), evicted(newPod())} {
		require.Same(t, pod, w.ObservePod(start, pod))
	}
	require.Empty(t, w.Record().Tallies())
}

func newPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "p", ResourceVersion: "1"},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
}

func marked(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	return pod
}

// evicted is a pod that a taint eviction controller is deleting.
func evicted(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
	})
	return deleting(pod)
}

func deleting(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = &metav1.Time{Time: start}
	return pod
}

var cart = types.NamespacedName{Namespace: "shop", Name: "cart"}

func TestC7WhatAnotherControllerWritesToAPodIsNotInTheView(t *testing.T) {
	w := begunWith(t, newNode(0), newPod())
	seen(w, 1, declaredNode(0))
	view := w.ObservePod(after(2), marked(newPod()))
	require.Equal(t, newPod().Status, view.Status)
	view = w.ObservePod(after(3), evicted(marked(newPod())))
	require.Nil(t, view.DeletionTimestamp)
	require.Equal(t, newPod().Status, view.Status)
	view = w.ObservePod(after(4), evicted(marked(newPod())))
	require.Nil(t, view.DeletionTimestamp, "nor later")
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOpen: 1}, ActionMarkPodNotReady: {VerdictOpen: 1}, ActionEvictPod: {VerdictOpen: 1},
	}, tallied(w))

	uid := types.UID("p")
	require.NoError(t, w.DeletePod(after(5), cart, &metav1.Preconditions{UID: &uid}))
	view, err := w.Pod(cart)
	require.NoError(t, err)
	require.NotNil(t, view.DeletionTimestamp)
	require.Equal(t, 1, tallied(w)[ActionEvictPod][VerdictLater])
	w.ForgetPod(after(6), evicted(newPod()))
	require.Equal(t, map[Verdict]int{VerdictLater: 1}, tallied(w)[ActionEvictPod])
	require.Equal(t, map[Verdict]int{VerdictOnlyCluster: 1}, tallied(w)[ActionMarkPodNotReady])
}

func TestC7WhatAKubeletOrAUserWritesToAPodIsInTheView(t *testing.T) {
	w := begunWith(t, newNode(0), newPod())
	for _, pod := range []*corev1.Pod{marked(newPod()), newPod(), deleting(newPod())} {
		require.Same(t, pod, w.ObservePod(after(1), pod))
	}
	require.Empty(t, w.Record().Tallies())
}

// A pod that ends when its node returns becomes not ready by its kubelet. The
// watch of pods may tell so before that of nodes.
func TestC7WhatAReturningKubeletWritesToAPodIsNoMark(t *testing.T) {
	for name, change := range map[string]func(*corev1.PodStatus){
		"its containers have ended": func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed },
		"its containers have crashed": func(s *corev1.PodStatus) {
			s.Conditions[0].Reason = "ContainersNotReady"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begunWith(t, newNode(0), newPod())
			seen(w, 1, declaredNode(0))
			pod := marked(newPod())
			change(&pod.Status)
			require.Same(t, pod, w.ObservePod(after(2), pod))
			require.Equal(t, one(ActionDeclareUnknown, VerdictOpen), tallied(w))
		})
	}
}

func markCart(t *testing.T, w *World, at int) {
	t.Helper()
	view, err := w.Pod(cart)
	require.NoError(t, err)
	data, change, err := nodehealth.PodNotReadyPatch(view, after(at))
	require.NoError(t, err)
	require.True(t, change)
	_, err = w.PatchPod(after(at), cart, nodehealth.PatchType, data)
	require.NoError(t, err)
}

func TestC7AMarkOfTheShadowAloneEndsWhenItsNodeIsReady(t *testing.T) {
	w := begunWith(t, newNode(0), newPod())
	declare(t, w, 1)
	markCart(t, w, 1)
	changed := newNode(0)
	changed.Spec.Unschedulable = true
	_, pods := w.ObserveNode(after(2), changed)
	require.Empty(t, pods, "not heard yet")
	_, pods = w.ObserveNode(after(3), newNode(3))
	require.Len(t, pods, 1)
	require.Equal(t, newPod().Status, pods[0].Status)
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOnlyShadow: 1}, ActionMarkPodNotReady: {VerdictOnlyShadow: 1},
	}, tallied(w))
	_, pods = w.ObserveNode(after(4), newNode(4))
	require.Empty(t, pods)
	declare(t, w, 5)
	markCart(t, w, 5)
	require.Equal(t, 1, tallied(w)[ActionMarkPodNotReady][VerdictOpen], "again")
	w.ForgetPod(after(6), newPod())
	_, pods = w.ObserveNode(after(7), newNode(7))
	require.Empty(t, pods)
}

func TestC7AMarkOfAnotherControllerEndsWithTheKubeletsReport(t *testing.T) {
	w := begunWith(t, declaredNode(0), newPod())
	w.ObservePod(after(1), marked(newPod()))
	w.ObservePod(after(2), newPod())
	require.Equal(t, one(ActionMarkPodNotReady, VerdictOnlyCluster), tallied(w))
}

func TestC7AMarkOfTheShadowStaysUntilTheKubeletIsBack(t *testing.T) {
	w := begunWith(t, newNode(0), newPod())
	markCart(t, w, 1)
	view := w.ObservePod(after(2), newPod())
	require.Equal(t, corev1.ConditionFalse, podReady(view))
	view = w.ObservePod(after(3), marked(newPod())) // before its node is seen to be declared
	require.Equal(t, corev1.ConditionFalse, podReady(view))
	require.Equal(t, one(ActionMarkPodNotReady, VerdictEarlier), tallied(w))
	require.Equal(t, corev1.ConditionTrue, podReady(w.ObservePod(after(4), newPod())))
	require.Equal(t, one(ActionMarkPodNotReady, VerdictEarlier), tallied(w))
}

func TestC7AnEvictionOfTheShadowEndsAsThePodEnds(t *testing.T) {
	for name, test := range map[string]struct {
		then func(*World)
		want Verdict
	}{
		"it is evicted":     {func(w *World) { w.ObservePod(after(9), evicted(newPod())) }, VerdictEarlier},
		"a user deletes it": {func(w *World) { w.ObservePod(after(9), deleting(newPod())) }, VerdictEarlier},
		"it is gone":        {func(w *World) { w.ForgetPod(after(9), newPod()) }, VerdictEarlier},
		"it stays": {func(w *World) {
			require.NotNil(t, w.ObservePod(after(9), newPod()).DeletionTimestamp)
		}, VerdictOpen},
		"another has its name": {func(w *World) {
			other := newPod()
			other.UID = "q"
			require.Same(t, other, w.ObservePod(after(9), other))
		}, VerdictEarlier},
	} {
		t.Run(name, func(t *testing.T) {
			w := begunWith(t, newNode(0), newPod())
			require.NoError(t, w.DeletePod(after(1), cart, nil))
			first, err := w.Pod(cart)
			require.NoError(t, err)
			require.NoError(t, w.DeletePod(after(2), cart, nil), "again")
			second, err := w.Pod(cart)
			require.NoError(t, err)
			require.Same(t, first, second)
			test.then(w)
			require.Equal(t, one(ActionEvictPod, test.want), tallied(w))
		})
	}
}

func TestC7AGuardOfTheShadowsDeletionHolds(t *testing.T) {
	w := begunWith(t, newPod())
	uid, version := types.UID("other"), "0"
	for _, guard := range []*metav1.Preconditions{{UID: &uid}, {ResourceVersion: &version}} {
		require.True(t, apierrors.IsConflict(w.DeletePod(after(1), cart, guard)))
	}
	require.True(t, apierrors.IsNotFound(w.DeletePod(after(1), types.NamespacedName{Name: "x"}, nil)))
	require.Empty(t, w.Record().Tallies())
}

func TestC7ObjectsThatAreGoneAreForgotten(t *testing.T) {
	w := begunWith(t, newNode(0, notReady), newPod())
	declare(t, w, 1)
	setTaints(t, w, 2, unreachable)
	seen(w, 3, newNode(0, notReady, foreign))
	w.ForgetNode(after(4), "n")
	w.ForgetNode(after(4), "n")
	w.ForgetPod(after(4), newPod())
	w.ForgetPod(after(4), newPod())
	require.Empty(t, w.record.open)
	require.Empty(t, w.nodes)
	require.Empty(t, w.pods)
	require.Equal(t, map[Action]map[Verdict]int{
		ActionDeclareUnknown: {VerdictOnlyShadow: 1}, ActionAddNoExecute: {VerdictOnlyShadow: 1},
		ActionRemoveNoSchedule: {VerdictOnlyShadow: 1},
	}, tallied(w))
	unbound := newPod()
	unbound.Spec.NodeName = ""
	require.Same(t, unbound, w.ObservePod(time.Time{}, unbound))
	require.Empty(t, w.pods)
}
