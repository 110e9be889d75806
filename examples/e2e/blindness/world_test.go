package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
)

func TestTheLastNodeOfEachZoneDiesAndTheOthersMixZones(t *testing.T) {
	nodes := []string{"b-1", "a-2", "a-0", "b-0", "a-1"}
	require.Equal(t, []string{"a-2", "b-1"}, doomed(nodes))
	require.Equal(t, []string{"a-0", "b-0", "a-1"}, lasting(nodes))
	require.Equal(t, []string{"b-1", "a-2", "a-0", "b-0", "a-1"}, nodes, "unchanged")
}

func TestAnOutageEndsWithTheFirstBeatThatIsStored(t *testing.T) {
	killed := time.Now()
	at := func(seconds int) time.Time { return killed.Add(time.Duration(seconds) * time.Second) }
	w := &world{beats: map[string][]judge.Beat{
		"a-0": {
			{Sent: at(-3), Acknowledged: at(-2)}, {Sent: at(-1), Acknowledged: at(1)},
			{Sent: at(64), Acknowledged: at(66)},
		},
		"b-0": {{Sent: at(61), Acknowledged: at(65)}},
	}}
	require.Equal(t, at(65), w.firstBeat(killed, at(70)))
	require.Equal(t, at(63), w.firstBeat(killed, at(63)), "it was ready before a beat")
}

func TestTheWitnessRemembersEachTimeThatANodeBecameUnknownAndAnyTaint(t *testing.T) {
	w := newWitness(nil)
	begun := time.Now()
	see := func(seconds int, ready corev1.ConditionStatus, taints ...corev1.Taint) {
		w.see(&corev1.Node{
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
	require.False(t, w.of("a-0").tainted, "an administrator's taint is not for silence")
	noSchedule := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}
	see(1, corev1.ConditionUnknown, noSchedule)
	see(2, corev1.ConditionUnknown)
	require.False(t, w.of("a-0").tainted)
	require.NoError(t, w.all([]string{"a-0"}, (*nodeSeen).wantUnknown))
	see(3, corev1.ConditionTrue, noExecute)
	require.ErrorContains(t, w.all([]string{"a-0"}, (*nodeSeen).wantUntainted), "has taints")
	see(4, corev1.ConditionUnknown)
	see(5, corev1.ConditionTrue)

	seen := w.of("a-0")
	require.Equal(t, []sighting{
		{begun.Add(time.Second), "Ready (NodeStatusUnknown)"},
		{begun.Add(4 * time.Second), "Ready (NodeStatusUnknown)"},
	}, seen.unknown)
	require.True(t, seen.tainted)
	require.NoError(t, w.all([]string{"a-0"}, (*nodeSeen).wantUntainted))
	require.ErrorContains(t, w.all([]string{"a-1"}, (*nodeSeen).wantReady), "was not seen")
	require.Zero(t, w.of("a-1"))
}
