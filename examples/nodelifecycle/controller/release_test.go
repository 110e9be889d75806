package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// A write that fails costs its token. So an API server that comes back is not
// met with all that has failed (design Q3, Z1).
func TestFailedTaintsComeBackAtTheRate(t *testing.T) {
	w := active(t, "a", "b")
	for _, name := range []string{"a-000", "a-001", "a-002"} {
		w.silent[name] = true
	}
	w.advance(grace - interval/2)
	w.fail = func(a any) error {
		if patch, ok := a.(NodeChange); ok && patch.Released {
			return errServer
		}
		return nil
	}
	w.advance(5 * time.Minute)
	w.fail = nil
	w.done = nil
	back := w.now
	w.advance(2 * time.Minute)
	released := times(w, back, patchesTaints)
	require.Len(t, released, 3, "none is lost")
	for i := 1; i < len(released); i++ {
		require.GreaterOrEqual(t, released[i]-released[i-1], 10*time.Second-time.Microsecond, "no burst")
	}
}

// A node that is back while its taint is being written, which then fails, waits
// for no taint any more. When it falls again it is a new disruption, whose
// extent has to be known first.
func TestReleaseThatFailedDoesNotOutliveTheRecovery(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	released := false
	w.fail = func(task any) error {
		patch, is := task.(NodeChange)
		if !is || !patch.Released {
			return nil
		}
		released, w.fail = true, nil
		w.silent["a-000"] = false
		w.beat("a-000") // while the write is under way
		return errServer
	}
	for range 100 {
		if w.advance(time.Second); released {
			break
		}
	}
	require.True(t, released)
	require.Zero(t, w.c.Queued(w.c.objects.nodes["a-000"].zone))
}

// ill has nodes reported as not ready, and no others after that. It returns
// when the extent of that is known: when the first of them may get its
// NoExecute taint.
func (w *world) ill(names ...string) (known time.Time) {
	for _, name := range names {
		w.silent[name] = true
		w.report(name, corev1.ConditionFalse)
	}
	w.act()
	return w.now.Add(interval)
}

// write begins a write of a node, which has no answer until finish is
// called.
func (w *world) write(name string) (finish func()) {
	cordoned := w.nodes[name].DeepCopy()
	cordoned.Spec.Unschedulable = true
	w.setNode(cordoned)
	writing, ok := w.jobs.Start(w.now)
	require.True(w.t, ok)
	require.Equal(w.t, name, writing.Task().(NodeChange).Node.Name)
	return func() { w.finish(writing) }
}

// releases returns which nodes got a NoExecute taint, and when.
func (w *world) releases(since time.Time) (names []string, at []time.Duration) {
	for _, d := range w.done {
		if patch, is := d.task.(NodeChange); is && patch.Released {
			names, at = append(names, patch.Node.Name), append(at, d.at.Sub(since).Round(time.Millisecond))
		}
	}
	return names, at
}

// Found by the simulation (seed 513424). A node got its token while another
// write of it was under way, and did not need it any more when that ended. Then
// two tokens were used in the same moment: the one given back and the one that
// the zone had earned meanwhile (design Q3).
func TestTokenIsNotUsedForANodeThatIsBeingWritten(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001", "a-002", "a-003")
	finish := w.write("a-000")
	w.advance(interval + 20*time.Second)
	tainted := w.nodes["a-000"].DeepCopy() // by another client
	tainted.Spec.Taints = append(tainted.Spec.Taints,
		corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute})
	w.setNode(tainted)
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001", "a-002", "a-003"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, at)
	require.Zero(t, w.c.Queued(w.c.objects.nodes["a-000"].zone))
}

// Its turn comes when the write is over, before those of nodes that fell with
// it.
func TestNodeThatIsBeingWrittenKeepsItsPlace(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001", "a-002", "a-003")
	finish := w.write("a-001")
	w.advance(interval + 15*time.Second)
	require.Equal(t, 2, w.c.Queued(w.c.objects.nodes["a-001"].zone), "it waits as before")
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-000", "a-002", "a-001", "a-003"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}, at)
}

// Also when the write fails, and is tried again only after a while.
func TestNodeThatCouldNotBeWrittenHasItsTurn(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001")
	finish := w.write("a-000")
	w.advance(interval + 5*time.Second)
	w.fail = func(task any) error {
		if patch, is := task.(NodeChange); is && !patch.Released {
			return errServer
		}
		return nil
	}
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001", "a-000"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second}, at)
}

// A node that recovers while it is being written costs no token. When it falls
// again it does not have the turn that it has passed. That is a new disruption,
// whose extent has to be known first.
func TestTurnThatWasPassedDoesNotOutliveTheRecovery(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000")
	finish := w.write("a-000")
	w.advance(interval + time.Second)
	w.report("a-000", corev1.ConditionTrue)
	require.Zero(t, w.c.Queued(w.c.objects.nodes["a-000"].zone))
	w.advance(time.Second)
	w.report("a-000", corev1.ConditionFalse)
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-000"}, names)
	require.Equal(t, []time.Duration{2*time.Second + interval}, at)
}

// Found by the simulation (seed 513424): nodes of several zones had their
// tokens when one worker was free. The others were written later, each together
// with the next of its zone.
func TestTokenIsUsedWhenTheTaintIsWrittenAndNotBefore(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001", "b-000", "b-001")
	w.now = known
	w.report("b-002", corev1.ConditionFalse) // others also need a write
	busy, ok := w.jobs.Start(w.now)          // all workers are, until
	require.True(t, ok)
	require.True(t, is(busy.Task(), releasesTaint))
	first := busy.Task().(NodeChange).Node.Name
	w.now = known.Add(10 * time.Second)
	w.finish(busy)
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, "a-000", first)
	require.Equal(t, []string{"a-001", "b-000", "b-001"}, names)
	require.Equal(t, []time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second}, at)
}

// The taint of a node that is deleted while it is written may have got through,
// and its pods may be leaving.
func TestTaintOfANodeThatIsDeletedMeanwhileCostsItsToken(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001")
	w.now = known
	writing, ok := w.jobs.Start(w.now)
	require.True(t, ok)
	require.True(t, is(writing.Task(), releasesTaint))
	w.deleteNode("a-000")
	w.advance(time.Second)
	w.finish(writing)
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001"}, names)
	require.Equal(t, []time.Duration{10 * time.Second}, at)
}

// A node that is recreated under its name during a write waits for the end of
// the write. The two writes are of one name, and the first may be guarded by
// nothing but the UID.
func TestTokenIsNotUsedForANodeWhoseFormerSelfIsBeingWritten(t *testing.T) {
	w := active(t, "a", "b")
	w.ill("a-000", "a-001")
	finish := w.write("a-000")
	w.deleteNode("a-000")
	w.addNode("a-000", "a")
	known := w.ill("a-000", "a-002")
	w.advance(interval + 15*time.Second)
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001", "a-002", "a-000"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, at)
}

func TestNodeMovesZoneWhileItWaits(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	w.advance(grace - interval/2)
	node := w.nodes["a-000"].DeepCopy()
	node.Labels[corev1.LabelTopologyZone] = "b"
	w.setNode(node)
	require.Equal(t, 1, w.c.Queued(w.c.objects.nodes["a-000"].zone))
	w.advance(2 * interval)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
}

// The API accepts any text as the status of a condition. Such a node is not
// ready, and there is no taint for it.
func TestStatusThatNoTaintStandsForTakesNoToken(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001")
	w.report("a-000", "Confused")
	w.advance(interval + 20*time.Second) // a-000 is not silent yet
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001"}, names)
	require.Equal(t, []time.Duration{0}, at)
}

// A recreated node has its turn when the write of its former self is over. It
// has it even if it needs no other write than that of its turn.
func TestTokenIsNotTakenDuringAWriteOfTheFormerNode(t *testing.T) {
	w := active(t, "a", "b")
	finish := w.write("a-000")
	w.deleteNode("a-000")
	tainted := w.addNode("a-000", "a").DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.setNode(tainted)
	known := w.ill("a-000", "a-001", "a-002")
	w.advance(interval + 15*time.Second)
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001", "a-002", "a-000"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, at)
}

// A node recovers and falls again while its taint is being written, which then
// fails. That is a new disruption, whose extent has to be known first.
func TestReleaseThatFailedDoesNotOutliveAnotherFall(t *testing.T) {
	w := newWorld(t, Config{Zone: zone.Config{Rate: func(zone.State, zone.Counts) float64 { return 10 }}})
	w.addNodes(10, "a")
	w.addNodes(10, "b")
	w.start()
	w.advance(grace + interval)
	w.done = nil
	w.now = w.ill("a-000")
	var fell time.Time
	w.fail = func(task any) error {
		if patch, is := task.(NodeChange); !is || !patch.Released {
			return nil
		}
		w.fail = nil
		w.report("a-000", corev1.ConditionTrue)
		w.report("a-000", corev1.ConditionFalse)
		fell = w.now
		return errServer
	}
	w.advance(time.Minute)
	require.False(t, fell.IsZero())
	var written []time.Duration
	for _, d := range w.done {
		if patch, is := d.task.(NodeChange); is && patch.Released && d.err == nil {
			written = append(written, d.at.Sub(fell))
		}
	}
	require.Equal(t, []time.Duration{interval}, written)
}

// A zone whose nodes come back has its rate again with the first of them. The
// others live too, once they are heard, and need only write that down: none is
// tainted in between. One that falls silent again waits for its zone again.
func TestANodeThatIsHeardAgainGetsNoNoExecuteTaint(t *testing.T) {
	for _, recovery := range []time.Duration{0, time.Minute} {
		w := newWorld(t, Config{
			Health: nodehealth.Config{RecoveryPeriod: recovery},
			Zone: zone.Config{Rate: func(state zone.State, _ zone.Counts) float64 {
				if state == zone.PartialDisruption {
					return 0
				}
				return 0.1
			}},
		})
		w.addNodes(5, "a")
		w.addNodes(5, "b")
		w.start()
		w.advance(grace)
		fallen := w.names()[:4]
		for _, name := range fallen {
			w.silent[name] = true
		}
		w.advance(10 * time.Minute)
		names, _ := w.releases(w.now)
		require.Empty(t, names, "four of five: the rate is zero")

		heard := fallen[2:]
		for range 20 { // their kubelets have yet to report that they are ready
			for _, name := range heard {
				w.renew(name)
			}
			w.advance(interval)
			for _, name := range fallen[:2] {
				w.silent[name] = false
			}
		}
		names, _ = w.releases(w.now)
		require.Empty(t, names)
		w.advance(10 * time.Minute)
		names, _ = w.releases(w.now)
		require.ElementsMatch(t, heard, names, "they are silent again")
	}
}

// renew renews the lease of a node, and does not report its status.
func (w *world) renew(name string) {
	renewed := metav1.NewMicroTime(w.now)
	lease := w.leases[name].DeepCopy()
	lease.Spec.RenewTime = &renewed
	w.stamp(&lease.ObjectMeta)
	w.leases[name] = lease
	w.c.ObserveLease(w.now, lease)
}

// A difference from kube-controller-manager: a zone that had no rate has its
// first token when it gets one.
func TestTheFirstNodeAfterARateOfZeroIsTaintedAtOnce(t *testing.T) {
	perSecond := 0.0
	w := newWorld(t, Config{Zone: zone.Config{Rate: func(zone.State, zone.Counts) float64 { return perSecond }}})
	w.addNodes(10, "a")
	w.addNodes(10, "b")
	w.start()
	w.advance(grace + interval)
	w.ill("a-000", "a-001")
	w.advance(time.Hour)
	names, _ := w.releases(w.now)
	require.Empty(t, names)

	perSecond = 0.1
	raised := w.now
	w.beat("a-002")
	w.report("a-003", corev1.ConditionFalse) // the zone is evaluated again
	w.advance(15 * time.Second)
	names, at := w.releases(raised)
	require.Equal(t, []string{"a-000", "a-001"}, names)
	require.Less(t, at[0], interval+time.Second, "not after another ten seconds")
	require.Equal(t, 10*time.Second, at[1]-at[0])
}
