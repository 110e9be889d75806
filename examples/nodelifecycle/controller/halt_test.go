package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// C7: a halt holds every eviction and every NoExecute taint at once, and lets
// all else go on. Nothing is lost: afterwards nodes are tainted at the rate of
// their zone, and pods whose time has come leave.
func TestC7AHaltHoldsEvictionsAndNoExecuteTaints(t *testing.T) {
	w := newWorld(t, Config{})
	for _, name := range []string{"a", "b"} {
		for _, node := range w.addNodes(10, name) {
			w.addPod("web-"+node, node, tolerate(30))
		}
	}
	w.start()
	w.advance(grace + interval)
	w.ill("a-000", "a-001", "a-002", "a-003")
	w.advance(interval + 10*time.Second)
	before, _ := w.releases(time.Time{})
	require.NotEmpty(t, before)
	require.Less(t, len(before), 3, "others wait")

	w.done = nil
	w.c.Halt(w.now)
	require.True(t, w.c.Halted())
	began := w.now
	w.silent["b-000"] = true
	w.advance(10 * time.Minute)
	require.Empty(t, times[eviction.Task](w, began))
	names, _ := w.releases(began)
	require.Empty(t, names)
	require.Contains(t, w.taintsOf("b-000"), unreachableNoSchedule, "it was declared, and gets no new pods")
	require.Contains(t, w.taintsOf(before[0]), unreachableNoExecute, "it stays")
	require.NotEmpty(t, times(w, began, marksPod), "its pods get no requests")
	w.back(before[0])
	w.advance(10 * time.Second)
	require.Empty(t, w.taintsOf(before[0]), "it has recovered")

	resumed := w.now
	w.done = nil
	w.c.Resume(w.now)
	w.act()
	w.advance(25 * time.Second)
	names, at := w.releases(resumed)
	require.Len(t, names, 3)
	require.Equal(t, []time.Duration{0, 0, 10 * time.Second}, rounded(at), "a token each zone has saved, and its rate")
	w.advance(time.Minute)
	require.Len(t, times[eviction.Task](w, resumed), 4)
}

// C7: an eviction that is under way makes no further call.
func TestC7AHaltReachesAnEvictionUnderWay(t *testing.T) {
	w := active(t, "a", "b")
	w.addPod("p", "a-000")
	node := w.nodes["a-000"].DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(node)
	task, ok := w.jobs.Start(w.now)
	require.True(t, ok)
	evict, is := task.Task().(eviction.Task)
	require.True(t, is)
	require.False(t, evict.Canceled())
	w.c.Halt(w.now)
	require.True(t, evict.Canceled())
	w.finishEviction(task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	w.advance(time.Minute)
	require.Empty(t, times[eviction.Task](w, time.Time{}))
	w.c.Resume(w.now)
	w.advance(time.Second)
	require.Contains(t, w.evicted(w.now), evict.Pod.Name)
}

// C7: pods of nodes that are emptied stay during a halt as well.
func TestC7AHaltHoldsTheEvictionsOfWholeNodes(t *testing.T) {
	w := byNode(t, "a", "b")
	w.start()
	w.advance(grace + interval)
	w.ill("a-000")
	w.advance(timeout / 2)
	w.c.Halt(w.now)
	w.advance(10 * timeout)
	require.Empty(t, w.evicted(w.now))
	resumed := w.now
	w.c.Resume(w.now)
	w.act()
	w.advance(time.Second)
	require.NotEmpty(t, w.evicted(resumed))
}
