package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

var demoRules = rules{grace: 4 * time.Second, rate: 1}

// at is a time of a history, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// taintedAt is a taint that was decided and stored at these seconds. Version
// orders it among the writes.
func taintedAt(version uint64, decided, stored float64) taintSpan {
	return taintSpan{added: at(decided).Truncate(time.Second), stored: at(stored), from: version}
}

// historyOf is that of nodes of zone a, with what each was tainted with.
func historyOf(tainted ...taintSpan) *history {
	h := &history{nodes: map[string]*nodeHistory{}, pods: map[string]*podHistory{}, end: at(100)}
	for i, span := range tainted {
		n := h.node("node-a0" + string(rune('0'+i)))
		if !span.stored.IsZero() {
			n.tainted = []taintSpan{span}
		}
	}
	return h
}

// The rate is that of decisions. Writes that were under way on a busy machine
// reach the API server together, and in another order.
func TestSummaryRateIsOfDecisions(t *testing.T) {
	late := historyOf(taintedAt(3, 10.9, 12.5), taintedAt(2, 11.9, 12.5), taintedAt(1, 12.9, 12.95))
	require.LessOrEqual(t, late.judge(demoRules, played{}).zones["a"].peak, 1.0)

	fast := historyOf(taintedAt(1, 10.1, 10.1), taintedAt(2, 10.5, 10.5), taintedAt(3, 10.9, 10.9))
	require.Greater(t, fast.judge(demoRules, played{}).zones["a"].peak, 1.0)
	sum := historyOf(taintedAt(1, 10, 10), taintedAt(2, 10.7, 10.7), taintedAt(3, 11.4, 11.4),
		taintedAt(4, 12.1, 12.1), taintedAt(5, 12.8, 12.8), taintedAt(6, 12.9, 12.9))
	require.Greater(t, sum.judge(demoRules, played{}).zones["a"].peak, 1.0)
}

// A pod leaves at the right time if its eviction was decided then. What the API
// server stored first, and in which second, says so.
func TestSummaryTimeOfAnEviction(t *testing.T) {
	const evicted = 5
	for name, c := range map[string]struct {
		patience             patience
		decided              float64
		version              uint64
		removed              float64 // zero: the taint stays
		wrong, early, missed bool
	}{
		"on time":                           {patient, 17, evicted, 0, false, false, false},
		"as early as the second may be":     {patient, 16.9, evicted, 0, false, true, false},
		"before the taint, in its second":   {impatient, 10, 1, 0, true, false, false},
		"at once":                           {impatient, 10, evicted, 0, false, false, false},
		"decided before the removal":        {patient, 17.2, evicted, 17.5, false, false, false},
		"decided after the removal":         {patient, 19, evicted, 17.5, true, false, false},
		"faithful":                          {faithful, 60, evicted, 0, true, false, false},
		"never, and the taint stays":        {patient, 0, 0, 0, false, false, true},
		"never, but the node recovered":     {patient, 0, 0, 21, false, false, false},
		"never, the node recovered late":    {patient, 0, 0, 22, false, false, true},
		"impatient, never, recovered late":  {impatient, 0, 0, 16, false, false, true},
		"impatient, never, recovered early": {impatient, 0, 0, 12, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			span := taintedAt(2, 10.4, 10.6)
			if c.removed > 0 {
				span.end = at(c.removed)
			}
			h := historyOf(span)
			h.pods["pod"] = &podHistory{
				node: "node-a00", patience: c.patience, version: c.version, gone: c.version > 0,
				decided: at(c.decided).Truncate(time.Second), stored: at(c.decided + 3),
			}
			v := h.judge(demoRules, played{})
			require.Equal(t, c.wrong, len(v.wrong) > 0, "wrong")
			require.Equal(t, c.early, len(v.early) > 0, "early")
			require.Equal(t, c.missed, len(v.missing) > 0, "missing")
		})
	}
}

// All zones are down from when no node has had a heartbeat for a grace period.
// What counts is what the API server stored, not what the script wanted.
func TestSummaryOutageIsOfStoredHeartbeats(t *testing.T) {
	cut := span{at(12), at(20)}
	outage := func(tainted taintSpan) *verdict {
		h := historyOf(tainted, taintSpan{})
		h.node("node-a00").beats = []time.Time{at(1), at(5), at(26)}
		h.node("node-a01").beats = []time.Time{at(2), at(6), at(9), at(12.3), at(20.2), at(24), at(28), at(32)}
		h.end = at(34)
		return h.judge(demoRules, played{cut: []span{cut}})
	}
	require.Empty(t, outage(taintedAt(1, 15.5, 17)).whileDown, "one node still counts as alive")
	require.NotEmpty(t, outage(taintedAt(1, 17.1, 17.2)).whileDown)
	require.NotEmpty(t, outage(taintedAt(1, 22.1, 22.2)).whileDown, "the grace period after it")
	require.Empty(t, outage(taintedAt(1, 24.3, 24.3)).whileDown)
	cut = span{at(30), at(33)}
	require.Empty(t, outage(taintedAt(1, 17.1, 17.2)).whileDown, "only the machine was busy")
}

// A node may be declared once its lease was not renewed for the grace period,
// whatever kept it from that.
func TestSummaryDeclarationNeedsSilence(t *testing.T) {
	declared := func(decided float64) *verdict {
		h := historyOf(taintSpan{})
		n := h.node("node-a00")
		n.beats = []time.Time{at(1), at(5.5), at(12)}
		n.reports = []report{
			{corev1.ConditionTrue, at(1), at(1)},
			{corev1.ConditionUnknown, at(decided).Truncate(time.Second), at(decided + 1)},
		}
		return h.judge(demoRules, played{})
	}
	require.NotEmpty(t, declared(8.2).alive)
	require.Empty(t, declared(9.6).alive)
	require.Empty(t, declared(11.9).alive, "it was silent, though it is heard before the write")
}

func TestSummaryTaintNeedsANodeThatIsNotReady(t *testing.T) {
	tainted := func(decided float64) *verdict {
		h := historyOf(taintedAt(9, decided, decided+1))
		h.node("node-a00").reports = []report{
			{corev1.ConditionTrue, at(1), at(1)},
			{corev1.ConditionUnknown, at(5), at(5.5)},
			{corev1.ConditionTrue, at(10), at(10.5)},
		}
		return h.judge(demoRules, played{})
	}
	require.Empty(t, tainted(6).ready)
	require.Empty(t, tainted(9).ready)
	require.Empty(t, tainted(13).ready, "the report is stored, and not heard yet")
	require.NotEmpty(t, tainted(15).ready)
}

// The history has the times of the API server, whenever it is read.
func TestHistoryHasTheTimesOfTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		started := time.Now()
		pass := func() { time.Sleep(time.Second) }
		nodes := cluster.CoreV1().Nodes()
		node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a00"}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, addPod(t.Context(), cluster, "node-a00-0", "node-a00", patient))
		pass()
		leases := cluster.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		_, err = leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node-a00"}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		pass()
		added := metav1.NewTime(started.Add(time.Second))
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute,
			TimeAdded: &added}}
		node, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		pass()
		require.NoError(t, cluster.CoreV1().Pods(metav1.NamespaceDefault).
			Delete(t.Context(), "node-a00-0", metav1.DeleteOptions{}))
		pass()
		node.Spec.Taints = nil
		_, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Hour)

		h := newHistory(cluster, time.Now())
		n := h.nodes["node-a00"]
		require.Len(t, n.tainted, 1)
		require.True(t, n.tainted[0].added.Equal(added.Truncate(time.Second)))
		require.Equal(t, 2*time.Second, n.tainted[0].stored.Sub(started))
		require.Equal(t, 4*time.Second, n.tainted[0].end.Sub(started))
		require.Len(t, n.beats, 1)
		require.Equal(t, time.Second, n.beats[0].Sub(started))
		p := h.pods["node-a00-0"]
		require.True(t, p.gone)
		require.Equal(t, 3*time.Second, p.stored.Sub(started))
		require.Greater(t, p.version, n.tainted[0].from)
		require.Equal(t, patient, p.patience)
	})
}
