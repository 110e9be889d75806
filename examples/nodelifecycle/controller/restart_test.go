package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// H1, kubernetes #108268: a restart untaints no node and moves no deadline.
func TestRestartKeepsTaintsAndDeadlines(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	w.advance(grace + interval + 5*time.Second)
	added := timeAdded(t, w.nodes["a-000"])
	w.done = nil
	w.start()
	w.advance(added.Time.Add(29 * time.Second).Sub(w.now))
	require.Empty(t, deeds(w, patchesTaints))
	require.Empty(t, deeds[eviction.Task](w))
	w.advance(10 * time.Second)
	evicted := times[eviction.Task](w, added.Time)
	require.Len(t, evicted, 1)
	require.GreaterOrEqual(t, evicted[0], 30*time.Second)
	require.LessOrEqual(t, evicted[0], 32*time.Second)
}

// A node that is tainted but whose condition says that it is ready was left so
// by a crash. Only a beat shows that it is alive.
func TestTaintedNodeIsUntaintedByABeatOnly(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(4, "a")
	w.addNodes(4, "b")
	for _, name := range []string{"a-000", "a-001"} {
		w.beat(name)
		node := w.nodes[name]
		node.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		}
	}
	w.silent["a-001"] = true
	w.start()
	w.act()
	require.Empty(t, deeds(w, patchesTaints), "nothing is untainted at the start")
	w.advance(2 * interval)
	require.Empty(t, w.taintsOf("a-000"))
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-001"),
		"it has not been heard of")
	w.advance(2 * grace)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-001"))
	require.Equal(t, corev1.ConditionUnknown, w.nodes["a-001"].Status.Conditions[0].Status)
}

// A node that came back while no replica led keeps its pods: their deadlines
// have passed, and it is untainted by its first heartbeat. One that died again
// after its report loses them when it is found silent.
func TestPodsOfANodeThatCameBackBeforeTheStartStay(t *testing.T) {
	for _, died := range []bool{false, true} {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + interval + 5*time.Second)
		added := timeAdded(t, w.nodes["a-000"])
		node := w.nodes["a-000"].DeepCopy() // it reports, and no replica leads
		node.Status.Conditions[0].Status = corev1.ConditionTrue
		w.nodes["a-000"] = node
		w.now = added.Add(time.Minute) // its pods were due after 30 s
		w.silent["a-000"] = died
		w.done = nil
		start := w.now
		w.start()
		w.advance(grace - interval)
		require.Empty(t, deeds[eviction.Task](w), "it is said to be ready")
		w.advance(3 * interval)
		if !died {
			require.Empty(t, deeds[eviction.Task](w))
			require.Empty(t, w.taintsOf("a-000"))
			continue
		}
		require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
		require.Equal(t, added, timeAdded(t, w.nodes["a-000"]), "it is the same lineage")
		evicted := times[eviction.Task](w, start)
		require.Len(t, evicted, 1)
		require.LessOrEqual(t, evicted[0], grace+interval, "its deadline does not begin again")
	}
}

// Nodes that were found not ready and untainted wait a grace period: we may
// have started just after every zone was down.
func TestStartStabilizesBeforeNewTaints(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(5, "a")
	w.nodes["a-000"].Status.Conditions[0].Status = corev1.ConditionUnknown
	w.silent["a-000"] = true
	w.start()
	start := w.now
	w.advance(2 * grace)
	var released []time.Duration
	for _, d := range w.done {
		if patch, ok := d.task.(NodeChange); ok && patch.Released {
			released = append(released, d.at.Sub(start))
		}
	}
	require.Len(t, released, 1)
	require.GreaterOrEqual(t, released[0], grace)
}

// A live read that finds a heartbeat vouches for the node's conditions like the
// heartbeat itself. The taint of a node that is ready goes without a sweep over
// all nodes.
func TestNodeFoundAliveLosesItsTaint(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(3, "a")
	tainted := w.nodes["a-000"].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
	w.setNode(tainted)
	w.silent["a-000"] = true
	w.start()
	w.act()
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-000"),
		"it may have died after it said that it was ready")
	w.now = w.now.Add(grace)
	for reads := 0; reads < 3; { // all have been silent for so long
		task, ok := w.jobs.Start(w.now)
		require.True(t, ok)
		read, is := task.Task().(LeaseRead)
		if !is {
			w.finish(task) // the first is taken back
			continue
		}
		reads++
		w.leases[read.Node.Name] = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: read.Node.Name, ResourceVersion: "newer"},
		}
		w.finish(task)
	}
	w.act()
	require.Empty(t, deeds[Declaration](w))
	require.Empty(t, w.taintsOf("a-000"))
}
