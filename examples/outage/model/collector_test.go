package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// withSet returns a world with a DaemonSet that has a revision and a pod on a
// machine.
func withSet(t *testing.T, finalizers ...string) (*World, *appsv1.DaemonSet) {
	w, _ := world(t)
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "set", Finalizers: finalizers}}
	require.NoError(t, w.Users().Create(network.DaemonSets.Resource(), set))
	set = ObjectsOf[*appsv1.DaemonSet](w, network.DaemonSets)[0]
	revision := &appsv1.ControllerRevision{ObjectMeta: owned("revision", set)}
	require.NoError(t, w.Users().Create(network.Revisions.Resource(), revision))
	require.NoError(t, w.Users().Create(network.Pods.Resource(), podOf(set, "pod", "a")))
	return w, set
}

func owned(name string, set *appsv1.DaemonSet) metav1.ObjectMeta {
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}
}

func podOf(set *appsv1.DaemonSet, name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: owned(name, set), Spec: corev1.PodSpec{NodeName: node}}
}

func revisions(w *World) []*appsv1.ControllerRevision {
	return ObjectsOf[*appsv1.ControllerRevision](w, network.Revisions)
}

func TestWhatBelongsToASetThatIsGoneIsDeleted(t *testing.T) {
	w, set := withSet(t)
	require.NoError(t, w.Users().Delete(network.DaemonSets.Resource(), "set"))
	run(w, time.Minute)
	require.Nil(t, w.Pod("pod"))
	require.Empty(t, revisions(w))

	// As when a call of its controller arrives late.
	require.NoError(t, w.Users().Create(network.Pods.Resource(), podOf(set, "late", "a")))
	require.NotNil(t, w.Pod("late"))
	run(w, 2*time.Minute)
	require.Nil(t, w.Pod("late"))
}

// The workloads of the model are no objects. What the owners of their pods are
// called is nothing to the garbage collector.
func TestPodsOfWorkloadsAreNotCollected(t *testing.T) {
	w, set := withSet(t)
	w.Workload("agent").Place("a")
	w.Workload("web").Place("b")
	before := map[string]*corev1.Pod{}
	for _, pod := range w.Pods() {
		before[pod.Name] = pod
	}
	require.NoError(t, w.Users().Delete(network.DaemonSets.Resource(), set.Name))
	run(w, 2*time.Minute)
	delete(before, "pod") // of the set
	require.Len(t, w.Pods(), len(before))
	for _, pod := range w.Pods() {
		require.Equal(t, before[pod.Name].UID, pod.UID)
	}
}

func TestSetIsGoneAfterItsPodsWithForegroundDeletion(t *testing.T) {
	w, _ := withSet(t, metav1.FinalizerDeleteDependents)
	restore := w.Machine("a").Silence() // its pod does not stop
	require.NoError(t, w.Users().Delete(network.DaemonSets.Resource(), "set"))
	run(w, time.Minute)
	require.NotNil(t, w.Pod("pod").DeletionTimestamp)
	require.NotNil(t, w.set("set"))
	require.Empty(t, revisions(w))
	restore()
	run(w, 2*time.Minute)
	require.Nil(t, w.Pod("pod"))
	require.Nil(t, w.set("set"))
}

func TestOrphansStayWhenTheirSetIsGone(t *testing.T) {
	w, _ := withSet(t, metav1.FinalizerOrphanDependents)
	require.NoError(t, w.Users().Delete(network.DaemonSets.Resource(), "set"))
	run(w, time.Minute)
	require.Nil(t, w.set("set"))
	require.Empty(t, w.Pod("pod").OwnerReferences)
	require.Nil(t, w.Pod("pod").DeletionTimestamp)
	require.Len(t, revisions(w), 1)
	require.Empty(t, revisions(w)[0].OwnerReferences)
}

// A user can create a pod for a node that does not exist. It is collected, also
// when there has never been such a node, unless there is one by then.
func TestPodOnNoNodeIsCollected(t *testing.T) {
	w, _ := world(t)
	w.Machine("b").Unregister()
	for _, node := range []string{"b", "none", "late"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node}, Spec: corev1.PodSpec{NodeName: node}}
		require.NoError(t, w.Users().Create(network.Pods.Resource(), pod))
	}
	w.AddMachine("late", "z", "z/0")
	run(w, 3*time.Minute)
	require.Nil(t, w.Pod("on-b"))
	require.Nil(t, w.Pod("on-none"))
	require.NotNil(t, w.Pod("on-late"))
	w.Machine("late").Unregister()
	run(w, 5*time.Minute)
	require.Nil(t, w.Pod("on-late"), "it goes with its node")
	require.Empty(t, w.PodsOn("late"))
}
