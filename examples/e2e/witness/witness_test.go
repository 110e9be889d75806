package witness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

func TestTheWitnessRemembersEachTimeThatANodeBecameUnknownAndAnyTaint(t *testing.T) {
	w := witness.New(nil)
	begun := time.Now()
	see := func(seconds int, ready corev1.ConditionStatus, taints ...corev1.Taint) {
		w.See(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a-0"},
			Spec:       corev1.NodeSpec{Taints: taints},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: ready, Reason: "NodeStatusUnknown"},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
			}},
		}, begun.Add(time.Duration(seconds)*time.Second))
	}
	noExecute := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	see(0, corev1.ConditionTrue, corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	require.Empty(t, w.Of("a-0").Tainted, "an administrator's taint is not for silence")
	noSchedule := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}
	see(1, corev1.ConditionUnknown, noSchedule)
	see(2, corev1.ConditionUnknown)
	require.Empty(t, w.Of("a-0").Tainted)
	require.NoError(t, w.All([]string{"a-0"}, (*witness.Node).WantUnknown))
	added := metav1.NewTime(begun.Truncate(time.Second))
	see(3, corev1.ConditionTrue, noExecute)
	require.Zero(t, w.Of("a-0").TaintAdded)
	for i, later := range []time.Duration{time.Second, 0, 2 * time.Second} {
		noExecute.TimeAdded = new(metav1.NewTime(added.Add(later)))
		see(3+i, corev1.ConditionTrue, noExecute)
	}
	require.ErrorContains(t, w.All([]string{"a-0"}, (*witness.Node).WantUntainted), "has taints")
	see(6, corev1.ConditionUnknown)
	see(7, corev1.ConditionTrue)

	seen := w.Of("a-0")
	require.Equal(t, []witness.Sighting{
		{begun.Add(time.Second), begun.Add(3 * time.Second)},
		{begun.Add(6 * time.Second), begun.Add(7 * time.Second)},
	}, seen.Unknown)
	require.Equal(t, []witness.Sighting{{At: begun.Add(3 * time.Second), Ended: begun.Add(6 * time.Second)}}, seen.Tainted)
	require.Equal(t, added.Time, seen.TaintAdded, "the earlier one")
	require.NoError(t, w.All([]string{"a-0"}, (*witness.Node).WantUntainted))
	require.ErrorContains(t, w.All([]string{"a-1"}, (*witness.Node).WantReady), "was not seen")
	require.Zero(t, w.Of("a-1"))
}
