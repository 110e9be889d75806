//go:build !race

package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

const (
	// repository is its root, seen from this folder.
	repository = "../../.."
	controller = "examples/daemonset/controller"
)

// Each of the faults can be put in, also those that are not tried.
func TestMutationsFitTheSources(t *testing.T) {
	require.NoError(t, mutant.Fit(repository, all()))
	require.GreaterOrEqual(t, len(ofController), 16)
	require.GreaterOrEqual(t, len(ofPlanner), 35)
}

// TestMutationsAreCaught wants the random worlds, or the planner's random
// histories, to show each of the faults, by the invariant that is there for it.
// It runs if LIFECYCLE_TESTS=all, because it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	mutant.Run(t, repository, all())
}

func all() []mutant.Mutation { return slices.Concat(ofController, ofPlanner) }

// worlds are those of package explore.
func worlds(by invariant.Invariant) mutant.Catch {
	return mutant.Catch{
		Package: "../explore", Until: string(by),
		Tests: []string{"-test.run", "^TestRandomWorlds$", "-seeds", "2500"},
	}
}

// unit is a test of package controller, for what too few worlds show.
func unit(test string) mutant.Catch {
	return mutant.Catch{Package: "../controller", Tests: []string{"-test.run", "^" + test + "$"}}
}

// ofRollout is a test of package rollout.
func ofRollout(test string) mutant.Catch {
	return mutant.Catch{
		Package: "github.com/kubelife/lifecycle/daemon/rollout", Tests: []string{"-test.run", "^" + test + "$"},
	}
}

// histories are those of the tests of package rollout, with their invariants.
func histories(by string) mutant.Catch {
	return mutant.Catch{
		Package: "github.com/kubelife/lifecycle/daemon/rollout", Until: by,
		Tests: []string{"-test.run", "^TestRandomHistories$", "-seeds", "2000"},
	}
}

// ofController are faults that controllers of this kind have had, or that this
// one has had, among them those that random worlds have found.
var ofController = []mutant.Mutation{
	mutant.New("an orphan that could not be adopted is forgotten",
		controller, "(claimer) Finish",
		"f == nil -> true",
		worlds(invariant.Converged)),
	mutant.New("a halt holds no deletion", "daemon/rollout", "(*traffic) mayDelete",
		"!t.halted && m -> m",
		worlds(invariant.Halted)),
	mutant.New("a set goes on with a revision that it has lost",
		controller, "(*Controller) considerRevisions",
		"!slices.ContainsFunc(r.history, r.isCurrent) -> r.own == nil",
		unit("TestALostRevisionIsNotRolledOut")),
	mutant.New("a pod that the watch has not shown holds no revision",
		controller, "(podChanger) Finish",
		"c.answered(t, r, s.Pod) ->",
		unit("TestAPodThatTheWatchHasNotShownHoldsItsRevision")),
	mutant.New("a status that is due later is not written",
		controller, "(*pace) due",
		"p.written.Add(p.wait()) -> p.written.Add(1e6 * p.wait())",
		worlds(invariant.StatusConverged)),
	mutant.New("observedGeneration rises before the nodes are evaluated",
		controller, "(*Controller) settle",
		"max(r.planned, r.observed()) -> r.set.Source.Owner.Object.GetGeneration()",
		worlds(invariant.StatusTrue)),
	mutant.New("counts from an old cache do not name their generation", "daemon/rollout", "keepGeneration",
		"a < b -> a <= b",
		worlds(invariant.StatusTrue).From(1120)),
	mutant.New("all requests of a claim are given back",
		controller, "(Result) Unspent(granted)",
		"max(0, a - r.Sent) -> granted",
		worlds(invariant.WithinRequests)),
	mutant.New("a node that has changed is not visited", controller, "(*Controller) ObserveNode",
		"c.nodesChanged(t) ->",
		worlds(invariant.Converged)),
	mutant.New("one more node than maxUnavailable may be without a pod",
		"daemon/rollout", "(*candidates) lets",
		"c.others(n, unavailable) < t.Unavailable -> c.others(n, unavailable) <= t.Unavailable",
		worlds(invariant.WithinUnavailable), histories("Budget")),
	mutant.New("one more node than maxSurge may have two pods",
		"daemon/rollout", "(*candidates) lets",
		"c.surged(n) < t.Surge -> c.surged(n) <= t.Surge",
		worlds(invariant.WithinSurge)),
	mutant.New("the old pod of a surge leaves before the new one is available",
		"daemon/rollout", "(*assessment) decideBetween",
		"a.available(a.fresh) -> a.fresh != nil",
		worlds(invariant.WithinUnavailable)),
	mutant.New("a pod that terminates leaves room for the next one",
		"daemon/rollout", "(*assessment) createOrReplace",
		"a.any && !a.goal.surges -> a.any && a.goal.surges && a.oldest == nil",
		worlds(invariant.OnePerNode)),
	mutant.New("a retry after a lost answer has another name",
		"daemon/rollout", "(*Planner) finishCreation",
		`n.endCreation(o, t) ->
			if o == OutcomeFailed { n.attempt++; o = OutcomeRefused }
			n.endCreation(o, t)`,
		worlds(invariant.OnePerNode)),
	mutant.New("a creation without an answer does not hold the next template",
		"daemon/rollout", "(*nodeState) beginCreation",
		"n.sent == nil -> n.sent == nil || n.sent.Revision != spec.Revision",
		worlds(invariant.OnePerNode).From(580), histories("OnePerNode")),
	mutant.New("a NoSchedule taint does not keep pods away", "daemon", "(*Placement) placeByTaints",
		`Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: f} ->
			Decision{ShouldRun: true, ShouldContinue: true, Reason: ReasonTainted, Taint: f}`,
		worlds(invariant.RightPlace)),
	mutant.New("a NoSchedule taint evicts", "daemon", "(*Placement) placeByTaints",
		`Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: f} ->
			Decision{Reason: ReasonTainted, Taint: f}`,
		worlds(invariant.Reasoned)),
	mutant.New("of several pods the oldest stays", "daemon/rollout", "(*assessment) keep",
		"w > o || w == o && s.before(k) -> s.before(k) || w < o && s.before(k)",
		worlds(invariant.BetterStays).From(420)),
	mutant.New("failed pods are replaced at once", "daemon/rollout", "(*failures) replaceFrom",
		"b.Delay(f.times - 1) -> 0 * b.Delay(f.times-1)",
		worlds(invariant.Backoff)),
	mutant.New("OnDelete is a rolling update", "daemon/rollout", "(*goal) stopped",
		"g.spec.Strategy.OnDelete -> g.spec.Strategy.OnDelete && g.invalid",
		worlds(invariant.Reasoned)),
	mutant.New("a pod waits for a node that is gone", "daemon/rollout", "(*assessment) nodeGone",
		"s.leave = StepNodeGone -> _ = StepNodeGone",
		worlds(invariant.Converged)),
	mutant.New("what is not selected is adopted", "daemon/ownership", "(*Ownership) claimOrphan",
		`!o.selects(p) -> !o.selects(p) && p.GetName() == ""`,
		worlds(invariant.OthersUntouched)),
	mutant.New("what is no longer selected is kept", "daemon/ownership", "(*Ownership) Claim",
		"ActionRelease -> ActionKeep",
		worlds(invariant.Converged)),
	mutant.New("the history limit counts one less", "daemon/revision", "(*history) clean",
		"len(k) - p.Source.limit() -> len(k) + 1 - p.Source.limit()",
		worlds(invariant.LiveRevisions)),
	mutant.New("a revision that pods carry is deleted", "daemon/revision", "(*history) clean",
		"e > 0 && !c[hashOf(r)] -> e > 0",
		worlds(invariant.LiveRevisions)),
	mutant.New("a rollback keeps the old number", "daemon/revision", "(*history) update",
		"h.current.Revision != n -> h.current.Revision > n",
		worlds(invariant.HistoryKept)),
	mutant.New("a revision of another owner is taken for one's own",
		"daemon/revision", "(*application) resolve",
		`return a.collide(c, l) ->
			a.result.Current, a.result.Found = l, true
			return nil`,
		worlds(invariant.HistoryKept)).At(2),
}
