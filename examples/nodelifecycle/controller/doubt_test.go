package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

func TestH4DoubtsFollowFromTheFacts(t *testing.T) {
	at := func(seconds int) time.Time {
		return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
	}
	facts := func(change func(*doubtFacts)) doubtFacts {
		f := doubtFacts{phase: zone.PhaseActive, phaseAt: at(50)}
		change(&f)
		return f
	}
	for name, test := range map[string]struct {
		facts  doubtFacts
		doubts []Doubt
		says   string
	}{
		"none": {facts: facts(func(*doubtFacts) {})},
		"blind": {
			facts:  facts(func(f *doubtFacts) { f.sight = nodehealth.Sight{Blind: true, LostAt: at(80)} }),
			doubts: []Doubt{{Kind: DoubtBlind, Since: at(80)}},
			says: "Since 2026-11-22T12:01:20Z the API server does not answer, or not every write, so " +
				"heartbeats may be missed: no node is declared silent. While nothing is heard none " +
				"is tainted NoExecute either, and no pod evicted for one of our taints.",
		},
		"not yet unbroken": {
			facts: facts(func(f *doubtFacts) {
				f.sight = nodehealth.Sight{LostAt: at(80), RegainedAt: at(95), CountsFrom: at(115)}
			}),
			doubts: []Doubt{{Kind: DoubtBlind, Since: at(80)}},
			says: "Since 2026-11-22T12:01:20Z the API server does not answer, or not every write, so " +
				"heartbeats may be missed: no node is declared silent. While nothing is heard none " +
				"is tainted NoExecute either, and no pod evicted for one of our taints.",
		},
		"a watch that is behind": {
			facts:  facts(func(f *doubtFacts) { f.behind = tally{3, at(90)} }),
			doubts: []Doubt{{Kind: DoubtWatch, Since: at(90), Nodes: 3}},
			says: "Since 2026-11-22T12:01:30Z the watch of leases is behind: live reads show " +
				"heartbeats of 3 silent nodes.",
		},
		"unconfirmed": {
			facts: facts(func(f *doubtFacts) {
				f.unconfirmed = tally{10, at(99)}
			}),
			doubts: []Doubt{{Kind: DoubtUnconfirmed, Since: at(99), Nodes: 10}},
			says: "Since 2026-11-22T12:01:39Z a live read of leases has yet to confirm 10 silent " +
				"nodes.",
		},
		"all zones may be down, and reads fail": {
			facts: facts(func(f *doubtFacts) {
				f.unconfirmed, f.failedAt, f.unread = tally{10, at(60)}, at(61), true
				f.phase = zone.PhaseHolding
			}),
			doubts: []Doubt{
				{Kind: DoubtUnread, Since: at(61), Nodes: 10},
				{Kind: DoubtHolding, Since: at(50), Nodes: 10},
			},
			says: "Since 2026-11-22T12:01:01Z live reads of leases fail, and leave 10 silent nodes " +
				"undeclared.",
		},
		"all zones may be down, as nothing is heard": {
			facts: facts(func(f *doubtFacts) {
				f.sight = nodehealth.Sight{Blind: true, LostAt: at(80)}
				f.phase, f.phaseAt = zone.PhaseHolding, at(86)
			}),
			doubts: []Doubt{
				{Kind: DoubtBlind, Since: at(80)},
				{Kind: DoubtHolding, Since: at(86)},
			},
			says: "Since 2026-11-22T12:01:20Z the API server does not answer, or not every write, so " +
				"heartbeats may be missed: no node is declared silent. While nothing is heard none " +
				"is tainted NoExecute either, and no pod evicted for one of our taints.",
		},
		"all zones may be down, as no node was heard yet": {
			facts: facts(func(f *doubtFacts) {
				f.phase, f.phaseAt = zone.PhaseHolding, at(90)
			}),
			doubts: []Doubt{{Kind: DoubtHolding, Since: at(90)}},
			says: "Since 2026-11-22T12:01:30Z all zones may be down, which is not confirmed: no taint " +
				"is set or removed and no pod evicted for one of ours.",
		},
		"suspended": {
			facts:  facts(func(f *doubtFacts) { f.phase = zone.PhaseSuspended }),
			doubts: []Doubt{{Kind: DoubtSuspended, Since: at(50)}},
			says: "Since 2026-11-22T12:00:50Z all zones are down: nodes are declared, and none is " +
				"tainted NoExecute.",
		},
		"recovering": {
			facts:  facts(func(f *doubtFacts) { f.phase = zone.PhaseRecovering }),
			doubts: []Doubt{{Kind: DoubtRecovering, Since: at(50)}},
			says: "Since 2026-11-22T12:00:50Z a stabilization window is under way: nodes are declared, " +
				"and none is tainted NoExecute.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			doubts := appendDoubts(nil, test.facts)
			require.Equal(t, test.doubts, doubts)
			if len(doubts) > 0 {
				require.Equal(t, test.says, doubts[0].String())
			}
		})
	}
}

// doubt returns the doubt of a kind that the controller has.
func (w *world) doubt(kind DoubtKind) (Doubt, bool) {
	for _, d := range w.c.Doubts(w.now) {
		if d.Kind == kind {
			return d, true
		}
	}
	return Doubt{}, false
}

func (w *world) mustDoubt(kind DoubtKind) Doubt {
	w.t.Helper()
	d, ok := w.doubt(kind)
	require.True(w.t, ok, "%s: %v", kind, w.c.Doubts(w.now))
	return d
}

// declaredAt returns when nodes were declared, by name.
func (w *world) declaredAt() map[string]time.Time {
	found := map[string]time.Time{}
	for _, d := range w.done {
		if task, ok := d.task.(Declaration); ok && d.err == nil {
			found[task.Node.Name] = d.at
		}
	}
	return found
}

// taintedAt returns when a node got its NoExecute taint.
func (w *world) taintedAt(name string) time.Time {
	for _, d := range w.done {
		if task, ok := d.task.(NodeChange); ok && d.err == nil && task.Released && task.Node.Name == name {
			return d.at
		}
	}
	return time.Time{}
}

func (w *world) told() (reasons []string) {
	for _, d := range w.done { // also what the API server does not take at once
		record, _ := d.task.(Record)
		if record.Reason == ReasonDoubt || record.Reason == ReasonDoubtEnded {
			require.Empty(w.t, record.Object, "it is about the controller")
			reasons = append(reasons, record.Reason)
		}
	}
	return reasons
}

// toldAfter returns when Events about doubts were handed out.
func (w *world) toldAfter(since time.Time) (all []time.Duration) {
	for _, d := range w.done {
		if record, _ := d.task.(Record); record.Reason == ReasonDoubt || record.Reason == ReasonDoubtEnded {
			all = append(all, d.at.Sub(since))
		}
	}
	return all
}

const (
	sightTimeout = 6 * time.Second
	// beginning is how long a controller doubts in the beginning.
	beginning = 2 * interval
	// afterBlindness is how long after a blindness a dead node is declared at the
	// latest. After a gap the seen time stands still for up to the timeout.
	afterBlindness = sightTimeout + grace + readPeriod
	// afterReadsFail is the same of live reads that fail.
	afterReadsFail = time.Minute + readPeriod
)

// withSight returns a world in which nodes may be acted against. Its API server
// answers while it is asked for by run.
func withSight(t *testing.T) *world {
	w := newWorld(t, Config{Health: nodehealth.Config{SightTimeout: sightTimeout}})
	w.addNodes(5, "a")
	w.addNodes(5, "b")
	w.start()
	w.run(grace + interval)
	w.done = nil
	return w
}

// run lets time pass with an API server that answers each second.
func (w *world) run(d time.Duration) {
	for range d / time.Second {
		w.c.Answered(w.now, w.now)
		w.advance(time.Second)
	}
	w.c.Answered(w.now, w.now)
}

// outage lets time pass without the API server: no node can beat. The dead one
// has just done so.
func (w *world) outage(d time.Duration, dead string) {
	w.fail = func(any) error { return errServer }
	for _, name := range w.names() {
		w.next[name] = w.now.Add(d + time.Second)
	}
	w.advance(d)
	w.fail = nil
	w.silent[dead] = true
}

// A node that dies at the beginning of an outage of the API server is declared
// a grace period after it at the latest.
func TestH4ADeadNodeIsDeclaredAfterBlindness(t *testing.T) {
	w := withSight(t)
	w.beat("a-000")
	since := w.now
	w.outage(5*time.Minute, "a-000")
	blind := w.mustDoubt(DoubtBlind)
	require.Equal(t, since, blind.Since)
	require.Equal(t, 5*time.Minute+beginning, w.c.Doubted(w.now, DoubtBlind))

	answered := w.now
	w.c.Answered(w.now, w.now)
	regained := w.mustDoubt(DoubtBlind)
	require.Equal(t, Doubt{Kind: DoubtBlind, Since: since}, regained)
	w.run(2 * grace)
	declared := w.declaredAt()
	require.Len(t, declared, 1)
	require.LessOrEqual(t, declared["a-000"].Sub(answered), afterBlindness)
	_, doubted := w.doubt(DoubtBlind)
	require.False(t, doubted)
	require.InDelta(t, (5*time.Minute + 20*time.Second + beginning).Seconds(), w.c.Doubted(w.now, DoubtBlind).Seconds(), 1)
	require.Equal(t, []time.Duration{grace}, w.toldAfter(since)[:1], "nothing else happened then")
	require.Equal(t, []string{ReasonDoubt, ReasonDoubtEnded}, w.told())
}

// If two heartbeat intervals are never unbroken nothing is declared. That is
// told, once in a while and not each time, and its end.
func TestH4SightThatIsNeverUnbrokenIsTold(t *testing.T) {
	w := withSight(t)
	w.silent["a-000"] = true
	since := w.now
	for range 30 {
		w.outage(10*time.Second, "a-000")
		w.run(10 * time.Second)
		require.Equal(t, since, w.mustDoubt(DoubtBlind).Since)
	}
	require.Empty(t, w.declaredAt())
	require.Equal(t, []string{ReasonDoubt}, w.told())
	require.InDelta(t, (600*time.Second + beginning).Seconds(), w.c.Doubted(w.now, DoubtBlind).Seconds(), 1)
	answered := w.now.Add(-10 * time.Second)
	w.run(2 * grace)
	require.Len(t, w.declaredAt(), 1)
	require.LessOrEqual(t, w.declaredAt()["a-000"].Sub(answered), afterBlindness)
	require.Equal(t, []string{ReasonDoubt, ReasonDoubtEnded}, w.told())
}

// A doubt that is short is no news, and one of a kind that comes again and
// again is told once in tellPeriod.
func TestH4DoubtIsToldNowAndThen(t *testing.T) {
	w := withSight(t)
	w.outage(grace/2-5*time.Second, "a-000") // no node is declared for 20 s more
	w.silent["a-000"] = false
	w.run(grace)
	require.Empty(t, w.told())
	began := w.now
	for range 10 {
		w.outage(grace+10*time.Second, "a-000")
		w.silent["a-000"] = false
		w.run(grace)
	}
	told := 0
	for _, d := range w.done {
		if record, ok := d.task.(Record); ok && record.Reason == ReasonDoubt {
			told++
			require.Equal(t, corev1.EventTypeWarning, record.Type)
		}
	}
	require.NotZero(t, told)
	require.LessOrEqual(t, told, int(w.now.Sub(began)/tellPeriod)+1)
}

// A node that beats unseen and dies then is declared two grace periods after its
// last heartbeat at the latest: the read that shows it begins a grace period, and
// was made within one of that heartbeat.
func TestH4ADeadNodeIsDeclaredBehindASilentWatch(t *testing.T) {
	w := active(t, "a", "b")
	w.blind = true
	w.advance(2 * grace)
	require.NotZero(t, w.c.Refuted())
	doubt := w.mustDoubt(DoubtWatch)
	require.Equal(t, 20, doubt.Nodes)
	last := map[string]time.Time{}
	for _, name := range w.names()[:8] { // some before a live read, some after it
		last[name] = w.leases[name].Spec.RenewTime.Time
		w.silent[name] = true
		w.advance(grace / 8)
	}
	w.advance(3 * grace)
	declared := w.declaredAt()
	require.Len(t, declared, len(last))
	longest := time.Duration(0)
	for name, at := range declared {
		longest = max(longest, at.Sub(last[name]))
	}
	require.LessOrEqual(t, longest, 2*(grace+readPeriod))
	require.Greater(t, longest, grace+interval)
	require.Equal(t, []string{ReasonDoubt}, w.told())
	w.blind = false
	w.advance(interval + time.Second)
	_, doubted := w.doubt(DoubtWatch)
	require.False(t, doubted)
	require.Zero(t, w.c.silences.behind.count)
	require.Equal(t, []string{ReasonDoubt, ReasonDoubtEnded}, w.told())
}

// Live reads that fail: one lease alone, and lists. The next one is tried after
// the longest backoff.
func TestH4DeadNodesAreDeclaredAfterReadsFail(t *testing.T) {
	for name, dead := range map[string][]string{
		"one lease": {"a-000"},
		"a list":    {"a-000", "a-001", "a-002", "a-003", "a-004"},
	} {
		t.Run(name, func(t *testing.T) {
			w := active(t, "a", "b")
			for _, name := range dead {
				w.silent[name] = true
			}
			failing[LeaseRead](w)
			w.advance(20 * time.Minute)
			doubt := w.mustDoubt(DoubtUnread)
			require.Equal(t, len(dead), doubt.Nodes)
			require.Equal(t, len(dead), w.c.Unconfirmed())
			require.NotZero(t, w.c.Unread())
			require.Equal(t, []string{ReasonDoubt}, w.told())
			w.fail = nil
			mended := w.now
			w.advance(5 * time.Minute)
			declared := w.declaredAt()
			require.Len(t, declared, len(dead))
			for _, name := range dead {
				require.LessOrEqual(t, declared[name].Sub(mended), afterReadsFail)
			}
			require.Empty(t, w.c.Doubts(w.now))
			require.Zero(t, w.c.silences.reads.failing)
			require.Equal(t, []string{ReasonDoubt, ReasonDoubtEnded}, w.told())
		})
	}
}

// Failures of reads do not outlast what they were about.
func TestH4ReadsThatFailedAreForgotten(t *testing.T) {
	w := active(t, "a", "b")
	reads, writes := errServer, error(nil)
	w.fail = func(task any) error {
		switch task.(type) {
		case LeaseRead:
			return reads
		case Declaration:
			return writes
		}
		return nil
	}
	isRead := like(readsOne)
	revive := func() {
		for _, name := range w.names() {
			w.silent[name] = false
			w.beat(name)
			w.next[name] = w.now.Add(interval)
		}
	}
	for _, size := range []int{1, 5} { // alone, and with a list
		for _, name := range w.names()[:size] {
			w.silent[name] = true
		}
		w.advance(grace + time.Minute)
		require.Equal(t, size, w.mustDoubt(DoubtUnread).Nodes)
		revive()
		require.Empty(t, w.c.Doubts(w.now))
		require.Zero(t, w.c.silences.reads.failing+w.c.silences.reads.failures, "with the next suspect")
	}
	w.silent["a-000"] = true
	w.finishFailed(w.until(isRead))
	w.mustDoubt(DoubtUnread)
	reads, writes = nil, errServer
	w.advance(time.Minute)
	require.Equal(t, 1, w.c.Undeclared())
	require.Zero(t, w.c.silences.reads.failing+w.c.silences.reads.failures)
}

// A budget that is small compared with the number of silent nodes.
func TestH4DeadNodesAreDeclaredWithASmallBudget(t *testing.T) {
	w := slow(t, 100, "a", "b")
	for _, name := range w.names() {
		w.beat(name)
	}
	w.silence("a")
	list := w.until(like(readsAll))
	doubt := w.mustDoubt(DoubtUnconfirmed)
	require.Equal(t, 100, doubt.Nodes)
	// Declarations have one request in 2 s. That takes 210 s, and one more list
	// each 10 s.
	latest := w.now.Add(253 * time.Second)
	w.finish(list)
	for _, name := range w.names() {
		w.next[name] = w.now.Add(time.Second)
	}
	w.advance(10 * time.Minute)
	declared := w.declaredAt()
	require.Len(t, declared, 100)
	for _, at := range declared {
		require.False(t, at.After(latest), "%v", at.Sub(latest))
	}
	require.Zero(t, w.c.Unconfirmed())
	require.Zero(t, w.c.Undeclared())
}

// A cluster that may be down is held until reads succeed, and is declared then
// though it is suspended. A node that is dead is tainted within a stabilization
// window once another is ready.
func TestH4DeadNodesOfAHeldAndOfASuspendedClusterAreActedOn(t *testing.T) {
	w := active(t, "a", "b")
	failing[LeaseRead](w)
	w.silence("")
	w.now = w.now.Add(grace)
	w.advance(10 * time.Minute)
	w.mustDoubt(DoubtHolding)
	w.fail = nil
	mended := w.now
	w.advance(5 * time.Minute)
	require.Len(t, w.declaredAt(), 20)
	for _, at := range w.declaredAt() {
		require.LessOrEqual(t, at.Sub(mended), afterReadsFail)
	}
	require.Equal(t, []DoubtKind{DoubtSuspended}, kinds(w.c.Doubts(w.now)))
	require.False(t, w.mustDoubt(DoubtSuspended).Since.Before(mended))

	w.silent["b-000"] = false
	w.next["b-000"] = w.now.Add(time.Second)
	ready := w.next["b-000"]
	w.advance(2 * time.Second)
	w.mustDoubt(DoubtRecovering)
	w.advance(2 * grace)
	first := time.Time{}
	for _, name := range w.names() {
		if at := w.taintedAt(name); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	require.Equal(t, ready.Add(grace), first)
}

func kinds(doubts []Doubt) (all []DoubtKind) {
	for _, d := range doubts {
		all = append(all, d.Kind)
	}
	return all
}

// A node that is dead when a replica begins to act is declared after its grace
// period, and tainted when the window ends.
func TestH4ADeadNodeIsTaintedAfterATakeover(t *testing.T) {
	w := newWorld(t, Config{})
	w.config.Zone.StabilizationWindow = 2 * grace
	w.addNodes(5, "a")
	w.silent["a-000"] = true
	w.start()
	w.c.Lead(w.now)
	began := w.now
	w.advance(time.Second)
	w.mustDoubt(DoubtRecovering)
	w.advance(3 * grace)
	require.Equal(t, grace, w.declaredAt()["a-000"].Sub(began))
	require.Equal(t, began.Add(2*grace), w.taintedAt("a-000"))
	require.Empty(t, w.told(), "it is no news")
	require.Empty(t, w.c.Doubts(w.now))
}

// A replica that waits counts doubts and tells none; it does when it leads.
func TestH4AStandbyTellsNoDoubt(t *testing.T) {
	w := withSight(t)
	for range 120 {
		w.now = w.now.Add(time.Second)
		w.c.Idle(w.now)
	}
	require.Equal(t, 2*time.Minute+beginning, w.c.Doubted(w.now, DoubtBlind))
	require.Empty(t, w.c.told.events)
	w.c.Lead(w.now)
	w.act()
	require.Equal(t, []string{ReasonDoubt}, w.told())
}

// Each part can be switched off.
func TestH4EachDoubtCanBeSwitchedOff(t *testing.T) {
	t.Run("blindness", func(t *testing.T) {
		w := newWorld(t, Config{})
		w.addNodes(5, "a")
		w.start()
		w.advance(10 * time.Minute) // without an answer
		require.Empty(t, w.c.Doubts(w.now))
		require.Zero(t, w.c.Doubted(w.now, DoubtBlind))
	})
	t.Run("live reads", func(t *testing.T) {
		w := newWorld(t, Config{DeclareUnconfirmed: true, Health: nodehealth.Config{SightTimeout: sightTimeout}})
		w.addNodes(5, "a")
		w.addNodes(5, "b")
		w.start()
		w.run(grace + interval)
		w.silent["a-000"] = true
		last := w.leases["a-000"].Spec.RenewTime.Time
		w.run(grace + interval)
		require.Empty(t, deeds(w, readsOne))
		require.Equal(t, grace, w.declaredAt()["a-000"].Sub(last))
		require.Zero(t, w.c.Unconfirmed())

		// What is silent when the API server fails is not declared before it counts.
		w.done = nil
		w.silent["b-000"] = true
		last = w.leases["b-000"].Spec.RenewTime.Time
		w.run(last.Add(grace - 2*time.Second).Sub(w.now))
		w.outage(time.Minute, "b-000")
		w.mustDoubt(DoubtBlind)
		answered := w.now
		w.run(2 * grace)
		require.Greater(t, w.declaredAt()["b-000"].Sub(answered), 20*time.Second-time.Millisecond)
		require.LessOrEqual(t, w.declaredAt()["b-000"].Sub(answered), afterBlindness)
		require.Len(t, w.declaredAt(), 1)
	})
	t.Run("holding", func(t *testing.T) {
		w := newWorld(t, Config{DeclareUnconfirmed: true})
		w.addNodes(5, "a")
		w.start()
		w.advance(2 * grace)
		w.silence("")
		w.now = w.now.Add(grace)
		w.jobs.Start(w.now)
		require.Equal(t, []DoubtKind{DoubtSuspended}, kinds(w.c.Doubts(w.now)))
	})
	t.Run("holding and suspension", func(t *testing.T) {
		thresholds := zone.DefaultThresholds()
		w := newWorld(t, Config{Zone: zone.Config{State: func(c zone.Counts) zone.State {
			if state := thresholds.State(c); state != zone.FullDisruption {
				return state
			}
			return zone.PartialDisruption
		}}})
		w.addNodes(5, "a")
		w.start()
		w.advance(2 * grace)
		w.silence("")
		w.advance(2 * grace)
		require.Len(t, w.declaredAt(), 5)
		require.Equal(t, zone.PhaseActive, w.c.Phase())
		require.Empty(t, w.c.Doubts(w.now))
	})
	t.Run("stabilization", func(t *testing.T) {
		w := newWorld(t, Config{Zone: zone.Config{
			StabilizationWindow: time.Nanosecond, ObservationWindow: new(time.Duration),
		}})
		w.addNodes(5, "a")
		w.start()
		w.advance(time.Second)
		require.Empty(t, w.c.Doubts(w.now))
		w.report("a-000", corev1.ConditionFalse)
		w.next["a-000"] = w.now.Add(grace)
		w.act()
		require.Equal(t, w.now, w.taintedAt("a-000"))
	})
}
