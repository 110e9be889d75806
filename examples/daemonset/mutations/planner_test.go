//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/simulation/mutant"

// ofPlanner are faults of package daemon that its own random histories show.
// Controllers of this kind have had them, or a change in a hurry would make
// them.
var ofPlanner = []mutant.Mutation{
	{
		Name:    "news that are older than an answer count",
		Package: "daemon", Func: "(*podState) newerThan",
		Rule:   "olderVersion(p, s.pod) -> p == nil",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "a pod that was made is not remembered",
		Package: "daemon", Func: "(*Planner) finishCreation",
		Rule:   "p.creations.succeeded(e); p.write(o) -> p.creations.succeeded(e)",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "new pods that are not available do not count",
		Package: "daemon", Func: "(*assessment) rollOut",
		Rule:   "a.markUnavailable(a.fresh, unavailable|between) -> a.markUnavailable(a.fresh, between)",
		Caught: histories("Budget"),
	},
	{
		Name:    "what the rollout has taken from an ignored node does not count",
		Package: "daemon", Func: "(*assessment) markUnavailable",
		Rule:   "a.node.taken || i -> i",
		Caught: histories("Budget"),
	},
	{
		Name:    "a terminating pod is taken for a running one",
		Package: "daemon", Func: "(*podState) leaving",
		Rule:   "s.pod.DeletionTimestamp != nil || d -> d",
		Caught: histories("UIDGuard"),
	},
	{
		Name:    "a new pod is made while the old one terminates",
		Package: "daemon", Func: "(*assessment) createOrReplace",
		Rule:   "a.any -> a.undecided",
		Caught: histories("OnePerNode"),
	},
	{
		Name:    "the backoff after failed pods is forgotten",
		Package: "daemon", Func: "(*nodeState) replace",
		Rule:   "n.failed.replaced(t) -> n.failed = failures{}",
		Caught: histories("NotTooSoon"),
	},
	{
		Name:    "a pod is available as soon as it is ready",
		Package: "daemon", Func: "(*assessment) available",
		Rule:   "a.planner.now.Before(f) -> f.IsZero()",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "the old pod goes as soon as there is a new one",
		Package: "daemon", Func: "(*assessment) decideBetween",
		Rule:   "a.available(a.fresh) -> a.available(a.outdated)",
		Caught: histories("Surge"),
	},
	{
		Name:    "the partition is ignored",
		Package: "daemon", Func: "(*Planner) partitionLets",
		Rule:   "p.counts.of(behind) > t.Partition -> p.counts.of(behind) > 0",
		Caught: histories("Kept"),
	},
	{
		Name:    "each try has another name",
		Package: "daemon", Func: "(*Planner) handOutCreation",
		Rule:   "n.unclear.Attempt -> n.unclear.Attempt + 1",
		Caught: histories("OnePerRevision"),
	},
	{
		Name:    "a creation that is under way is planned again",
		Package: "daemon", Func: "(*assessment) createOrReplace",
		Rule:   "a.node.creating() -> a.node.creating() && a.planner.creations.underWay > 1",
		Caught: histories("OnePerNode"),
	},
	{
		Name:    "nothing wakes up when a wait is over",
		Package: "daemon", Func: "(*Planner) Next",
		Rule:   "p.nextTimer -> p.unseen.next",
		Caught: histories("Converges"),
	},
	{
		Name:    "what the watch has lost is not read",
		Package: "daemon", Func: "(*podState) expected",
		Rule:   "s.reading == podGone -> s.reading != podGone",
		Caught: histories("Converges"),
	},
	{
		Name:    "after a failure the others go on",
		Package: "daemon", Func: "(*calls) room",
		Rule:   "r && !n.Before(c.refused.hold()) -> r",
		Caught: histories("NotTooSoon"),
	},
	{
		Name:    "after a failure as many are under way as before",
		Package: "daemon", Func: "(*calls) failed",
		Rule:   "c.window = 1 ->",
		Caught: histories("NeverRunsAhead"),
	},
	{
		Name:    "a paused rollout goes on",
		Package: "daemon", Func: "(a *assessment) nominate",
		Rule:   "r.Paused -> r.Paused && a.outdated == nil",
		Caught: histories("Kept"),
	},
	{
		Name:    "a pod has to go from where no new one would come",
		Package: "daemon", Func: "(*Planner) assess",
		Rule:   "n.decision.shouldContinue -> n.decision.shouldRun",
		Caught: histories("RightPlace"),
	},
	{
		Name:    "a deletion that was not answered was not done",
		Package: "daemon", Func: "(*Planner) finishDeletion",
		Rule:   "p.enter(s, podDeletionUnclear, s.former) -> p.enter(s, s.former, s.former)",
		Caught: histories("Budget"),
	},
	{
		Name:    "of two pods the older one stays, whatever it is worth",
		Package: "daemon", Func: "(*assessment) keep",
		Rule:   "w > o || w == o && before(s, k) -> w > o+4 || before(s, k)",
		Caught: histories("BetterStays"),
	},
	{
		Name:    "counts are not corrected when a node is gone",
		Package: "daemon", Func: "(*Planner) evaluate",
		Rule: `p.counts.remove(n.situation.marks) ->
			if n.stored != nil { p.counts.remove(n.situation.marks) }`,
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "what is gone comes back with late news",
		Package: "daemon", Func: "(*Planner) vanish",
		Rule:   "p.tombstones.add(s.pod.UID, departureAnswered, p.now) -> p.tombstones.expire(p.now)",
		Caught: histories("UIDGuard"),
	},
	{
		Name:    "a pod that went before its creation was answered comes back",
		Package: "daemon", Func: "(*Planner) addTombstone",
		Rule:   "p.tombstones.add(q.UID, departureForgotten, p.now) -> p.tombstones.expire(p.now)",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "what is not observed does not count against the burst",
		Package: "daemon", Func: "(*calls) room",
		Rule:   "c.underWay + u -> c.underWay",
		Caught: histories("NeverRunsAhead"),
	},
	{
		Name:    "the time to wake up is in the past",
		Package: "daemon", Func: "(*Planner) Next",
		Rule:   "p.now.Before(h) -> !h.IsZero()",
		Caught: histories("NoSpin"),
	},
	{
		Name:    "a rollout that was to surge once surges for ever",
		Package: "daemon", Func: "(*Planner) use",
		Rule:   "!p.invalid && s -> p.surges || s",
		Caught: histories("OnePerNode"),
	},
	{
		Name:    "nothing says that a pod is to be deleted by hand",
		Package: "daemon", Func: "(*assessment) nominate",
		Rule:   "a.unlessWaiting(WaitOnDelete, a.outdated) -> a.candidate = noCandidate",
		Caught: histories("WaitsTell"),
	},
	{
		Name:    "nodes that are not eligible are updated",
		Package: "daemon", Func: "(*assessment) nominate",
		Rule:   "!c.Eligible(a.node.object()) -> a.node.stored == nil",
		Caught: histories("Kept"),
	},
	{
		Name:    "a node that no longer needs a pod is forgotten with its pods",
		Package: "daemon", Func: "(*Planner) forgettable",
		Rule:   "!n.idle() -> n.creation != creationIdle",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "a new spec is not applied to nodes without a record",
		Package: "daemon", Func: "(*Planner) visitNode",
		Rule:   "p.scan.nodes-- -> p.scan.nodes = 0",
		Caught: histories("StatusTrue"),
	},
	{
		Name:    "a read that began before the deletion resolves it",
		Package: "daemon", Func: "(*podState) phaseRead",
		Rule:   "s.phase != b -> s.phase == podGone",
		Caught: histories("UIDGuard"),
	},
	{
		Name:    "any answer resolves an earlier creation",
		Package: "daemon", Func: "(*nodeState) endCreation",
		Rule:   `o == OutcomeRefused || n.Before(t) -> o == ""`,
		Caught: histories("OnePerRevision"),
	},
	{
		Name:    "a read that has failed ends an unclear creation",
		Package: "daemon", Func: "(*Planner) finishCreationRead",
		Rule:   "creationUnclear -> creationIdle",
		Caught: histories("OnePerNode"),
	},
	{
		Name:    "another order keeps the former queues",
		Package: "daemon", Func: "(*Planner) SetLess",
		Rule:   "p.scan.states = len(p.states) ->",
		Caught: histories("Converges"),
	},
	{
		Name:    "another canary is not evaluated",
		Package: "daemon", Func: "(*Planner) SetEligible",
		Rule:   "p.scan.states = len(p.states) ->",
		Caught: histories("Kept"),
	},
}
