package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// suspended returns a world in which two nodes of zone a have been tainted and
// then all nodes fall silent.
func suspended(t *testing.T) *world {
	w := active(t, "a", "b")
	w.silent["a-000"], w.silent["a-001"] = true, true
	w.advance(grace + interval + 12*time.Second)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
	require.Contains(t, w.taintsOf("a-001"), unreachableNoExecute)
	return w
}

// Z3, kubernetes #70501: while every zone is down no node is tainted or
// evicted, and the taints that we have set go.
func TestZ3TaintsGoWhenEveryZoneIsDown(t *testing.T) {
	w := suspended(t)
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.done = nil
	w.advance(grace)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	for _, name := range w.names() {
		require.NotContains(t, w.taintsOf(name), unreachableNoExecute, name)
		require.Contains(t, w.taintsOf(name), unreachableNoSchedule, name)
	}
	w.done = nil
	w.advance(10 * time.Minute)
	require.Empty(t, w.done)
}

// An administrator's taint still acts while everything of ours is suspended.
func TestZ3AdministratorsTaintsStillAct(t *testing.T) {
	w := newWorld(t, Config{})
	for _, node := range w.addNodes(3, "a") {
		w.addPod("web-"+node, node) // tolerates nothing
	}
	w.start()
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.advance(2 * grace)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	require.Empty(t, deeds[eviction.Task](w))
	node := w.nodes["a-001"].DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	w.setNode(node)
	w.advance(time.Second)
	evicted := deeds[eviction.Task](w)
	require.Len(t, evicted, 1)
	require.Equal(t, eviction.ReasonUntolerated, evicted[0].Decision.Reason)
	require.Equal(t, "web-a-001", evicted[0].Pod.Name)
}

// Timers that our taints have started are held while the taints cannot be taken
// away (enhancements #5263).
func TestZ3RunningTimersAreHeldUntilTheTaintsAreGone(t *testing.T) {
	w := suspended(t)
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.fail = func(a any) error {
		if patch, ok := a.(NodeChange); ok && !hasNoExecute(patch.Taints) && w.c.Phase() == zone.PhaseSuspended {
			return errServer
		}
		return nil
	}
	w.advance(grace)
	w.done = nil
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	w.advance(10 * time.Minute) // far beyond the tolerations
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute, "it could not be taken away")
	require.Empty(t, deeds[eviction.Task](w))
}

// Leaving the suspension: nothing for a full grace period, then at the rate.
func TestZ3NothingForAGracePeriodAfterAndNoBurst(t *testing.T) {
	w := suspended(t)
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.advance(2 * grace)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	for _, name := range w.names() {
		w.silent[name] = name < "a-003" // three stay dead
		w.next[name] = w.now
	}
	w.done = nil
	back := w.now
	w.advance(5 * time.Minute)
	var released []time.Duration
	for _, d := range w.done {
		if patch, ok := d.task.(NodeChange); ok && patch.Released {
			released = append(released, d.at.Sub(back))
		}
	}
	require.Len(t, released, 3)
	require.GreaterOrEqual(t, released[0], grace)
	for i := 1; i < len(released); i++ {
		require.GreaterOrEqual(t, released[i]-released[i-1], 10*time.Second-time.Microsecond)
	}
}

// Z5: the nodes of a zone that dies expire one after the other. None of them is
// tainted before all have, when the zone is seen to be dead.
func TestZ5DisruptionIsEvaluatedBeforeItIsActedOn(t *testing.T) {
	w := newWorld(t, Config{Zone: zone.Config{Rate: func(s zone.State, _ zone.Counts) float64 {
		if s == zone.Normal {
			return 1000
		}
		return 0
	}}})
	w.addNodes(10, "a")
	w.addNodes(10, "b")
	w.start()
	w.advance(grace + interval)
	for _, name := range w.names() {
		w.silent[name] = name < "b"
	}
	w.advance(10 * time.Minute)
	for _, name := range w.names() {
		require.NotContains(t, w.taintsOf(name), unreachableNoExecute, "the zone's rate is zero once it is known to be dead")
	}
}

// Found by the simulation (seed 6396 of the first 10,000, 2026-11-21). The last
// ready node was Unknown for two seconds. All workers were busy with an API
// server that took long to answer, so none asked for work meanwhile.
func TestZ3OutageIsNoticedWhileAllWorkersAreBusy(t *testing.T) {
	w := active(t, "a")
	for _, name := range w.names() {
		w.report(name, corev1.ConditionFalse)
	}
	require.Equal(t, zone.PhaseActive, w.c.zones.tracker.Phase(), "it was not asked")
	w.now = w.now.Add(2 * time.Second)
	for _, name := range w.names() {
		w.report(name, corev1.ConditionTrue)
	}
	w.act()
	require.Equal(t, zone.PhaseRecovering, w.c.Phase())
}

// Found by the simulation (seed 543047). A pod was marked when the last ready
// node was seen to fall, and was deleted all the same. All workers were busy,
// so the zones were not evaluated in between.
func TestZ3EvictionsUnderWayStopWhenNoNodeIsReady(t *testing.T) {
	evicting := func() (*world, timedqueue.Job, eviction.Task) {
		w := active(t, "a")
		w.ill("a-000")
		w.advance(interval + 29*time.Second)
		w.now = w.now.Add(2 * time.Second) // the pod's toleration has ended
		for task, ok := w.jobs.Start(w.now); ok; task, ok = w.jobs.Start(w.now) {
			if evict, is := task.Task().(eviction.Task); is {
				return w, task, evict
			}
			w.finish(task)
		}
		t.Fatal("nothing is evicted")
		return nil, timedqueue.Job{}, eviction.Task{}
	}
	fall := func(w *world) {
		for _, name := range w.names() {
			if name != "a-009" {
				w.report(name, corev1.ConditionFalse)
			}
		}
	}

	w, _, evict := evicting()
	fall(w)
	require.False(t, evict.Canceled())
	w.report("a-009", corev1.ConditionFalse)
	require.True(t, evict.Canceled(), "before anybody asks what to do")

	w, _, evict = evicting()
	fall(w)
	w.deleteNode("a-009")
	require.True(t, evict.Canceled(), "nor is one that is gone")

	// If it was only for a moment it goes on.
	w, task, _ := evicting()
	fall(w)
	w.report("a-009", corev1.ConditionFalse)
	w.report("a-009", corev1.ConditionTrue)
	w.finishEviction(task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	w.advance(5 * time.Second)
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	require.NotEmpty(t, deeds[eviction.Task](w))
}

// But what a list shows between its first node and its last is not how it is.
func TestZ3OutageSeenOnlyForAMomentIsNone(t *testing.T) {
	w := active(t, "a")
	for _, name := range w.names() {
		w.report(name, corev1.ConditionFalse)
	}
	w.now = w.now.Add(100 * time.Millisecond)
	w.report("a-003", corev1.ConditionTrue)
	w.act()
	require.Equal(t, zone.PhaseActive, w.c.Phase())

	// Nor does it become longer by something that had changed before.
	w.report("a-003", corev1.ConditionTrue)
	w.report("a-004", corev1.ConditionTrue)
	w.now = w.now.Add(999 * time.Millisecond)
	w.report("a-003", corev1.ConditionFalse)
	w.report("a-004", corev1.ConditionFalse)
	w.now = w.now.Add(time.Millisecond)
	w.report("a-003", corev1.ConditionTrue)
	w.act()
	require.Equal(t, zone.PhaseActive, w.c.Phase())
}

// Z3 holds also for a node that came with our taint and for which nothing was
// said.
func TestZ3TaintOfANodeThatHasNeverReportedGoesToo(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(1, "a")
	created := w.addNode("new", "a").DeepCopy()
	w.silent["new"] = true
	created.Status.Conditions = nil
	created.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
	w.setNode(created)
	w.start()
	w.advance(time.Second)
	require.Equal(t, []string{unreachableNoExecute}, w.taintsOf("new"))
	w.report("a-000", corev1.ConditionFalse)
	w.advance(time.Second)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	require.Empty(t, w.taintsOf("new"))
}
