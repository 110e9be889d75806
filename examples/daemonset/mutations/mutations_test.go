//go:build !race

package mutations

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

// histories are those of the tests of package daemon, with their invariants.
func histories(by string) mutant.Catch {
	return mutant.Catch{
		Package: "github.com/kubelife/lifecycle/daemon", Until: by,
		Tests: []string{"-test.run", "^TestRandomHistories$", "-seeds", "2000"},
	}
}

// ofController are faults that controllers of this kind have had, or that this
// one has had, among them those that random worlds have found.
var ofController = []mutant.Mutation{
	{
		Name:    "an orphan that could not be adopted is forgotten",
		Package: controller, Func: "(*Controller) finishClaim",
		Rule:   "f == nil -> true",
		Caught: worlds(invariant.Converged),
	},
	{
		Name:    "a halt holds no deletion",
		Package: "daemon", Func: "(*Planner) mayDelete",
		Rule:   "!p.halted && m -> m",
		Caught: worlds(invariant.Halted),
	},
	{
		Name:    "a set goes on with a revision that it has lost",
		Package: controller, Func: "(*Controller) considerRevisions",
		Rule:   "!slices.ContainsFunc(r.history, r.isCurrent) -> r.own == nil",
		Caught: unit("TestALostRevisionIsNotRolledOut"),
	},
	{
		Name:    "a pod that the watch has not shown holds no revision",
		Package: controller, Func: "(*Controller) finishPod",
		Rule:   "c.answered(t, r, s.Pod.Pod) ->",
		Caught: unit("TestAPodThatTheWatchHasNotShownHoldsItsRevision"),
	},
	{
		Name:    "a status that is due later is not written",
		Package: controller, Func: "(*Controller) finishStatus",
		Rule:   "c.config.StatusInterval -> 1e6 * c.config.StatusInterval",
		Caught: worlds(invariant.StatusConverged),
	},
	{
		Name:    "observedGeneration rises before the nodes are evaluated",
		Package: controller, Func: "(*Controller) settle",
		Rule:   "max(r.planned, r.set.Status.Observed) -> r.set.Source.Owner.Object.GetGeneration()",
		Caught: worlds(invariant.StatusTrue),
	},
	{
		Name:    "counts from an old cache do not name their generation",
		Package: "daemon", Func: "keepGeneration",
		Rule:   "a < b -> a <= b",
		Caught: worlds(invariant.StatusTrue).From(1370),
	},
	{
		Name:    "all requests of a claim are given back",
		Package: controller, Func: "(*Controller) Finish(_, task)",
		Rule:   "r.Unused -> task.MostRequests()",
		Caught: worlds(invariant.WithinRequests).From(1380),
	},
	{
		Name:    "a node that has changed is not visited",
		Package: controller, Func: "(*Controller) ObserveNode",
		Rule:   "c.nodesChanged(t) ->",
		Caught: worlds(invariant.Converged),
	},
	{
		Name:    "one more node than maxUnavailable may be without a pod",
		Package: "daemon", Func: "(*Planner) mayTakeAvailable",
		Rule:   "p.counts.of(unavailable) < t.Unavailable -> p.counts.of(unavailable) <= t.Unavailable",
		Caught: worlds(invariant.WithinUnavailable),
		Also:   []mutant.Catch{histories("Budget")},
	},
	{
		Name:    "one more node than maxSurge may have two pods",
		Package: "daemon", Func: "(*Planner) mayTakeAvailable",
		Rule:   "p.surged() < t.Surge -> p.surged() <= t.Surge",
		Caught: worlds(invariant.WithinSurge),
	},
	{
		Name:    "the old pod of a surge leaves before the new one is available",
		Package: "daemon", Func: "(*assessment) decideBetween",
		Rule:   "a.available(a.fresh) -> a.fresh != nil",
		Caught: worlds(invariant.WithinUnavailable),
	},
	{
		Name:    "a pod that terminates leaves room for the next one",
		Package: "daemon", Func: "(*assessment) createOrReplace",
		Rule:   "a.any && !a.planner.surges -> a.any && a.planner.surges && a.oldest == nil",
		Caught: worlds(invariant.OnePerNode),
	},
	{
		Name:    "a retry after a lost answer has another name",
		Package: "daemon", Func: "(*Planner) finishCreation",
		Rule: `n.endCreation(s, o, t, d) ->
			if o == OutcomeFailed { n.attempt++; o = OutcomeRefused }
			n.endCreation(s, o, t, d)`,
		Caught: worlds(invariant.OnePerNode),
	},
	{
		Name:    "an unclear creation does not hold the next template",
		Package: "daemon", Func: "(*nodeState) held",
		Rule:   `n.unclear.Revision != r -> r == ""`,
		Caught: worlds(invariant.OnePerNode).From(380),
		Also:   []mutant.Catch{histories("OnePerNode")},
	},
	{
		Name:    "a NoSchedule taint does not keep pods away",
		Package: "daemon", Func: "(*Placement) placeByTaints",
		Rule: `Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: f} ->
			Decision{ShouldRun: true, ShouldContinue: true, Reason: ReasonTainted, Taint: f}`,
		Caught: worlds(invariant.RightPlace),
	},
	{
		Name:    "a NoSchedule taint evicts",
		Package: "daemon", Func: "(*Placement) placeByTaints",
		Rule: `Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: f} ->
			Decision{Reason: ReasonTainted, Taint: f}`,
		Caught: worlds(invariant.Reasoned),
	},
	{
		Name:    "of several pods the oldest stays",
		Package: "daemon", Func: "(*assessment) keep",
		Rule:   "w > o || w == o && before(s, k) -> before(s, k) || w < o && before(s, k)",
		Caught: worlds(invariant.BetterStays).From(960),
	},
	{
		Name:    "failed pods are replaced at once",
		Package: "daemon", Func: "(*failures) replaceFrom",
		Rule:   "b.Delay(f.times - 1) -> 0 * b.Delay(f.times-1)",
		Caught: worlds(invariant.Backoff),
	},
	{
		Name:    "OnDelete is a rolling update",
		Package: "daemon", Func: "(a *assessment) nominate",
		Rule:   "r.OnDelete -> r.OnDelete && a.planner.invalid",
		Caught: worlds(invariant.Reasoned),
	},
	{
		Name:    "a pod waits for a node that is gone",
		Package: "daemon", Func: "(*assessment) nodeGone",
		Rule:   "s.leave = StepNodeGone -> _ = StepNodeGone",
		Caught: worlds(invariant.Converged),
	},
	{
		Name:    "what is not selected is adopted",
		Package: "daemon/ownership", Func: "(*Ownership) claimOrphan",
		Rule:   `!o.selects(p) -> !o.selects(p) && p.GetName() == ""`,
		Caught: worlds(invariant.OthersUntouched),
	},
	{
		Name:    "what is no longer selected is kept",
		Package: "daemon/ownership", Func: "(*Ownership) Claim",
		Rule:   "ActionRelease -> ActionKeep",
		Caught: worlds(invariant.Converged),
	},
	{
		Name:    "the history limit counts one less",
		Package: "daemon/revision", Func: "(*history) clean",
		Rule:   "len(k) - p.Source.limit() -> len(k) + 1 - p.Source.limit()",
		Caught: worlds(invariant.LiveRevisions),
	},
	{
		Name:    "a revision that pods carry is deleted",
		Package: "daemon/revision", Func: "(*history) clean",
		Rule:   "e > 0 && !c[hashOf(r)] -> e > 0",
		Caught: worlds(invariant.LiveRevisions),
	},
	{
		Name:    "a rollback keeps the old number",
		Package: "daemon/revision", Func: "(*history) update",
		Rule:   "h.current.Revision != n -> h.current.Revision > n",
		Caught: worlds(invariant.HistoryKept),
	},
	{
		Name:    "a revision of another owner is taken for one's own",
		Package: "daemon/revision", Func: "(*application) resolve",
		Rule: `return a.collide(c, l) ->
			a.result.Current, a.result.Found = l, true
			return nil`,
		Occurrence: 2,
		Caught:     worlds(invariant.HistoryKept),
	},
}
