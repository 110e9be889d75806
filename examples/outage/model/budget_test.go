package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// protected returns a world in which workload db has so many pods on machine a,
// all but so many of which have to be available.
func protected(t *testing.T, pods, minAvailable int) (*World, *seen, *DisruptionBudget) {
	w, s := world(t)
	budget := w.Workload("db").Protect(minAvailable)
	for range pods {
		w.Workload("db").Place("a")
	}
	run(w, w.Elapsed()+time.Second)
	return w, s, budget
}

// evicted asks for the eviction of a pod.
func evicted(w *World, s *seen, pod string, preconditions *metav1.Preconditions) error {
	call := &network.Call{Verb: network.Evict, Kind: network.Pods, Name: pod, Preconditions: preconditions}
	s.client.Call(call, func(*network.Call) {})
	run(w, w.Elapsed()+10*time.Millisecond)
	return call.Err
}

func disruptionTarget(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

func TestEvictionWithoutABudgetMarksAndDeletes(t *testing.T) {
	w, s := world(t)
	w.Workload("db").Place("a")
	require.NoError(t, evicted(w, s, "db-0", nil))
	pod := w.Pod("db-0")
	require.NotNil(t, pod.DeletionTimestamp)
	require.Equal(t, "EvictionByEvictionAPI", disruptionTarget(pod))
	require.True(t, apierrors.IsNotFound(evicted(w, s, "db-7", nil)))
}

func TestEvictionKeepsItsPreconditions(t *testing.T) {
	w, s := world(t)
	w.Workload("db").Place("a")
	uid, version := w.Pod("db-0").UID, w.Pod("db-0").ResourceVersion
	wrong, old := types.UID("other"), "1"
	require.True(t, apierrors.IsConflict(evicted(w, s, "db-0", &metav1.Preconditions{UID: &wrong})))
	require.True(t, apierrors.IsConflict(evicted(w, s, "db-0", &metav1.Preconditions{UID: &uid, ResourceVersion: &old})))
	require.Nil(t, w.Pod("db-0").DeletionTimestamp)
	require.Empty(t, disruptionTarget(w.Pod("db-0")))
	require.NoError(t, evicted(w, s, "db-0", &metav1.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// The budget is counted down at once: two evictions in the same moment do not
// both see what is allowed.
func TestBudgetAllowsAsManyAsItHasToSpare(t *testing.T) {
	w, s, budget := protected(t, 3, 2)
	require.Equal(t, 1, budget.Allowed)
	first := &network.Call{Verb: network.Evict, Kind: network.Pods, Name: "db-0"}
	second := &network.Call{Verb: network.Evict, Kind: network.Pods, Name: "db-1"}
	s.client.Call(first, func(*network.Call) {})
	s.client.Call(second, func(*network.Call) {})
	run(w, w.Elapsed()+10*time.Millisecond)
	require.NoError(t, first.Err)
	require.True(t, apierrors.IsTooManyRequests(second.Err))
	require.True(t, apierrors.HasStatusCause(second.Err, policyv1.DisruptionBudgetCause))
	require.True(t, Refused(second))
	require.False(t, Refused(first))
	require.Nil(t, w.Pod("db-1").DeletionTimestamp, "what is refused does nothing")
	require.Empty(t, disruptionTarget(w.Pod("db-1")))

	run(w, w.Elapsed()+time.Minute) // the first was replaced and is ready
	require.Equal(t, 1, budget.Allowed)
	require.NoError(t, evicted(w, s, "db-1", nil))
}

// A budget that allows none never does by itself, and a delete does not ask it.
func TestBudgetIsNotAskedByADelete(t *testing.T) {
	w, s, budget := protected(t, 2, 2)
	require.Zero(t, budget.Allowed)
	require.Equal(t, never, budget.AllowedSince)
	require.Error(t, evicted(w, s, "db-0", nil))
	call := &network.Call{Verb: network.Delete, Kind: network.Pods, Name: "db-0"}
	s.client.Call(call, func(*network.Call) {})
	run(w, w.Elapsed()+10*time.Millisecond)
	require.NoError(t, call.Err)
	require.NotNil(t, w.Pod("db-0").DeletionTimestamp)
}

// A pod that is not ready goes when enough others are, and costs nothing then;
// else it counts like one that is. A pending one goes in any case.
func TestBudgetLetsUnreadyPodsGoIfEnoughAreReady(t *testing.T) {
	unready := func(w *World, name string) {
		w.machine["a"].Silence() // or it would say again that the pod is ready
		w.putPod(withCondition(w.Pod(name), corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}))
		run(w, w.Elapsed()+time.Second)
	}
	w, s, budget := protected(t, 3, 2)
	unready(w, "db-0")
	require.Zero(t, budget.Allowed)
	require.NoError(t, evicted(w, s, "db-0", nil), "two are ready, as many as have to be")
	require.Error(t, evicted(w, s, "db-1", nil))

	w, s, budget = protected(t, 3, 3)
	unready(w, "db-0")
	require.Equal(t, never, budget.EnoughSince)
	require.Error(t, evicted(w, s, "db-0", nil), "two are ready, one too few")

	pending := w.Workload("db").pod("db-9")
	w.putPod(pending)
	require.NoError(t, evicted(w, s, "db-9", nil))
	require.Nil(t, w.Pod("db-9"), "one on no node is gone at once")
}

// An eviction with the wrong UID passes the budget and is then refused: the
// disruption is used up until the disruption controller does not wait for that
// pod any more.
func TestBudgetLosesADisruptionToAConflict(t *testing.T) {
	w, s, budget := protected(t, 3, 2)
	wrong := types.UID("other")
	require.True(t, apierrors.IsConflict(evicted(w, s, "db-0", &metav1.Preconditions{UID: &wrong})))
	run(w, w.Elapsed()+time.Minute)
	require.Zero(t, budget.Allowed)
	run(w, w.Elapsed()+2*time.Minute)
	require.Equal(t, 1, budget.Allowed)
}

// A pod that is terminating is evicted without a look at its budget, and only
// once.
func TestEvictionOfATerminatingPodChangesNothingTwice(t *testing.T) {
	w, s, _ := protected(t, 2, 2)
	w.machine["a"].Silence()
	w.DeletePod("db-0")
	require.NoError(t, evicted(w, s, "db-0", nil))
	version := w.Pod("db-0").ResourceVersion
	require.NoError(t, evicted(w, s, "db-0", nil))
	require.Equal(t, version, w.Pod("db-0").ResourceVersion)
}

func TestPodsNameTheirOwner(t *testing.T) {
	w, _ := world(t)
	w.Workload("agent").Priority = ptr.To(int32(7))
	for name, kind := range map[string]string{"web": "ReplicaSet", "db": "StatefulSet", "agent": "DaemonSet"} {
		w.Workload(name).Place("a")
		pod := w.Workload(name).Pods()[0]
		require.Len(t, pod.OwnerReferences, 1)
		require.Equal(t, kind, pod.OwnerReferences[0].Kind)
		require.True(t, *pod.OwnerReferences[0].Controller)
		require.Equal(t, name == "agent", pod.Spec.Priority != nil)
	}
}
