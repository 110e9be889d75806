package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// slow returns a world of zones of so many nodes, in which nodes may be acted
// against. It has two requests a second: as for ten times as many nodes with
// 20.
func slow(t *testing.T, size int, zones ...string) *world {
	w := newWorld(t, Config{Requests: RequestBudget{PerSecond: 2, Burst: 3}})
	for _, name := range zones {
		for _, node := range w.addNodes(size, name) {
			w.addPod("web-"+node, node)
		}
	}
	w.start()
	w.advance(grace + interval)
	w.done = nil
	return w
}

func (w *world) silence(zone string) {
	for _, name := range w.names() {
		if zone == "" || name[:len(zone)] == zone {
			w.silent[name] = true
		}
	}
}

// until lets time pass until an action is handed out, which it does not
// perform. All nodes that are not silent beat all the time.
func (w *world) until(stop func(task any) bool) timedqueue.Job {
	for range 10_000 {
		task, ok := w.jobs.Start(w.now)
		switch {
		case ok && stop(task.Task()):
			return task
		case ok:
			w.finish(task)
			continue
		}
		if next, ok := w.jobs.Next(w.now); ok && next.After(w.now) {
			w.now = next
		}
		for _, name := range w.names() {
			if !w.silent[name] {
				w.beat(name)
			}
		}
	}
	w.t.Fatal("it is not handed out")
	return timedqueue.Job{}
}

// untainted reports whether no node has our NoExecute taint.
func (w *world) untainted() bool {
	for _, node := range w.nodes {
		if hasNoExecute(node.Spec.Taints) {
			return false
		}
	}
	return true
}

// Z6: that all zones are down is known when the last node has expired, however
// long it takes to write that.
func TestZ6AClusterIsSuspendedBeforeItsNodesAreDeclared(t *testing.T) {
	w := slow(t, 100, "a", "b", "c")
	w.silence("")
	w.advance(grace + interval + time.Second)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	require.Less(t, len(deeds[Declaration](w)), 30, "the writes go on")
	w.advance(10 * time.Minute)
	require.Len(t, deeds[Declaration](w), 300)
	require.Empty(t, deeds[eviction.Task](w))
	require.True(t, w.untainted())
	for _, patch := range deeds(w, patchesTaints) {
		require.False(t, patch.Released)
	}
}

// Z6: a lost zone is known to be lost at once, and evictions elsewhere do not
// wait for its declarations.
func TestZ6ALostZoneIsKnownBeforeItsNodesAreDeclared(t *testing.T) {
	w := slow(t, 100, "a", "b")
	w.silence("a")
	w.advance(grace + interval + time.Second)
	require.Equal(t, zone.Status{
		Zone: ":\x00:a", State: zone.FullDisruption, Counts: zone.Counts{NotReady: 100}, Rate: 0.1,
	}, w.c.Zones()[0])
	require.Equal(t, zone.PhaseActive, w.c.Phase())
}

// H4: one request tells that it is the watch that is silent, not the nodes.
func TestH4ASilentWatchCostsOneListAndDeclaresNothing(t *testing.T) {
	w := slow(t, 100, "a", "b", "c")
	w.blind = true
	w.advance(grace + interval)
	require.Empty(t, deeds[Declaration](w))
	require.True(t, w.untainted())
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	reads := len(deeds(w, readsOne)) + len(deeds(w, readsAll))
	require.LessOrEqual(t, reads, 4*int(interval/time.Second)+4, "at most three reads and a list a second")
	require.NotEmpty(t, deeds(w, readsAll))
}

// H4: a node that dies while the watch is silent is declared nevertheless. A
// version that a live read has shown once is no sign of life the next time.
func TestH4ANodeThatDiesBehindASilentWatchIsDeclared(t *testing.T) {
	w := active(t, "a", "b")
	w.blind = true
	w.advance(interval)
	w.silent["a-003"] = true
	w.advance(3 * grace)
	var declared []string
	for _, d := range deeds[Declaration](w) {
		declared = append(declared, d.Node.Name)
	}
	require.Equal(t, []string{"a-003"}, declared)
}

// Z6: while the leases cannot be read, all that depends on them is held, and
// nothing else.
func TestZ6AnUnconfirmedOutageHolds(t *testing.T) {
	w := newWorld(t, Config{})
	for _, node := range w.addNodes(3, "a") {
		w.addPod("web-"+node, node, tolerate(30))
	}
	w.start()
	w.advance(grace + interval)
	w.silent["a-000"] = true
	w.advance(grace + interval + 12*time.Second)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute)
	require.Contains(t, w.pods, w.c.objects.podsOn["a-000"][0].object.UID, "it tolerates that for 30 s")

	unreadable := true
	w.fail = func(task any) error {
		if is[LeaseRead](task) && unreadable {
			return errServer
		}
		return nil
	}
	w.silence("")
	w.now = w.now.Add(grace) // in one moment: nothing was handed out since
	w.done = nil
	w.advance(10 * time.Minute)
	require.Equal(t, zone.PhaseHolding, w.c.Phase())
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute, "no taint is removed")
	require.Empty(t, deeds[eviction.Task](w), "no eviction for ours")
	require.Empty(t, deeds[Declaration](w))
	require.Empty(t, deeds(w, patchesTaints))

	unreadable = false
	w.advance(2 * time.Minute) // the longest backoff
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	require.True(t, w.untainted())
	require.Len(t, deeds[Declaration](w), 2)
	require.Empty(t, deeds[eviction.Task](w))
}

// H4: a confirmation does not count for ever. A node that has come back since,
// while the watch is behind, is not declared.
func TestH4AConfirmationThatIsTooOldIsConfirmedAgain(t *testing.T) {
	w := slow(t, 100, "a", "b")
	w.silence("a")
	w.advance(grace + interval + time.Second)
	declared := len(deeds[Declaration](w))
	require.Less(t, declared, 50)
	w.blind = true
	for _, name := range w.names() {
		w.silent[name] = false
		w.next[name] = w.now.Add(time.Second)
	}
	w.advance(confirmationLasts)
	late := len(deeds[Declaration](w))
	w.done = nil
	w.advance(2 * grace)
	require.Empty(t, deeds[Declaration](w), "of %d declared before, %d since they were back", declared, late-declared)
}

// A heartbeat that comes while the declaration is under way counts.
func TestH5ANodeIsHeardWhileItIsBeingDeclared(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	task := w.until(like[Declaration]())
	require.Equal(t, zone.Counts{Ready: 9, NotReady: 1}, w.c.Zones()[0].Counts)
	w.silent["a-000"] = false
	w.beat("a-000")
	require.Equal(t, zone.Counts{Ready: 10}, w.c.Zones()[0].Counts, "it counts at once")
	w.finish(task)
	require.Equal(t, corev1.ConditionUnknown, w.nodes["a-000"].Status.Conditions[0].Status,
		"the write could not know")
	require.Nil(t, w.c.objects.nodes["a-000"].silence)
	w.next["a-000"] = w.now.Add(time.Second)
	w.advance(time.Minute)
	require.Empty(t, w.taintsOf("a-000"))
}

// H5: what is under way for a node that is deleted says nothing of the node
// that has its name next.
func TestH5ARecreatedNodeHasNoSilenceOfItsPredecessor(t *testing.T) {
	for name, stop := range map[string]func(any) bool{
		"while it is read":     like(readsOne),
		"while it is declared": like[Declaration](),
	} {
		t.Run(name, func(t *testing.T) {
			w := active(t, "a", "b")
			w.silent["a-000"] = true
			underWay := w.until(stop)
			w.deleteNode("a-000")
			w.silent["a-000"] = false
			w.addNode("a-000", "a")
			w.finish(underWay)
			require.Nil(t, w.c.objects.nodes["a-000"].silence)
			require.True(t, w.c.objects.nodes["a-000"].counts.Ready)
			w.silent["a-000"] = true
			w.done = nil
			w.advance(grace + 2*interval)
			require.Len(t, deeds[Declaration](w), 1, "it is silent itself")
		})
	}
}

// C3: no Start visits more than mostVisited nodes, however many fall silent in
// one moment.
func TestC3NodesThatFallSilentAreTakenInSlices(t *testing.T) {
	const size = 5000
	w := newWorld(t, Config{})
	for i := range size + 1 {
		node := w.addNode(zoneNode(i), "a")
		if i == size {
			node.Labels[corev1.LabelTopologyZone] = "b"
			w.setNode(node)
		}
	}
	w.start()
	w.c.told.events = nil
	w.now = w.now.Add(grace - time.Second)
	w.beat(zoneNode(size)) // the other zone lives
	w.now = w.now.Add(time.Second)
	for taken := mostVisited; taken < size; taken += mostVisited {
		_, ok := w.jobs.Start(w.now)
		require.False(t, ok, "nothing is handed out before all are known")
		require.Len(t, w.c.silences.reads.suspects, taken)
		next, _ := w.jobs.Next(w.now)
		require.False(t, next.After(w.now))
	}
	var list timedqueue.Job
	for ok := false; !ok; {
		list, ok = w.jobs.Start(w.now)
	}
	require.True(t, is(list.Task(), readsAll))
	require.Equal(t, zone.Counts{Unconfirmed: size}, w.c.Zones()[0].Counts)
	w.finish(list)
	for left := size - mostVisited; left > 0; left -= mostVisited {
		_, ok := w.jobs.Start(w.now)
		require.False(t, ok)
		require.Len(t, w.c.silences.reads.suspects, left)
	}
	task, ok := w.jobs.Start(w.now)
	for !ok {
		task, ok = w.jobs.Start(w.now)
	}
	require.IsType(t, Declaration{}, task.Task())
	require.Equal(t, zone.Counts{NotReady: size}, w.c.Zones()[0].Counts)
}

func zoneNode(i int) string { return "n" + time.Duration(i).String() }

// C3: all nodes are planned again in slices, and what was planned for another
// phase is not written meanwhile.
func TestC3NodesArePlannedAgainInSlices(t *testing.T) {
	const size = 3 * mostVisited
	w := newWorld(t, Config{})
	for i := range size {
		w.addNode(zoneNode(i), "a")
	}
	w.start()
	w.act()
	for _, name := range w.names() {
		w.report(name, corev1.ConditionFalse)
	}
	w.suspend()
	for left := size; left > 0; left -= mostVisited {
		require.Equal(t, left, w.c.unswept)
		w.c.sweep(w.now)
	}
	require.Zero(t, w.c.unswept)
}

// Z6: a list says nothing of a node that falls silent after the list was asked
// for.
func TestZ6AListConfirmsOnlyWhatWasSilentBefore(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(20, "a")
	w.start()
	w.advance(grace + interval)
	w.now = w.now.Add(grace - time.Second)
	w.beat("a-007")
	w.silence("")
	w.now = w.now.Add(time.Second)
	list := w.until(like(readsAll))
	w.perform(list)
	w.now = w.now.Add(grace)
	w.c.collect(w.now)
	list.Finish(w.now)
	w.c.compare(w.now)
	require.Equal(t, suspected, w.c.objects.nodes["a-007"].silence.state)
	require.Equal(t, confirmed, w.c.objects.nodes["a-019"].silence.state)
}

// Z3: what was planned before the suspension is not written after it, even if
// the node was not planned again yet.
func TestC3AWritePlannedBeforeASuspensionIsPlannedAgain(t *testing.T) {
	w := suspended(t) // a-000 has our NoExecute taint
	w.fail = func(task any) error {
		if is(task, patchesTaints) {
			return errServer
		}
		return nil
	}
	w.report("a-000", corev1.ConditionFalse)
	w.act()
	require.Equal(t, due, w.c.objects.nodes["a-000"].state, "the other key of the lineage")
	w.suspend()
	w.c.unswept = 0 // the sweep has not come to it
	w.fail = nil
	w.c.writes.queue.Retry("a-000")
	change, ok := otherWriter{writer{w.c}}.Start(w.now)
	require.True(t, ok)
	require.Equal(t, NodeActionTaint, change.Action)
	require.False(t, hasNoExecute(change.Taints))
}

// H4: a silence was found in the first moments of blindness. A read that comes
// after it does not confirm it: the node could not beat.
func TestH4ASilenceThatEndedInBlindnessIsNotConfirmed(t *testing.T) {
	w := newWorld(t, Config{Health: nodehealth.Config{SightTimeout: 5 * time.Second}})
	w.addNodes(3, "a")
	w.start()
	w.c.Answered(w.now, w.now)
	w.beat("a-000")
	for range 19 {
		w.now = w.now.Add(2 * time.Second)
		w.c.Answered(w.now, w.now)
		w.beat("a-001")
		w.beat("a-002")
		w.act()
	}
	w.now = w.now.Add(3 * time.Second) // without an answer
	read, ok := w.jobs.Start(w.now)
	require.True(t, ok)
	require.True(t, is(read.Task(), readsOne))
	w.now = w.now.Add(10 * time.Second)
	w.c.Answered(w.now, w.now)
	w.finish(read)
	require.Equal(t, suspected, w.c.objects.nodes["a-000"].silence.state)
	w.act()
	require.Empty(t, deeds[Declaration](w))
	w.beat("a-000")
	require.Nil(t, w.c.objects.nodes["a-000"].silence)
}

// Z6: the pods of a node that is being emptied stay while all zones may be
// down.
func TestZ6AnUnconfirmedOutageHoldsTheEvictionOfNodes(t *testing.T) {
	w := byNode(t, "a", "b")
	evictions := 0
	w.fail = func(task any) error {
		switch task.(type) {
		case eviction.Task:
			evictions++
			return errServer
		case LeaseRead:
			return errServer
		}
		return nil
	}
	w.report("a-000", corev1.ConditionFalse)
	w.next["a-000"] = w.now.Add(time.Hour)
	for range 10 {
		w.advance(time.Minute)
	}
	require.True(t, w.c.objects.nodes["a-000"].emptied)
	require.NotZero(t, evictions)
	w.silence("")
	w.now = w.now.Add(grace)
	evictions = 0
	w.advance(10 * time.Minute)
	require.Equal(t, zone.PhaseHolding, w.c.Phase())
	require.Zero(t, evictions)
}
