//go:build !race

package daemon_test

// mutation is a deliberate fault of the library: in a file, what stands there
// and what is put in its place.
type mutation struct {
	name      string
	file      string
	old, with string
	// caughtBy is the invariant that has to catch it.
	caughtBy invariant
}

// mutations are faults that controllers of this kind have had, or that a change
// in a hurry would make. Each has to be caught.
var mutations = []mutation{
	{
		name:     "news that are older than an answer count",
		file:     "podstate.go",
		old:      `return s.answered && olderVersion(pod, s.pod)`,
		with:     `return s.answered && pod == nil`,
		caughtBy: StatusTrue,
	},
	{
		name:     "a pod that was made is not remembered",
		file:     "finish.go",
		old:      "		p.creations.succeeded(n.epoch)\n		p.write(result.Pod)",
		with:     "		p.creations.succeeded(n.epoch)",
		caughtBy: StatusTrue,
	},
	{
		name:     "maxUnavailable is exceeded by one",
		file:     "limits.go",
		old:      `return p.counts.of(unavailable) < now.Unavailable`,
		with:     `return p.counts.of(unavailable) <= now.Unavailable`,
		caughtBy: Budget,
	},
	{
		name: "new pods that are not available do not count",
		file: "evaluate.go",
		old: `		if !a.available(a.fresh) {
			a.markUnavailable(a.fresh, unavailable|between)`,
		with: `		if !a.available(a.fresh) {
			a.markUnavailable(a.fresh, between)`,
		caughtBy: Budget,
	},
	{
		name:     "what the rollout has taken from an ignored node does not count",
		file:     "evaluate.go",
		old:      `	if a.node.taken || !a.ignores(s) {`,
		with:     `	if !a.ignores(s) {`,
		caughtBy: Budget,
	},
	{
		name:     "a terminating pod is taken for a running one",
		file:     "podstate.go",
		old:      `	return s.pod.DeletionTimestamp != nil || s.phase.isDeletion()`,
		with:     `	return s.phase.isDeletion()`,
		caughtBy: UIDGuard,
	},
	{
		name:     "a new pod is made while the old one terminates",
		file:     "evaluate.go",
		old:      `	case a.any && !a.planner.surges:`,
		with:     `	case a.undecided && !a.planner.surges:`,
		caughtBy: OnePerNode,
	},
	{
		name:     "the backoff after failed pods is forgotten",
		file:     "state.go",
		old:      `	n.failed.replaced(now)`,
		with:     `	n.failed = failures{}`,
		caughtBy: NotTooSoon,
	},
	{
		name:     "a pod is available as soon as it is ready",
		file:     "availability.go",
		old:      `	if isReady && a.planner.now.Before(from) {`,
		with:     `	if isReady && from.IsZero() {`,
		caughtBy: StatusTrue,
	},
	{
		name:     "the old pod goes as soon as there is a new one",
		file:     "evaluate.go",
		old:      `!isReady || a.available(a.fresh) {`,
		with:     `!isReady || a.available(a.outdated) {`,
		caughtBy: Surge,
	},
	{
		name:     "the partition is ignored",
		file:     "limits.go",
		old:      `	return p.counts.of(behind) > now.Partition`,
		with:     `	return p.counts.of(behind) > 0`,
		caughtBy: Kept,
	},
	{
		name:     "each try has another name",
		file:     "start.go",
		old:      `		step.Attempt = n.unclear.Attempt`,
		with:     `		step.Attempt = n.unclear.Attempt + 1`,
		caughtBy: OnePerRevision,
	},
	{
		name: "a creation that is under way is planned again",
		file: "evaluate.go",
		old: `	case a.node.creating():
		a.wait`,
		with: `	case a.node.creating() && a.planner.creations.underWay > 1:
		a.wait`,
		caughtBy: OnePerNode,
	},
	{
		name:     "nothing wakes up when a wait is over",
		file:     "start.go",
		old:      `	next := p.nextTimer()`,
		with:     `	next := p.unseen.next()`,
		caughtBy: Converges,
	},
	{
		name:     "what the watch has lost is not read",
		file:     "expectations.go",
		old:      `	return s.reading == podGone`,
		with:     `	return s.reading != podGone`,
		caughtBy: Converges,
	},
	{
		name:     "after a failure the others go on",
		file:     "backoff.go",
		old:      ` && !now.Before(c.refused.hold())`,
		with:     ``,
		caughtBy: NotTooSoon,
	},
	{
		name:     "after a failure as many are under way as before",
		file:     "backoff.go",
		old:      "	c.window = 1\n	if epoch",
		with:     "	if epoch",
		caughtBy: NeverRunsAhead,
	},
	{
		name:     "a paused rollout goes on",
		file:     "evaluate.go",
		old:      `	case rollout.Paused:`,
		with:     `	case rollout.Paused && a.outdated == nil:`,
		caughtBy: Kept,
	},
	{
		name:     "a pod has to go from where no new one would come",
		file:     "evaluate.go",
		old:      `	case !n.decision.shouldContinue:`,
		with:     `	case !n.decision.shouldRun:`,
		caughtBy: RightPlace,
	},
	{
		name:     "a deletion that was not answered was not done",
		file:     "finish.go",
		old:      `		p.enter(s, podDeletionUnclear, s.former)`,
		with:     `		p.enter(s, s.former, s.former)`,
		caughtBy: Budget,
	},
	{
		name:     "of two pods the older one stays, whatever it is worth",
		file:     "evaluate.go",
		old:      `worth > other || worth == other && before(s, kept)`,
		with:     `worth > other+4 || before(s, kept)`,
		caughtBy: BetterStays,
	},
	{
		name:     "counts are not corrected when a node is gone",
		file:     "evaluate.go",
		old:      `	p.counts.remove(n.situation.marks)`,
		with:     "	if n.stored != nil {\n		p.counts.remove(n.situation.marks)\n	}",
		caughtBy: StatusTrue,
	},
	{
		name:     "what is gone comes back with late news",
		file:     "podstate.go",
		old:      `	p.tombstones.add(s.pod.UID, departureAnswered, p.now)`,
		with:     `	p.tombstones.expire(p.now)`,
		caughtBy: UIDGuard,
	},
	{
		name:     "a pod that went before its creation was answered comes back",
		file:     "observe.go",
		old:      `		p.tombstones.add(pod.UID, departureForgotten, p.now)`,
		with:     `		p.tombstones.expire(p.now)`,
		caughtBy: StatusTrue,
	},
	{
		name:     "what is not observed does not count against the burst",
		file:     "backoff.go",
		old:      `c.underWay+unseen < c.burst`,
		with:     `c.underWay < c.burst`,
		caughtBy: NeverRunsAhead,
	},
	{
		name:     "the time to wake up is in the past",
		file:     "start.go",
		old:      `p.now.Before(hold) {`,
		with:     `!hold.IsZero() {`,
		caughtBy: NoSpin,
	},
	{
		name:     "a rollout that was to surge once surges for ever",
		file:     "configure.go",
		old:      `	p.surges = !p.invalid && spec.Rollout.surges()`,
		with:     `	p.surges = p.surges || spec.Rollout.surges()`,
		caughtBy: OnePerNode,
	},
	{
		name:     "nothing says that a pod is to be deleted by hand",
		file:     "evaluate.go",
		old:      `		a.unlessWaiting(WaitOnDelete, a.outdated)`,
		with:     `		a.candidate = noCandidate`,
		caughtBy: WaitsTell,
	},
	{
		name:     "nodes that are not eligible are updated",
		file:     "evaluate.go",
		old:      `	case config.Eligible != nil && !config.Eligible(a.node.object()):`,
		with:     `	case config.Eligible != nil && a.node.stored == nil:`,
		caughtBy: Kept,
	},
	{
		name:     "a node that no longer needs a pod is forgotten with its pods",
		file:     "evaluate.go",
		old:      `	case !n.idle(), n.decision.shouldRun:`,
		with:     `	case n.creation != creationIdle, n.decision.shouldRun:`,
		caughtBy: StatusTrue,
	},
	{
		name:     "a new spec is not applied to nodes without a record",
		file:     "turn.go",
		old:      `	p.scan.nodes--`,
		with:     `	p.scan.nodes = 0`,
		caughtBy: StatusTrue,
	},
	{
		name:     "a read that began before the deletion resolves it",
		file:     "expectations.go",
		old:      `	case s.phase != began:`,
		with:     `	case s.phase == podGone:`,
		caughtBy: UIDGuard,
	},
	{
		name:     "any answer resolves an earlier creation",
		file:     "state.go",
		old:      `retried && (outcome == OutcomeRefused || now.Before(n.unclear.readFrom)):`,
		with:     `retried && outcome == "":`,
		caughtBy: OnePerRevision,
	},
	{
		name:     "an unclear creation holds no other revision",
		file:     "state.go",
		old:      `n.inDoubt() && n.unclear.Revision != revision`,
		with:     `n.inDoubt() && revision == ""`,
		caughtBy: OnePerNode,
	},
	{
		name:     "a read that has failed ends an unclear creation",
		file:     "finish.go",
		old:      "		n.enterCreation(creationUnclear)\n		p.reads.failed(",
		with:     "		n.enterCreation(creationIdle)\n		p.reads.failed(",
		caughtBy: OnePerNode,
	},
	{
		name:     "another order keeps the former queues",
		file:     "configure.go",
		old:      "	p.rank()\n	p.scan.states = len(p.states)",
		with:     "	p.rank()",
		caughtBy: Converges,
	},
	{
		name:     "another canary is not evaluated",
		file:     "configure.go",
		old:      "	p.config.Eligible = eligible\n	p.scan.states = len(p.states)",
		with:     "	p.config.Eligible = eligible",
		caughtBy: Kept,
	},
}
