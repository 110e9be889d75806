//go:build !race

package mutations

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/invariant"
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
func ordinary(by invariant.Invariant) mutant.Catch {
	return worlds(by, "Random", "-seeds", "2000")
}

// hostile worlds have kubelets and proxies that lie.
func hostile(by invariant.Invariant) mutant.Catch {
	return worlds(by, "Hostile", "-hostile", "1000")
}

// starved worlds have thousands of nodes and few calls.
func starved(by invariant.Invariant) mutant.Catch {
	return worlds(by, "Starved", "-starved", "20")
}

// pausing worlds have flags that pause the cluster.
func pausing(by invariant.Invariant) mutant.Catch {
	return worlds(by, "Pausing", "-pausing", "1000")
}

func worlds(by invariant.Invariant, kind string, many ...string) mutant.Catch {
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

// ofNodes are faults that controllers of this kind have had, among them those
// of kube-controller-manager that the packages list.
var ofNodes = []mutant.Mutation{
	{
		Name:    "a token is spent while nothing is due",
		Package: "timedqueue", Func: "(q *Queue) candidate",
		Rule: `if o == nil { return f } ->
			for _, b := range q.keyed {
				for _, s := range b.shares {
					if wait, ok := s.bucket.until(q.now); f == nil && s.items == 0 && ok && wait == 0 {
						s.bucket.settle(q.now, s.bucket.take(q.now), false)
					}
				}
			}
			if o == nil { return f }`,
		Caught: ordinary(invariant.NoIdleToken),
	},
	{
		Name:    "adding a node again puts it at the end",
		Package: controller, Func: "(*Controller) replan(now)",
		Rule: `c.planRelease(n) ->
			if !n.state.holdsToken() {
				c.leaveReleases(n)
			}
			c.planRelease(n)
			if n.turn.Before(now) && !n.state.holdsToken() {
				c.releases.Reschedule(n.object.Name, now)
			}`,
		Caught: ordinary(invariant.InOrder),
	},
	{
		Name:    "a restart starts tolerations again",
		Package: "eviction", Func: "(s sighting) origin(stored)",
		Rule:   "stored.IsZero() -> stored.IsZero() || s.current.IsZero()",
		Caught: ordinary(invariant.InTime),
	},
	{
		Name:    "a pod's name is taken for its identity",
		Package: "eviction", Func: "(*Deleter) Act",
		Rule:   "metav1.DeleteOptions{Preconditions: p} -> metav1.DeleteOptions{}",
		Caught: ordinary(invariant.NeverEarly),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "nothing is decided again between mark and delete",
		Package: "eviction", Func: "(*run) setCondition",
		Rule:   "r.task.Canceled() -> false",
		Caught: ordinary(invariant.NeverEarly).From(870),
	},
	{
		Name:    "an eviction is given up after five tries",
		Package: "eviction", Func: "(*Tracker) learn",
		Rule: `t.failed(n, e, a, o, r) ->
			t.failed(n, e, a, o, r)
			if !a.clears() && t.history(e.Key()).attempts >= 5 { return leaving }`,
		Caught: ordinary(invariant.InTime).From(620),
	},
	{
		Name:    "tainted nodes are untainted at the start",
		Package: controller, Func: "(*Controller) wantedTaints",
		Rule:   `n.ready == "" || !o && !c.health.HasHeartbeat(n.object.Name) -> false`,
		Caught: ordinary(invariant.UntaintedByABeat),
	},
	{
		Name:    "a node that moves goes on to wait for the zone that it left",
		Package: controller, Func: "(*Controller) setZone",
		Rule:   "c.releases.Refile(e) -> _ = e",
		Caught: ordinary(invariant.NoIdleToken),
	},
	{
		Name:    "a full disruption forgets the timers",
		Package: "eviction", Func: "(*Tracker) SuspendTaints",
		Rule: `t.suspended = s ->
			t.suspended = s
			if s != nil { t.suspended = func(*corev1.Taint) bool { return true } }`,
		Caught: ordinary(invariant.InTime).From(310),
	},
	{
		Name:    "any write to a node is a heartbeat",
		Package: "nodehealth", Func: "(*NodeMonitor) ObserveNode",
		Rule: `if r == nil || declaredByObserver(r) { m.monitor.applyRecord(t, &n.record, u); return } ->
			m.monitor.beat(t, &n.record)
			if r == nil || declaredByObserver(r) { m.monitor.applyRecord(t, &n.record, u); return }`,
		Caught: ordinary(invariant.DeclaredInTime),
	},
	{
		Name:    "a toleration begins before the pod has arrived",
		Package: "eviction", Func: "decide",
		Rule:   "later(t.Start, p.Arrived) -> t.Start",
		Caught: ordinary(invariant.NeverEarly),
	},
	{
		Name:    "a disrupted zone keeps its rate",
		Package: controller, Func: "(*Controller) evaluateZones",
		Rule: `c.releases.SetLimit(t, zoneBudget, d.Zone, l) ->
			if d.Rate > 0 { c.releases.SetLimit(t, zoneBudget, d.Zone, l) }`,
		Caught: ordinary(invariant.WithinRate),
	},
	{
		Name:    "nodes are acted against as soon as one zone is back",
		Package: "zone", Func: "(*Tracker) nextPhase",
		Rule:   "t.recoveryEnd = t.now.Add(t.config.StabilizationWindow) ->",
		Caught: ordinary(invariant.SparedInOutage),
	},
	{
		Name:    "taints are written over what others have written",
		Package: "taints", Func: "Patch",
		Rule:   `[]operation{u, {"test", "/spec/taints", c}, a} -> []operation{u, a}`,
		Caught: hostile(invariant.OthersUntouched).From(350),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "what the live read of a lease says is ignored",
		Package: "nodehealth", Func: "(*NodeMonitor) ReadLease",
		Rule:   `v == "" -> v != ""`,
		Caught: ordinary(invariant.NotDeclaredAlive),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "an eviction that has succeeded is forgotten",
		Package: "eviction", Func: "(*Tracker) learn",
		Rule:   "delete(t.histories, k); return leaving -> delete(t.histories, k)",
		Caught: ordinary(invariant.NotTwice),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "a pod that was recreated under its name is remembered for ever",
		Package: "timedqueue/feed", Func: "(*Handler) OnUpdate",
		Rule:   `r.GetUID() != u.GetUID() -> r.GetUID() == ""`,
		Caught: ordinary(invariant.NothingLeft),
	},
	{
		Name:    "a mark that has become moot stays",
		Package: "eviction", Func: "(*Tracker) stateFor",
		Rule:   "e.Value().marked -> false && e.Value().marked",
		Caught: ordinary(invariant.MarkTakenBack),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "a pod that could not be marked not ready is not tried again",
		Package: controller, Func: "(*Controller) marked",
		Rule:       "k && r.Pod != nil -> k",
		Occurrence: 1,
		Caught:     ordinary(invariant.PodsNotReady).From(520),
	},
	{
		Name:    "a pod that terminates on a silent node stays ready",
		Package: controller, Func: "needsMark",
		Rule:   "p.marked == n.episode -> p.marked == n.episode || p.object.DeletionTimestamp != nil",
		Caught: ordinary(invariant.PodsNotReady),
	},
	{
		Name:    "time in which no node could be heard counts as its silence",
		Package: "nodehealth", Func: "(*sight) prove",
		Rule:   "s.blind += g -> _ = g",
		Caught: ordinary(invariant.NotDeclaredAlive),
	},
	{
		Name:    "what cannot be heard is acted on",
		Package: controller, Func: "(*Controller) evaluateZones",
		Rule:   "!c.health.Sight(t).Counts() -> false",
		Caught: ordinary(invariant.SparedInOutage).From(6050),
	},
	{
		Name:    "a window passes in which nothing could be heard",
		Package: "zone", Func: "(*Tracker) Unconfirm",
		Rule:   "t.Stabilize(n) -> _ = n",
		Caught: ordinary(invariant.SparedInOutage),
	},
	{
		Name:    "one look at the zones is enough",
		Package: "zone", Func: "(t *Tracker) Observe",
		Rule:   "z.extentKnownAt(n, w) -> t.now.Add(0 * z.extentKnownAt(n, w).Sub(t.now))",
		Caught: ordinary(invariant.KnownFirst),
	},
	{
		Name:    "a change of tolerations is not seen",
		Package: "eviction", Func: "(*Tracker) ObservePod",
		Rule:   "p.tolerations = o -> if p.tolerations == nil { p.tolerations = o }",
		Caught: ordinary(invariant.InTime).From(500),
	},
	{
		Name:    "a node that changes often waits without end",
		Package: controller, Func: "damping",
		Rule:   "longestWait -> 4 * longestWait",
		Caught: ordinary(invariant.Recovered),
	},
	{
		Name:    "what protects pods waits as long as all else",
		Package: controller, Func: "(*pace) next",
		Rule:   "w = min(w, longestProtectiveWait) -> _ = longestProtectiveWait",
		Caught: ordinary(invariant.Recovered),
	},
}
