//go:build !race

package explore

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

const (
	// repository is its root, seen from this folder.
	repository = "../../.."
	controller = "examples/nodelifecycle/controller"
)

// Each of the faults can be put in, also those that are not tried, and the
// README says how many there are.
func TestMutationsFitTheSources(t *testing.T) {
	require.NoError(t, mutant.Fit(repository, all()))
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	count := regexp.MustCompile(`all (\d+)\s+injected\s+faults`)
	counts := count.FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, counts)
	for _, count := range counts {
		require.Equal(t, strconv.Itoa(len(all())), count[1], "README says %q", count[0])
	}
}

// TestMutationsAreCaught wants the random worlds to show each of the faults, by
// the invariant that is there for it. Small worlds in every interleaving have
// to show some. It runs if LIFECYCLE_TESTS=all, because it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	mutant.Run(t, repository, all())
}

func all() []mutant.Mutation {
	return slices.Concat(ofHalts, ofNodes, ofEvictions, ofMassFailure, ofClocks, ofPolicies)
}

// ordinary worlds are those of explore.Generate, as many as each run of the
// tests has.
func ordinary(by judge.Invariant) mutant.Catch {
	return worlds(by, "Random", "-seeds", "2000")
}

// hostile worlds have kubelets and proxies that lie.
func hostile(by judge.Invariant) mutant.Catch {
	return worlds(by, "Hostile", "-hostile", "1000")
}

// starved worlds have thousands of nodes and few calls.
func starved(by judge.Invariant) mutant.Catch {
	return worlds(by, "Starved", "-starved", "20")
}

// pausing worlds have flags that pause the cluster.
func pausing(by judge.Invariant) mutant.Catch {
	return worlds(by, "Pausing", "-pausing", "1000")
}

func worlds(by judge.Invariant, kind string, many ...string) mutant.Catch {
	return mutant.Catch{
		Package: "../explore", Until: string(by),
		Tests: append([]string{"-test.run", "^Test" + kind + "Worlds$"}, many...),
	}
}

// schedules are the small worlds of package exhaustive with one deviation at
// most. They show narrow races, and work that is left undone.
var schedules = mutant.Catch{
	Package: "../exhaustive", Tests: []string{"-test.run", "^TestEverySchedule$", "-deviations", "1"},
}

// comesOut is what a case expects.
func comesOut(name string) mutant.Catch {
	return mutant.Catch{
		Package: "../scenarios", Tests: []string{"-test.run", "^TestWhatEachCaseExpectsComesOut$/^" + name + "$"},
	}
}

// unit is a test of a package of examples, for what too few worlds show.
func unit(pkg, test string) mutant.Catch {
	return mutant.Catch{Package: "../../" + pkg, Tests: []string{"-test.run", "^" + test + "$"}}
}

// ofEviction is a test of package eviction. A tracker evicts again what should
// have been gone by then, so no world loses a pod for good.
func ofEviction(test string) mutant.Catch {
	return mutant.Catch{
		Package: "github.com/kubelife/lifecycle/eviction", Tests: []string{"-test.run", "^" + test + "$"},
	}
}

// restored is for pods that are back from a backup.
var restored = ofEviction("TestE5APodThatIsRestoredIsEvictedAgain")

// ofSight is a test of what package nodehealth takes for heard.
func ofSight(test string) mutant.Catch {
	return mutant.Catch{
		Package: "github.com/kubelife/lifecycle/nodehealth", Tests: []string{"-test.run", "^" + test + "$"},
	}
}

// ofNodes are faults that controllers of this kind have had, among them those
// of kube-controller-manager that the packages list.
var ofNodes = []mutant.Mutation{
	mutant.New("a node that is heard again is tainted all the same", controller, "(*releases) wants(n)",
		`!c.isSilent(n) -> false`, unit("nodelifecycle/controller", "TestANodeThatIsHeardAgainGetsNoNoExecuteTaint")),
	mutant.New("a zone without a rate is no reason", controller, "(*view) whyQueued", `limit == 0 -> limit < 0`,
		unit("nodelifecycle/controller", "TestAZoneWithoutARateIsTheReasonOfItsNodes")),
	mutant.New("a node that waits is told of nowhere", controller, "(*Controller) replan(now)",
		`n.notReady() && !c.isActedOn(n) -> false`,
		unit("nodelifecycle/controller", "TestEventsAboutNodesThatWaitAreBounded")),
	mutant.New("a token is spent while nothing is due", "timedqueue", "(s starter) first",
		`f := s.queue.limits.first() ->
			f := s.queue.limits.first()
			now := s.queue.clock.now
			for _, b := range s.queue.limits.shared {
				for _, idle := range b.shares {
					if wait, ok := idle.bucket.until(now); f == nil && idle.items == 0 && ok && wait == 0 {
						idle.bucket.take(now)
					}
				}
			}`,
		ordinary(judge.NoIdleToken)),
	mutant.New("a refused write is sent again without a read", controller, "(*writes) noteRefusal(now)",
		"n.readAt = now.Add(w) -> _ = now.Add(w)", ordinary(judge.NotTwice)),
	mutant.New("a node is not taken for what a live read shows", controller, "(writer) observeRead(now)",
		"c.ObserveNode(now, l) -> _ = now", unit("nodelifecycle/controller", "TestALiveReadCountsAfterARestore")),
	mutant.New("pods leave a node that is back and whose watch has stalled", controller, "(evictor) Start(now)",
		"c.readsFirst(now, t) -> false", comesOut("node-watch-stalls-at-recovery")),
	mutant.New("a failed mark is dropped when the kubelet is back and not ready", controller, "needsMark",
		`!p.owedMark(n) -> true`, unit("nodelifecycle/controller", "TestH6PodsAreMarkedWhateverHappens")),
	mutant.New("adding a node again puts it at the end", controller, "(*Controller) replan(now)",
		`c.releases.plan(now, n) ->
			c.releases.plan(now, n)
			if item, waits := c.releases.queue.Get(n.object.Name); waits && !item.Due.IsZero() &&
				!n.state.holdsToken() && n.turn.Before(now) {
				c.releases.queue.Set(n.object.Name, n, now)
			}`,
		ordinary(judge.InOrder)),
	mutant.New("a restart starts tolerations again", "eviction", "StartTime",
		"stored.IsZero() -> stored.IsZero() || !appeared",
		ordinary(judge.InTime)),
	mutant.New("a pod's name is taken for its identity", "eviction", "(*Deleter) Act",
		"metav1.DeleteOptions{Preconditions: p} -> metav1.DeleteOptions{}",
		ordinary(judge.NeverEarly), schedules),
	mutant.New("nothing is decided again between mark and delete",
		"eviction", "(*run) do",
		"r.task.Canceled() -> false",
		ordinary(judge.NeverEarly).From(870)),
	mutant.New("an eviction is given up after five tries", "eviction", "(*pods) learn(_, attempt)",
		`s.failed(n, e, o, r) ->
			s.failed(n, e, o, r)
			if s.note(e).failures >= 5 { attempt.terminating = true }`,
		ordinary(judge.InTime).From(620)),
	mutant.New("tainted nodes are untainted at the start", controller, "(*writes) wantedTaints",
		`n.ready == "" || !o && !c.health.HasHeartbeat(n.object.Name) -> false`,
		ordinary(judge.UntaintedByABeat)),
	mutant.New("a node that moves goes on to wait for the zone that it left",
		controller, "(*releases) setZone",
		"r.queue.Refile(e) -> _ = e",
		ordinary(judge.NoIdleToken)),
	mutant.New("a full disruption holds what an administrator asks for", "eviction", "(*Hold) holds",
		"h.Taints(t) -> true",
		ordinary(judge.InTime).From(310)),
	mutant.New("a full disruption forgets the timers", "eviction", "(*pods) hold",
		"o.reopen() ->",
		ordinary(judge.InTime).From(310)),
	mutant.New("any write to a node is a heartbeat", "nodehealth", "(*NodeMonitor) ObserveNode",
		`if r == nil || declaredByObserver(r) { m.monitor.applyRecord(t, &n.record, u); return } ->
			m.monitor.beat(t, &n.record)
			if r == nil || declaredByObserver(r) { m.monitor.applyRecord(t, &n.record, u); return }`,
		ordinary(judge.DeclaredInTime)),
	mutant.New("a toleration begins before the pod has arrived", "eviction", "(*ruling) decide",
		"later(t.Start, p.Arrived) -> t.Start",
		ordinary(judge.NeverEarly)),
	mutant.New("a disrupted zone keeps its rate", controller, "(*releases) setRates",
		`r.queue.SetLimit(t, zoneBudget, d.Zone, l) ->
			if d.Rate > 0 { r.queue.SetLimit(t, zoneBudget, d.Zone, l) }`,
		ordinary(judge.WithinRate)),
	mutant.New("nodes are acted against as soon as one zone is back",
		"zone", "(*Tracker) nextPhase",
		"t.recoveryEnd = t.now.Add(t.config.StabilizationWindow) ->",
		ordinary(judge.SparedInOutage)),
	mutant.New("taints are written over what others have written", "taints", "Patch",
		`[]operation{u, {"test", "/spec/taints", c}, a} -> []operation{u, a}`,
		hostile(judge.OthersUntouched).From(350), schedules),
	mutant.New("what the live read of a lease says is ignored",
		"nodehealth", "(*NodeMonitor) ReadLease",
		`v == "" -> v != ""`,
		ordinary(judge.NotDeclaredAlive), schedules),
	mutant.New("an eviction that has succeeded is forgotten", "eviction", "(*pods) learn",
		"s.forgive(e); return accepted -> s.forgive(e)",
		ordinary(judge.NotTwice), schedules),
	mutant.New("a pod that was recreated under its name is remembered for ever",
		"timedqueue/feed", "(*Handler) OnUpdate",
		`f.GetUID() == u.GetUID() -> f.GetUID() != ""`,
		ordinary(judge.NothingLeft)),
	mutant.New("a pod that could not be marked not ready is not tried again",
		controller, "(*marks) finish",
		"k && r.Object != nil -> k",
		ordinary(judge.PodsNotReady).From(520)).At(1),
	mutant.New("a pod that terminates on a silent node stays ready", controller, "needsMark",
		"p.marked == n.episode -> p.marked == n.episode || p.object.DeletionTimestamp != nil",
		ordinary(judge.PodsNotReady)),
	mutant.New("time in which no node could be heard counts as its silence",
		"nodehealth", "(*sight) prove",
		"s.blind += g -> _ = g",
		ordinary(judge.NotDeclaredAlive)),
	mutant.New("what cannot be heard is acted on", controller, "(phase) next",
		"!s -> false",
		ordinary(judge.SparedInOutage).From(6050)),
	mutant.New("a window passes in which nothing could be heard", "zone", "(*Tracker) Unconfirm",
		"t.Stabilize(n) -> _ = n",
		unit("nodelifecycle/controller", "TestZ3AWindowThatEndsInBlindnessBeginsAgain")),
	mutant.New("one look at the zones is enough", "zone", "(t *Tracker) Observe",
		"z.extentKnownAt(n, w) -> t.now.Add(0 * z.extentKnownAt(n, w).Sub(t.now))",
		ordinary(judge.KnownFirst)),
	mutant.New("a change of tolerations is not seen", "eviction", "(*pods) setTraits",
		"p.traits = s.of(o) -> if p.traits == nil { p.traits = s.of(o) }",
		ordinary(judge.InTime).From(500)),
	mutant.New("a node that changes often waits without end", controller, "damping",
		"longestWait -> 4 * longestWait",
		ordinary(judge.Recovered)),
	mutant.New("what protects pods waits as long as all else", controller, "(*pace) next",
		"w = min(w, longestProtectiveWait) -> _ = longestProtectiveWait",
		ordinary(judge.Recovered)),
}

// ofEvictions are faults in how pods are made to leave: budgets, actions,
// PodDisruptionBudgets and whole nodes.
var ofEvictions = []mutant.Mutation{
	mutant.New("a pod that is back from a backup is never evicted again", "eviction", "(*pods) observe",
		`p.state == leaving -> false`, restored),
	mutant.New("an accepted eviction is believed for ever", "eviction", "(*stages) enter",
		`s.believed -> 1000 * time.Hour`, restored),
	mutant.New("an eviction that keeps failing is told of nowhere", "examples/process/evicting/evictionreport", "failure",
		`bits.OnesCount(x) != 1 -> true`,
		unit("process/evicting/evictionreport", "TestAnEvictionThatKeepsFailingIsToldNowAndThen")),
	mutant.New("a failure gives its token back", "eviction", "(outcome Outcome) spends",
		"return x -> return x && outcome != OutcomeFailed",
		ordinary(judge.WithinBudget).From(620)),
	mutant.New("budgets by node are ignored", "timedqueue", "(*limits) laneOf",
		`w, o := s.admits(t, h) ->
			w, o := s.admits(t, h)
			if b.Name != "zone" { w = 0 }`,
		ordinary(judge.WithinBudget)),
	mutant.New("the budget of all pods is ignored", "timedqueue", "newLimits",
		"m.overall = append(m.overall, b) -> _ = m.overall",
		ordinary(judge.WithinBudget)),
	mutant.New("a pod that a PodDisruptionBudget keeps counts as gone",
		"eviction", "(*pods) learn(_, attempt)",
		`s.failed(n, e, o, r) ->
			attempt.terminating = o == OutcomeBlocked
			s.failed(n, e, o, r)`,
		ordinary(judge.InTime)),
	mutant.New("what is evicted at first is never deleted", "eviction", "EvictThenDelete",
		"s >= a -> a < 0 && s >= a",
		ordinary(judge.InTime)),
	mutant.New("what is to be evicted at first is deleted at once",
		"eviction", "EvictThenDelete(_, _, after)",
		"s >= a -> after > 0 || s >= a",
		ordinary(judge.AsConfigured)),
	mutant.New("an eviction does not say which pod it is for", "eviction", "(*Evictor) Act",
		`metav1.DeleteOptions{Preconditions: p} ->
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: p.ResourceVersion}}`,
		ordinary(judge.NeverEarly), schedules),
	mutant.New("taints from before the start evict no pod", "eviction", "(t *Tracker) ObserveNode",
		"n.taints = o -> if t.synced { n.taints = o }",
		ordinary(judge.InTime), schedules),
	mutant.New("a call whose answer is lost counts as an eviction",
		"eviction", "(*run) classify(_, err)",
		"SaysGone(err) -> SaysGone(err) || CauseOf(err) == causeTimeout",
		ofEviction("TestE5WhatTheAPIRefusesIsAFailureWithItsCause")),
	mutant.New("a node that is ready again is emptied all the same",
		controller, "(*releases) cancelEmptying",
		"c.evictions.CancelNodeEviction(t, n.object.Name) ->",
		ordinary(judge.NeverEarly)),
	mutant.New("a tainted node that is ready again loses its pods all the same",
		controller, "(*Controller) holdTaintsOfReady",
		"c.evictions.SetHold(t, HoldReady, n, h) -> c.evictions.SetHold(t, HoldReady, n, h && false)",
		ordinary(judge.NeverEarly).From(480)),
	mutant.New("pods of a tainted node that was ready again stay when it falls",
		controller, "(*Controller) holdTaintsOfReady",
		"c.evictions.SetHold(t, HoldReady, n, h) -> if h { c.evictions.SetHold(t, HoldReady, n, h) }",
		ordinary(judge.InTime).From(190)),
	mutant.New("nodes are emptied without a timeout", controller, "(*releases) turnOf",
		"n.notReadySince.Add(timeout) -> n.notReadySince",
		ordinary(judge.NeverEarly)),
	mutant.New("an outage of all zones does not begin the timeout again",
		controller, "(*releases) turnOf",
		"z.resumedAt.Add(timeout) -> z.resumedAt",
		ordinary(judge.NeverEarly)),
	mutant.New("a node that is emptied uses no token", controller, "(*releases) empty",
		"c.isEmptying(i.Key) -> !c.isEmptying(i.Key)",
		ordinary(judge.WithinRate)),
	mutant.New("pods of DaemonSets leave with their node", "eviction", "(*pod) nodeEviction",
		"p.kind == ofNode -> false",
		ordinary(judge.NeverEarly)),
	mutant.New("nodes are tainted in both modes", controller, "(*writes) takeRelease",
		"w.releases.modeOf(v) == EvictionModeNode -> false",
		ordinary(judge.AsConfigured)),
}

// ofMassFailure are faults that show when many nodes fail at once, when the API
// server cannot be heard, or when something lies.
var ofMassFailure = []mutant.Mutation{
	mutant.New("a zone counts silent nodes only when that is written",
		controller, "(*zones) countsInZone",
		"n.silence.lasts() -> false && n.silence.lasts()",
		starved(judge.SparedInOutage).From(6)),
	mutant.New("recoveries have no part of the requests", controller, "(*Controller) kinds",
		`[]timedqueue.Kind{d, {Name: "recoveries", Reserved: p, Source: s}, e, o} ->
			[]timedqueue.Kind{d, {Name: "recoveries", Source: s}, e, o}`,
		starved(judge.Recovered).From(12)),
	mutant.New("evictions have no part of the requests", controller, "(*Controller) kinds",
		`[]timedqueue.Kind{d, r, {Name: "evictions", Reserved: p, Cost: c, Source: s}, o} ->
			[]timedqueue.Kind{d, r, {Name: "evictions", Cost: c, Source: s}, o}`,
		starved(judge.InTime)),
	mutant.New("other writes have no part of the requests", controller, "(*Controller) kinds",
		`[]timedqueue.Kind{d, r, e, {Name: "other writes", Reserved: p, Source: s}} ->
			[]timedqueue.Kind{d, r, e, {Name: "other writes", Source: s}}`,
		starved(judge.TaintsFollow)),
	mutant.New("leases are read one by one, however many", controller, "(*reads) start",
		"mostSingleReads -> 1 << 20",
		starved(judge.NoIdleToken).From(20)),
	mutant.New("nodes are tainted as soon as the caches are filled",
		controller, "(*Controller) MarkSynced",
		"c.zones.stabilize(t) ->",
		hostile(judge.SparedInOutage)),
	mutant.New("nodes are tainted as soon as another replica acts",
		controller, "(*Controller) Lead",
		"c.zones.stabilize(t) -> c.zones.tracker.Next(t)",
		ordinary(judge.SparedInOutage)),
	mutant.New("a node that could not be declared is not declared later",
		controller, "(*silences) declared",
		"err == nil -> true",
		ordinary(judge.DeclaredInTime).From(310)),
	mutant.New("a heartbeat does not show that others would be heard", "nodehealth", "(*NodeMonitor) ObserveLease",
		"m.monitor.hear(t) -> m.monitor.advance(t)", ofSight("TestH4AHeartbeatOfAnyKeyProvesSight")),
	mutant.New("a gap lasts until the answer", "nodehealth", "(*sight) prove(now, sent)",
		"sent.Sub(s.proved) -> now.Sub(s.proved)", ofSight("TestH4ASlowAnswerLeavesNoGap")),
	mutant.New("nodes are silent though writes fail", "nodehealth", "(*sight) fail",
		"s.failures > manyFailures -> false", ofSight("TestH4NothingIsSilentWhileManyWritesFail")),
	mutant.New("a process begins with sight", "nodehealth", "newSight",
		"s.timeout > 0 -> false", unit("nodelifecycle/controller", "TestH4WhatIsDueAtTheStartWaitsForSight")),
	mutant.New("a zone that recovers has its rate at once", "zone", "(*rise) follow",
		"n.Add(r.left) -> n", comesOut("zone-recovers")),
	mutant.New("a zone that flaps is held for ever", "zone", "(*rise) follow",
		"r.end.Sub(n) -> window",
		unit("nodelifecycle/controller", "TestZ8DeadNodesOfAZoneThatFlapsAreTainted")),
}

// ofPolicies are faults that show when a policy pauses the cluster.
var ofPolicies = []mutant.Mutation{
	mutant.New("a grace period is as short as its flag says", "examples/nodelifecycle/options", "(o *Options) GracePeriod()",
		`max(o.MonitorGracePeriod, x) -> o.MonitorGracePeriod`, comesOut("grace-equals-interval")),
	mutant.New("a pause holds no evictions", controller, "(phase) next",
		"phase{z, zone.PhasePaused} -> phase{z, zone.PhaseActive}",
		pausing(judge.NeverEarly)),
	mutant.New("what a pause has held leaves as soon as it ends",
		controller, "(phase) next",
		`p.obeyed == zone.PhasePaused && z != zone.PhaseActive ->
			p.obeyed == zone.PhasePaused && z == zone.PhasePaused`,
		pausing(judge.NeverEarly)),
	mutant.New("nodes are acted against as soon as a pause ends", "zone", "(*Tracker) nextPhase",
		"t.phase == PhaseSuspended || t.phase == PhasePaused -> t.phase == PhaseSuspended",
		pausing(judge.SparedInOutage)),
	mutant.New("a pause ends with as few ready nodes as it has begun with",
		"zone", "(*Tracker) policyPhase",
		"t.stopped -> false",
		pausing(judge.SparedInOutage)),
}

// ofHalts are faults in how an operator stops the controller.
var ofHalts = []mutant.Mutation{
	mutant.New("a halt holds no taints", controller, "(*releases) may",
		"!h && !s -> !s",
		ordinary(judge.Halted)),
	mutant.New("a halt holds nothing", "eviction", "(*pods) hold",
		"r.held = h ->",
		ordinary(judge.Halted)),
	mutant.New("a halt does not reach an eviction under way", "eviction", "(*pods) hold",
		"s.decide(n, a.entry) ->",
		unit("nodelifecycle/controller", "TestC7AHaltReachesAnEvictionUnderWay")),
	mutant.New("a halt has no end", controller, "(*Controller) Resume",
		"c.evictions.SetHold(t, HoldHalt, n, h) ->",
		ordinary(judge.InTime)),
}

// ofClocks are faults that show when a watch is late or a machine was
// suspended.
var ofClocks = []mutant.Mutation{
	mutant.New("what appears counts from its sight", "eviction", "StartTime",
		"seen.Add(since) -> seen",
		ordinary(judge.InTime)),
	mutant.New("a machine that was suspended writes the time of day without that",
		"timedqueue", "(*clock) advance",
		"a < maxNow -> a > maxNow",
		ordinary(judge.TimesTold)),
}
