//go:build !race

package mutations

import (
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// mutation is a deliberate fault and what has to catch it.
type mutation struct {
	mutant.Mutation

	// caughtBy is the invariant, in a world from seed first on. It is 1 unless
	// those before are known not to show it.
	caughtBy invariant.Invariant
	first    uint64
	// unit is the test of package controller that catches it, for what too few
	// worlds show.
	unit string
}

func fault(by invariant.Invariant, name, file, old, with string) mutation {
	return mutation{Mutation: mutant.Mutation{Name: name, File: file, Old: old, With: with}, caughtBy: by, first: 1}
}

// from says which seed is tried first.
func (m mutation) from(first uint64) mutation {
	m.first = first
	return m
}

// in says which test catches it.
func (m mutation) in(unit string) mutation {
	m.unit = unit
	return m
}

// mutations are faults that controllers of this kind have had, or that this one
// has had, among them those that random worlds have found. Each has to be
// caught.
var mutations = []mutation{
	fault(invariant.Converged, "an orphan that could not be adopted is forgotten",
		"examples/daemonset/controller/claim.go",
		"	if failure == nil {\n		c.forgetUnclaimed", "	if true {\n		c.forgetUnclaimed"),
	fault(invariant.Halted, "a halt holds no deletion",
		"daemon/start.go", "return !p.halted && p.deletions.room(", "return p.deletions.room("),
	fault(invariant.Reasoned, "a set goes on with a revision that it has lost",
		"examples/daemonset/controller/plan.go",
		`!slices.ContainsFunc(r.history, r.isCurrent)`, `r.own == nil`).in("TestALostRevisionIsNotRolledOut"),
	fault(invariant.LiveRevisions, "a pod that the watch has not shown holds no revision",
		"examples/daemonset/controller/pods.go",
		"	c.answered(now, r, result.Pod.Pod)\n", "").in("TestAPodThatTheWatchHasNotShownHoldsItsRevision"),
	fault(invariant.StatusConverged, "a status that is due later is not written",
		"examples/daemonset/controller/status.go",
		`	r.statusDue = now.Add(c.config.StatusInterval)`, `	r.statusDue = now.Add(1e6 * c.config.StatusInterval)`),
	fault(invariant.StatusTrue, "observedGeneration rises before the nodes are evaluated",
		"examples/daemonset/controller/visit.go",
		`counts.Counts(max(r.planned, r.set.Status.Observed))`,
		`counts.Counts(r.set.Source.Owner.Object.GetGeneration())`),
	fault(invariant.StatusTrue, "counts from an old cache do not name their generation",
		"daemon/statuspatch.go",
		`	if after < before {`, `	if after <= before {`).from(1370),
	fault(invariant.WithinRequests, "all requests of a claim are given back",
		"examples/daemonset/controller/finish.go",
		`c.requests.Settle(now, task.grant, result.Unused)`,
		`c.requests.Settle(now, task.grant, task.MostRequests())`).from(1380),
	fault(invariant.Converged, "a node that has changed is not visited",
		"examples/daemonset/controller/observe.go",
		"	c.nodes.Observe(now, node)\n	c.nodesChanged(now)\n",
		"	c.nodes.Observe(now, node)\n"),

	fault(invariant.WithinUnavailable, "one more node than maxUnavailable may be without a pod",
		"daemon/limits.go", `	return p.counts.of(unavailable) < now.Unavailable`,
		`	return p.counts.of(unavailable) <= now.Unavailable`),
	fault(invariant.WithinSurge, "one more node than maxSurge may have two pods",
		"daemon/limits.go", "	if p.surges {\n		return p.surged() < now.Surge\n	}\n	return p.counts.of(unavailable)",
		"	if p.surges {\n		return p.surged() <= now.Surge\n	}\n	return p.counts.of(unavailable)"),
	fault(invariant.WithinUnavailable, "the old pod of a surge leaves before the new one is available",
		"daemon/evaluate.go", `!isReady || a.available(a.fresh) {`, `!isReady || a.fresh != nil {`),
	fault(invariant.OnePerNode, "a pod that terminates leaves room for the next one",
		"daemon/evaluate.go", `	case a.any && !a.planner.surges:`, `	case a.any && a.planner.surges && a.oldest == nil:`),
	fault(invariant.OnePerNode, "a retry after a lost answer has another name",
		"daemon/finish.go", "	outcome := result.creationOutcome()\n",
		"	outcome := result.creationOutcome()\n	if outcome == OutcomeFailed {\n		n.attempt++\n"+
			"		outcome = OutcomeRefused\n	}\n"),
	fault(invariant.OnePerNode, "an unclear creation does not hold the next template",
		"daemon/state.go", `n.inDoubt() && n.unclear.Revision != revision`,
		`n.inDoubt() && revision == ""`).from(380),
	fault(invariant.RightPlace, "a NoSchedule taint does not keep pods away",
		"daemon/placement.go", "		return Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: first}",
		"		return Decision{ShouldRun: true, ShouldContinue: true, Reason: ReasonTainted, Taint: first}"),
	fault(invariant.Reasoned, "a NoSchedule taint evicts",
		"daemon/placement.go", "		return Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: first}",
		"		return Decision{Reason: ReasonTainted, Taint: first}"),
	fault(invariant.BetterStays, "of several pods the oldest stays",
		"daemon/evaluate.go", `worth > other || worth == other && before(s, kept) {`,
		`before(s, kept) || worth < other && before(s, kept) {`).from(960),
	fault(invariant.Backoff, "failed pods are replaced at once",
		"daemon/backoff.go", `f.last.Add(backoff.Delay(f.times - 1))`, `f.last.Add(0 * backoff.Delay(f.times-1))`),
	fault(invariant.Reasoned, "OnDelete is a rolling update",
		"daemon/evaluate.go", `	case rollout.OnDelete:`, `	case rollout.OnDelete && a.planner.invalid:`),
	fault(invariant.Converged, "a pod waits for a node that is gone",
		"daemon/evaluate.go", "			s.leave = StepNodeGone\n", "			_ = StepNodeGone\n"),

	fault(invariant.OthersUntouched, "what is not selected is adopted",
		"daemon/ownership/ownership.go", `	case !o.selects(object):
		return Claim{ActionIgnore, ReasonUnselected}`, `	case !o.selects(object) && object.GetName() == "":
		return Claim{ActionIgnore, ReasonUnselected}`),
	fault(invariant.Converged, "what is no longer selected is kept",
		"daemon/ownership/ownership.go", `	return Claim{ActionRelease, ReasonUnselected}`,
		`	return Claim{ActionKeep, ReasonUnselected}`),

	fault(invariant.LiveRevisions, "the history limit counts one less",
		"daemon/revision/plan.go", `	excess := len(kept) - plan.Source.limit()`,
		`	excess := len(kept) + 1 - plan.Source.limit()`),
	fault(invariant.LiveRevisions, "a revision that pods carry is deleted",
		"daemon/revision/plan.go", `		if excess > 0 && !carried[hashOf(revision)] {`, `		if excess > 0 {`),
	fault(invariant.HistoryKept, "a rollback keeps the old number",
		"daemon/revision/plan.go", `	if h.current.Revision != number {`, `	if h.current.Revision > number {`),
	fault(invariant.HistoryKept, "a revision of another owner is taken for one's own",
		"daemon/revision/manager.go", "	default:\n		return a.collide(ctx, live)\n	}\n",
		"	default:\n		a.result.Current, a.result.Found = live, true\n		return nil\n	}\n"),
}
