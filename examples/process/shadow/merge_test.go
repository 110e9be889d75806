package shadow

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A patch tests a condition in its place, so a view keeps the order.
func TestC7ConditionsOfAPodStayInTheirPlace(t *testing.T) {
	pod := func(ready corev1.ConditionStatus, others ...corev1.PodConditionType) *corev1.Pod {
		p := &corev1.Pod{}
		for _, kind := range others {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
			if kind == corev1.PodReady {
				p.Status.Conditions[len(p.Status.Conditions)-1].Status = ready
			}
		}
		return p
	}
	shown := pod(corev1.ConditionTrue, corev1.PodInitialized, corev1.PodReady, corev1.PodScheduled)
	marked := pod(corev1.ConditionFalse, corev1.PodInitialized, corev1.PodReady, corev1.PodScheduled)
	require.Equal(t, shown, mergePod(shown, shown, marked, true), "as the shadow has left it")
	require.Equal(t, marked, mergePod(shown, marked, shown, true), "as the shadow has marked it")

	evicted := pod(corev1.ConditionTrue, corev1.PodInitialized, corev1.DisruptionTarget, corev1.PodReady)
	for i := range evicted.Status.Conditions {
		if evicted.Status.Conditions[i].Type == corev1.DisruptionTarget {
			evicted.Status.Conditions[i].Reason = "DeletionByTaintManager"
		}
	}
	before := pod(corev1.ConditionTrue, corev1.PodInitialized, corev1.PodReady)
	require.Equal(t, before, mergePod(before, before, evicted, true), "without the mark of another")
}
