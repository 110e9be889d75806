package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// E6: a caller says in its own words why a pod leaves.
func TestE6CallersConditionIsWritten(t *testing.T) {
	play(t, sceneOptions{condition: func(task eviction.Task) eviction.Condition {
		return eviction.Condition{Reason: "Drained", Message: "The node " + task.Node + " goes."}
	}}, func(s *scene) {
		s.acts(eviction.OutcomeEvicted, "patch", "delete")
		require.Contains(s, s.calls[0].patch,
			`"message":"The node n1 goes.","observedGeneration":7,"reason":"Drained"`)
		require.True(s, isDisrupted(s.get("ns", "p")))
	})
}

func TestE10DefaultConditionWithoutAReasonOfTheCaller(t *testing.T) {
	task := eviction.Task{Node: "n1", Decision: eviction.Decision{Reason: eviction.ReasonRequested}}
	require.Equal(t, "Evicted from node n1.", eviction.DefaultCondition(task).Message)
	task.Decision.Reason = eviction.ReasonNodeEvicted
	require.Equal(t, "All pods are evicted from node n1.", eviction.DefaultCondition(task).Message)
}

// Only a true condition of that type says that the pod is being evicted.
func TestE6OnlyATrueConditionCounts(t *testing.T) {
	other := newPod("p")
	other.Status.Conditions = append(other.Status.Conditions, corev1.PodCondition{
		Type: "example.com/Migration", Status: corev1.ConditionTrue,
		Reason: "DeletionByTaintManager",
	})
	for name, pod := range map[string]*corev1.Pod{
		"of another type": other,
		"false":           newPod("p", disrupted(corev1.ConditionFalse, "DeletionByTaintManager")),
		"unknown":         newPod("p", disrupted(corev1.ConditionUnknown, "DeletionByTaintManager")),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, sceneOptions{pod: pod}, func(s *scene) {
				s.acts(eviction.OutcomeEvicted, "patch", "delete")
			})
		})
	}
}
