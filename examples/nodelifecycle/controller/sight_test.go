package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// withDeadNode returns a world of two zones, one node of which is tainted. A
// pod on it is due a minute after that.
func withDeadNode(t *testing.T) *world {
	w := withSight(t)
	w.silent["a-000"] = true
	w.run(grace + interval + 5*time.Second)
	w.addPod("web", "a-000", tolerate(int64(w.now.Sub(w.taintedAt("a-000"))/time.Second)+60))
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	w.done = nil
	return w
}

// While the API server answers nothing in time, the other nodes may be dead as
// well, and the dead one may be back. Nothing is done, though calls get
// through.
func TestH4NothingIsDoneWhileNoNodeCanBeHeard(t *testing.T) {
	w := withDeadNode(t)
	w.blind = true
	w.advance(10*time.Minute + interval/40) // no heartbeat, and no write is answered
	require.Equal(t, zone.PhaseHolding, w.c.zones.phase.obeyed)
	require.Empty(t, deeds[eviction.Task](w))
	require.Empty(t, deeds(w, patchesTaints), "and nothing is undone")
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)

	regained := w.now
	w.blind = false
	w.c.Answered(w.now, w.now)
	w.advance(interval / 20) // so that nothing else wakes it
	w.run(3 * interval)
	require.Equal(t, []time.Duration{2 * interval}, times[eviction.Task](w, regained),
		"when each node had time to be heard, to the moment")
}

// A patch that is answered proves that heartbeats could be heard, also if it was
// refused for what is stored. That it failed proves nothing, nor does a read: a
// store without space can be read, and no kubelet can write to it.
func TestH4AnAnsweredWriteIsAProof(t *testing.T) {
	guard := apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "a-000", nil)
	labels := func(w *world) {
		node := w.nodes["a-000"].DeepCopy()
		node.Labels[corev1.LabelOSStable] = "linux"
		w.setNode(node)
	}
	// job begins a job of the kind that needs what prepare does.
	job := func(prepare func(w *world), is func(task any) bool, fails error) func(w *world) (end func()) {
		return func(w *world) func() {
			prepare(w)
			begun := w.until(is)
			w.fail = func(any) error { return fails }
			return func() { w.finish(begun) }
		}
	}
	for name, test := range map[string]struct {
		begin  func(w *world) (end func())
		proves bool
	}{
		"patched": {job(labels, like(patchesLabels), nil), true},
		"pod patched": {job(func(w *world) {
			w.addPod("p", "a-000")
			node := w.nodes["a-000"].DeepCopy()
			node.Status.Conditions[0].Status = corev1.ConditionUnknown
			w.setNode(node)
		}, like(marksPod), nil), true},
		"guard refused": {job(labels, like(patchesLabels), guard), true},
		"evicted": {job(func(w *world) {
			w.addPod("p", "a-000")
			w.taint("a-000", corev1.TaintEffectNoExecute)
		}, like[eviction.Task](), nil), true},
		"failed": {job(labels, like(patchesLabels), errServer), false},
		"node read": {job(func(w *world) {
			w.c.objects.nodes["a-000"].readAt = w.now
			w.report("a-000", corev1.ConditionTrue)
		}, like(readsNode), nil), false},
		"without result": {job(labels, like(patchesLabels), errPanicked), false},
		"leases read": {func(w *world) func() {
			return func() {
				reader{w.c}.Finish(w.now, LeaseRead{}, Leases{Versions: map[string]string{"a-000": "7"}})
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := withSight(t)
			w.now = w.now.Add(sightTimeout)
			end := test.begin(w)
			w.blind = true
			w.now = w.now.Add(10 * time.Second)
			end()
			blind, now := w.c.silences.health.Blind(w.now)
			require.Equal(t, !test.proves, now)
			require.Zero(t, blind, "it was sent in time")
		})
	}
}

// While many writes fail living nodes may be missed, too: none is declared. But
// each had time to be heard, so what is due goes on.
func TestH4WritesThatFailHoldDeclarationsOnly(t *testing.T) {
	w := withDeadNode(t)
	w.silent["b-000"] = true
	for range 120 { // ten minutes
		for range 20 {
			w.c.Unanswered(w.now)
		}
		w.run(interval / 2)
		w.mustDoubt(DoubtBlind)
	}
	require.NotContains(t, w.declaredAt(), "b-000")
	require.Len(t, deeds[eviction.Task](w), 1)
	require.Equal(t, zone.PhaseActive, w.c.zones.phase.obeyed)
	w.run(2 * interval)
	require.Contains(t, w.declaredAt(), "b-000")
}

// A process does not begin with sight. What was due when it starts waits until
// each node had time to be heard: the API server may just be back.
func TestH4WhatIsDueAtTheStartWaitsForSight(t *testing.T) {
	w := withDeadNode(t)
	w.now = w.now.Add(10 * time.Minute) // it is due, and no process runs
	started := w.now
	w.start()
	w.run(10 * time.Minute)
	require.Equal(t, []time.Duration{2 * interval}, times[eviction.Task](w, started))
}

// A node that comes back while it cannot be heard keeps its pods.
func TestH4ANodeThatComesBackInBlindnessIsHeardBeforeAPodLeaves(t *testing.T) {
	w := withDeadNode(t)
	w.outage(10*time.Minute, "a-000")
	w.silent["a-000"] = false
	w.next["a-000"] = w.now.Add(interval)
	w.run(grace)
	require.Empty(t, deeds[eviction.Task](w))
	require.Empty(t, w.taintsOf("a-000"))
}

// A window in which nodes could be heard is not over because time passed in
// which they could not.
func TestZ3BlindnessBeginsAWindowAgain(t *testing.T) {
	w := withSight(t)
	w.silence("")
	w.run(grace + interval)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	w.silent["b-000"] = false
	w.run(interval)
	require.Equal(t, zone.PhaseRecovering, w.c.Phase())
	w.outage(5*time.Minute, "a-000")
	require.Empty(t, w.taintedAt("a-001"))
	regained := w.now
	w.run(3 * grace)
	require.False(t, w.taintedAt("a-001").Before(regained.Add(grace)))
}

// The same if its end comes in the blindness.
func TestZ3AWindowThatEndsInBlindnessBeginsAgain(t *testing.T) {
	w := withSight(t)
	w.silence("")
	w.run(grace + interval)
	w.silent["b-000"] = false
	w.run(interval)
	w.blind = true
	w.advance(5 * time.Minute) // calls get through, but nothing says so
	w.blind = false
	require.Equal(t, zone.PhaseActive, w.c.zones.tracker.Phase())
	require.Equal(t, zone.PhaseHolding, w.c.Phase())
	regained := w.now
	w.run(3 * grace)
	require.False(t, w.taintedAt("a-001").Before(regained.Add(grace)))
}

// After blindness the other nodes are unconfirmed until they are heard. Those
// that died in it are found silent only after a grace period.
func TestH4NothingIsDoneBeforeANodeIsHeardAfterBlindness(t *testing.T) {
	w := withDeadNode(t)
	w.outage(10*time.Minute, "a-000")
	w.silence("")
	w.run(grace / 4)
	require.Equal(t, zone.PhaseHolding, w.c.Phase())
	labeled := w.nodes["b-000"].DeepCopy()
	labeled.Labels["rack"] = "7"
	w.setNode(labeled)
	w.run(grace / 4)
	require.Equal(t, zone.PhaseHolding, w.c.Phase(), "a change of labels is no heartbeat")
	w.run(grace/2 + sightTimeout)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	require.Empty(t, deeds[eviction.Task](w))
	require.Empty(t, w.taintedAt("b-000"))
}

// A zone waits for the nodes that decide about its state, and no longer.
func TestZ6AZoneHasNoRateBeforeItsNodesAreHeardAfterBlindness(t *testing.T) {
	w := withDeadNode(t)
	w.outage(time.Minute, "a-000")
	w.silence("")
	w.run(2 * interval)
	w.beat("b-000")
	w.act()
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	rate := func() float64 { return w.c.Zones()[0].Rate }
	require.Zero(t, rate())
	w.beat("a-001")
	w.act()
	require.Zero(t, rate(), "4 of 5 may be down, which would be a partial disruption")
	w.beat("a-002")
	w.beat("a-003")
	w.act()
	require.NotZero(t, rate(), "2 of 5 would be none")
}

// A heartbeat is cheap again once its node was heard.
func TestZ6OnlyTheFirstHeartbeatAfterBlindnessIsCounted(t *testing.T) {
	w := withSight(t)
	w.outage(time.Minute, "a-000")
	w.c.Answered(w.now, w.now)
	lease := w.leases["b-000"].DeepCopy()
	observe := func() bool {
		lease.Spec.RenewTime.Time = lease.Spec.RenewTime.Add(time.Second)
		return w.c.ObserveLease(w.now, lease)
	}
	require.True(t, observe())
	require.False(t, observe())
}
