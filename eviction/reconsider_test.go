package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// Work for a pod that tolerates a for 60 seconds, on a node that has it since 10.
func dueWork(t *testing.T) eviction.Work {
	t.Helper()
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	return c.startOne(71, "p")
}

func TestE6ReconsiderDecidesFromWhatWasJustRead(t *testing.T) {
	for name, test := range map[string]struct {
		live   *corev1.Pod
		on     *corev1.Node
		reason eviction.Reason
		due    float64
	}{
		"all as it was":       {newPod("p", tolerates("a:60")), newNode("n1", "a@10"), eviction.TolerationEnds, 71},
		"taint is gone":       {newPod("p", tolerates("a:60")), newNode("n1"), eviction.NoTaints, 0},
		"other effect":        {newPod("p", tolerates("a:60")), newNode("n1", "a:NoSchedule@10"), eviction.NoTaints, 0},
		"toleration longer":   {newPod("p", tolerates("a:61")), newNode("n1", "a@10"), eviction.TolerationEnds, 72},
		"toleration endless":  {newPod("p", tolerates("a")), newNode("n1", "a@10"), eviction.Tolerated, 0},
		"toleration is gone":  {newPod("p"), newNode("n1", "a@10"), eviction.Untolerated, 10},
		"taint set again":     {newPod("p", tolerates("a:60")), newNode("n1", "a@71"), eviction.TolerationEnds, 132},
		"another taint":       {newPod("p", tolerates("b:60")), newNode("n1", "b@71"), eviction.TolerationEnds, 132},
		"another pod":         {newPod("p", withUID("new")), newNode("n1", "a@10"), eviction.Gone, 0},
		"pod terminating":     {newPod("p", terminating), newNode("n1", "a@10"), eviction.Gone, 0},
		"no pod":              {nil, newNode("n1", "a@10"), eviction.Gone, 0},
		"no node":             {newPod("p"), nil, eviction.Gone, 0},
		"the time is carried": {newPod("p", tolerates("a:60")), newNode("n1", "a"), eviction.TolerationEnds, 71},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := dueWork(t).Reconsider(test.live, test.on, at(71.5))
			require.Equal(t, test.reason, verdict.Reason)
			require.Equal(t, test.due != 0, verdict.Leaves())
			if test.due != 0 {
				require.Equal(t, test.due, verdict.Due.Sub(at(0)).Seconds())
			}
		})
	}
}

// A node that was created again under its name has other taints, even when they
// look the same.
func TestE6ReconsiderKnowsARecreatedNode(t *testing.T) {
	again := newNode("n1", "a")
	require.Equal(t, at(71), dueWork(t).Reconsider(newPod("p", tolerates("a:60")), again, at(80)).Due)
	again.UID = "another"
	require.Equal(t, at(140), dueWork(t).Reconsider(newPod("p", tolerates("a:60")), again, at(80)).Due)
}

// What is held does not act, whoever looks.
func TestE6ReconsiderHoldsWhatTheTrackerHolds(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "NR@10", "a@10")
	c.Hold(at(10), taints.OwnsNoExecute)
	work := c.startOne(71, "p")
	verdict := work.Reconsider(newPod("p", tolerates("a:60")), newNode("n1", "NR@10", "a@10"), at(72))
	require.Equal(t, eviction.TolerationEnds, verdict.Reason)
	verdict = work.Reconsider(newPod("p", tolerates("a:60")), newNode("n1", "NR@10"), at(72))
	require.Equal(t, eviction.NoTaints, verdict.Reason, "the administrator's taint is gone, ours is held")
}

func TestE6ReconsiderExemptsWhatTheTrackerExempts(t *testing.T) {
	exempt := func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }
	c := runningWith(t, eviction.Config{Exempt: exempt}, newPod("p"))
	c.node(10, "n1", "a@10")
	work := c.start(10, "p")[0]
	live := newPod("p")
	require.True(t, work.Reconsider(live, newNode("n1", "a@10"), at(11)).Leaves())
	live.Labels = map[string]string{"exempt": "yes"}
	require.Equal(t, eviction.Verdict{Reason: eviction.Exempt}, work.Reconsider(live, newNode("n1", "a@10"), at(11)))
}

func TestE6ReconsiderComparesNumbersAsTheTrackerDoes(t *testing.T) {
	pod := newPod("p", tolerates("load=100:60"))
	pod.Spec.Tolerations[0].Operator = corev1.TolerationOpLt
	var config eviction.Config
	config.Matcher.CompareNumbers = true
	c := runningWith(t, config, pod)
	c.node(0, "n1", "load=90@0")
	verdict := c.startOne(61, "p").Reconsider(pod, newNode("n1", "load=90@0"), at(62))
	require.Equal(t, eviction.TolerationEnds, verdict.Reason)
}

// The pod has been marked by somebody with the seconds that its lineage has had.
func TestE6ReconsiderKeepsTheStartOfTheLineage(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60", "UN:60")))
	c.node(10, "n1", "NR@10")
	work := c.startOne(71, "p")
	verdict := work.Reconsider(newPod("p", tolerates("NR:60", "UN:60")), newNode("n1", "UN@70"), at(72))
	require.Equal(t, at(71), verdict.Due)
}
