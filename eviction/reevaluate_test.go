package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// Work for a pod that tolerates a for 60 seconds, on a node that has it since
// 10.
func dueWork(t *testing.T) eviction.Task {
	t.Helper()
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	return c.startOne(70, "p")
}

func TestE6ReevaluateDecidesFromWhatWasJustRead(t *testing.T) {
	for name, test := range map[string]struct {
		live   *corev1.Pod
		on     *corev1.Node
		reason eviction.Reason
		due    float64
	}{
		"all as it was": {newPod("p", tolerates("a:60")), newNode("n1", "a@10"),
			eviction.ReasonTolerationEnds, 70},
		"taint is gone": {newPod("p", tolerates("a:60")), newNode("n1"), eviction.ReasonNoTaints,
			0},
		"other effect": {newPod("p", tolerates("a:60")), newNode("n1", "a:NoSchedule@10"),
			eviction.ReasonNoTaints, 0},
		"toleration longer": {newPod("p", tolerates("a:61")), newNode("n1", "a@10"),
			eviction.ReasonTolerationEnds, 71},
		"toleration endless": {newPod("p", tolerates("a")), newNode("n1", "a@10"),
			eviction.ReasonTolerated, 0},
		"toleration is gone": {newPod("p"), newNode("n1", "a@10"), eviction.ReasonUntolerated, 10},
		"taint set again": {newPod("p", tolerates("a:60")), newNode("n1", "a@70"),
			eviction.ReasonTolerationEnds, 131},
		"another taint": {newPod("p", tolerates("b:60")), newNode("n1", "b@70"),
			eviction.ReasonTolerationEnds, 131},
		"another pod": {newPod("p", withUID("new")), newNode("n1", "a@10"), eviction.ReasonGone,
			0},
		"pod terminating": {newPod("p", terminating), newNode("n1", "a@10"), eviction.ReasonGone, 0},
		"no pod":          {nil, newNode("n1", "a@10"), eviction.ReasonGone, 0},
		"no node":         {newPod("p"), nil, eviction.ReasonGone, 0},
		"the time is carried": {newPod("p", tolerates("a:60")), newNode("n1", "a"),
			eviction.ReasonTolerationEnds, 70},
	} {
		t.Run(name, func(t *testing.T) {
			decision := dueWork(t).Reevaluate(test.live, test.on, at(71.5))
			require.Equal(t, test.reason, decision.Reason)
			require.Equal(t, test.due != 0, decision.Leaves())
			if test.due != 0 {
				require.Equal(t, test.due, decision.Due.Sub(at(0)).Seconds())
			}
		})
	}
}

// A node that was created again under its name has other taints, even if they
// are equal.
func TestE6ReevaluateKnowsARecreatedNode(t *testing.T) {
	again := newNode("n1", "a")
	require.Equal(t, at(70), dueWork(t).Reevaluate(newPod("p", tolerates("a:60")), again, at(80)).Due)
	again.UID = "another"
	require.Equal(t, at(140), dueWork(t).Reevaluate(newPod("p", tolerates("a:60")), again, at(80)).Due)
}

// Held taints do not evict in Reevaluate either.
func TestE6ReevaluateHoldsWhatTheTrackerHolds(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "NR@10", "a@10")
	c.hold(10, "ours", true)
	c.start(10)
	task := c.startOne(70, "p")
	decision := task.Reevaluate(newPod("p", tolerates("a:60")), newNode("n1", "NR@10", "a@10"), at(72))
	require.Equal(t, eviction.ReasonTolerationEnds, decision.Reason)
	decision = task.Reevaluate(newPod("p", tolerates("a:60")), newNode("n1", "NR@10"), at(72))
	require.Equal(t, eviction.ReasonNoTaints, decision.Reason,
		"the administrator's taint is gone, ours is held")
}

func TestE6ReevaluateExemptsWhatTheTrackerExempts(t *testing.T) {
	exempt := func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }
	c := runningWith(t, eviction.Config{Exempt: exempt}, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	live := newPod("p")
	require.True(t, task.Reevaluate(live, newNode("n1", "a@10"), at(11)).Leaves())
	live.Labels = map[string]string{"exempt": "yes"}
	require.Equal(t, eviction.Decision{Reason: eviction.ReasonExempt},
		task.Reevaluate(live, newNode("n1", "a@10"), at(11)))
}

func TestE6ReevaluateComparesNumbersAsTheTrackerDoes(t *testing.T) {
	pod := newPod("p", tolerates("load=100:60"))
	pod.Spec.Tolerations[0].Operator = corev1.TolerationOpLt
	var config eviction.Config
	config.Matcher.EnableComparisonOperators = true
	c := runningWith(t, config, pod)
	c.node(0, "n1", "load=90@0")
	decision := c.startOne(60, "p").Reevaluate(pod, newNode("n1", "load=90@0"), at(62))
	require.Equal(t, eviction.ReasonTolerationEnds, decision.Reason)
}

// The live taint continues the start of its lineage.
func TestE6ReevaluateKeepsTheStartOfTheLineage(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60", "UN:60")))
	c.node(10, "n1", "NR@10")
	task := c.startOne(70, "p")
	decision := task.Reevaluate(newPod("p", tolerates("NR:60", "UN:60")), newNode("n1", "UN@70"),
		at(72))
	require.Equal(t, at(70), decision.Due)
}
