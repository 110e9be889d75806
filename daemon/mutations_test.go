//go:build !race

package daemon_test

// mutation is a deliberate fault of the library: in a file, what stands there and what
// is put in its place.
type mutation struct {
	name      string
	file      string
	old, with string
	// caughtBy is the invariant that has to catch it.
	caughtBy invariant
}

// mutations are faults that controllers of this kind have had, or that somebody in a
// hurry would make. Each has to be caught.
var mutations = []mutation{
	{
		name:     "news that are older than an answer count",
		file:     "known.go",
		old:      `return s.answered && olderVersion(pod, s.pod)`,
		with:     `return s.answered && pod == nil`,
		caughtBy: StatusTrue,
	},
	{
		name:     "a pod that was made is not remembered",
		file:     "report.go",
		old:      "		p.creations.succeeded(n.flight)\n		p.write(result.Pod)",
		with:     "		p.creations.succeeded(n.flight)",
		caughtBy: StatusTrue,
	},
	{
		name:     "maxUnavailable is exceeded by one",
		file:     "plan.go",
		old:      `return r.planner.counts.of(unavailable) < r.limits.Unavailable`,
		with:     `return r.planner.counts.of(unavailable) <= r.limits.Unavailable`,
		caughtBy: Budget,
	},
	{
		name: "new pods that are not available do not count",
		file: "judge.go",
		old: `		if !a.available(a.fresh) {
			a.lacking(a.fresh, unavailable|between)`,
		with: `		if !a.available(a.fresh) {
			a.lacking(a.fresh, between)`,
		caughtBy: Budget,
	},
	{
		name:     "what the rollout has taken from an excused node does not count",
		file:     "judge.go",
		old:      `	if a.node.taken || !a.excuses(s) {`,
		with:     `	if !a.excuses(s) {`,
		caughtBy: Budget,
	},
	{
		name:     "a terminating pod is taken for a running one",
		file:     "known.go",
		old:      `	return s.pod.DeletionTimestamp != nil || s.deletion != notDeleted`,
		with:     `	return s.deletion != notDeleted`,
		caughtBy: UIDGuard,
	},
	{
		name:     "a new pod is made while the old one terminates",
		file:     "judge.go",
		old:      `	case a.any && !a.planner.surges:`,
		with:     `	case a.undecided && !a.planner.surges:`,
		caughtBy: OnePerNode,
	},
	{
		name:     "the backoff after failed pods is forgotten",
		file:     "plan.go",
		old:      `		s.node.failed.replaced(p.now)`,
		with:     `		s.node.failed = failures{}`,
		caughtBy: NotTooSoon,
	},
	{
		name:     "a pod is available as soon as it is ready",
		file:     "judge.go",
		old:      `	if isReady && a.planner.now.Before(from) {`,
		with:     `	if isReady && from.IsZero() {`,
		caughtBy: StatusTrue,
	},
	{
		name:     "the old pod goes as soon as there is a new one",
		file:     "judge.go",
		old:      `!isReady || a.available(a.fresh) {`,
		with:     `!isReady || a.available(a.outdated) {`,
		caughtBy: Surge,
	},
	{
		name:     "the partition is ignored",
		file:     "plan.go",
		old:      `	return r.planner.counts.of(behind) > r.limits.Partition`,
		with:     `	return r.planner.counts.of(behind) > 0`,
		caughtBy: Kept,
	},
	{
		name:     "each try has another name",
		file:     "plan.go",
		old:      `		step.Attempt = n.doubt.attempt`,
		with:     `		step.Attempt = n.doubt.attempt + 1`,
		caughtBy: OnePerRevision,
	},
	{
		name: "a creation that is under way is planned again",
		file: "judge.go",
		old: `	case a.node.creating:
		a.wait`,
		with: `	case a.node.creating && a.planner.creations.underWay > 1:
		a.wait`,
		caughtBy: OnePerNode,
	},
	{
		name:     "nobody wakes up when a wait is over",
		file:     "plan.go",
		old:      `	next := p.nextTimer()`,
		with:     `	next := p.unseen.next()`,
		caughtBy: Converges,
	},
	{
		name:     "what the watch has lost is not looked for",
		file:     "unseen.go",
		old:      `	return !s.looking && s.deletion != handedOut`,
		with:     `	return s.looking && s.deletion != handedOut`,
		caughtBy: Converges,
	},
	{
		name:     "after a failure the others go on",
		file:     "backoff.go",
		old:      ` && !now.Before(f.refused.hold())`,
		with:     ``,
		caughtBy: NotTooSoon,
	},
	{
		name:     "after a failure as many are under way as before",
		file:     "backoff.go",
		old:      "	f.window = 1\n	if number",
		with:     "	if number",
		caughtBy: NeverRunsAhead,
	},
	{
		name:     "a paused rollout goes on",
		file:     "judge.go",
		old:      `	case rollout.Paused:`,
		with:     `	case rollout.Paused && a.outdated == nil:`,
		caughtBy: Kept,
	},
	{
		name:     "a pod has to go from where no new one would come",
		file:     "judge.go",
		old:      `	case !n.verdict.Keep:`,
		with:     `	case !n.verdict.Run:`,
		caughtBy: RightPlace,
	},
	{
		name:     "a deletion that was not answered was not done",
		file:     "report.go",
		old:      `		p.setDeletion(s, doubtful)`,
		with:     `		p.setDeletion(s, notDeleted)`,
		caughtBy: Budget,
	},
	{
		name:     "of two pods the older one stays, whatever it is worth",
		file:     "judge.go",
		old:      `worth > other || worth == other && before(s, kept)`,
		with:     `worth > other+4 || before(s, kept)`,
		caughtBy: BetterStays,
	},
	{
		name:     "counts are not corrected when a node is gone",
		file:     "judge.go",
		old:      `	p.counts.remove(n.situation.marks)`,
		with:     "	if !n.empty() {\n		p.counts.remove(n.situation.marks)\n	}",
		caughtBy: StatusTrue,
	},
	{
		name:     "what is gone comes back with late news",
		file:     "known.go",
		old:      `	p.gone.add(s.pod.UID, answered, p.now)`,
		with:     `	p.gone.expire(p.now)`,
		caughtBy: UIDGuard,
	},
	{
		name:     "a pod that went before its creation was answered comes back",
		file:     "planner.go",
		old:      `		p.gone.add(pod.UID, forgotten, p.now)`,
		with:     `		p.gone.expire(p.now)`,
		caughtBy: StatusTrue,
	},
	{
		name:     "what is not observed does not count against the burst",
		file:     "backoff.go",
		old:      `f.underWay+unseen < f.burst`,
		with:     `f.underWay < f.burst`,
		caughtBy: NeverRunsAhead,
	},
	{
		name:     "the time to wake up is in the past",
		file:     "plan.go",
		old:      `		if p.now.Before(hold) {`,
		with:     `		if !hold.IsZero() {`,
		caughtBy: NoSpin,
	},
	{
		name:     "a rollout that was to surge once surges for ever",
		file:     "planner.go",
		old:      `	p.surges = !p.invalid && spec.Rollout.surges()`,
		with:     `	p.surges = p.surges || spec.Rollout.surges()`,
		caughtBy: OnePerNode,
	},
	{
		name:     "nobody says that a pod is to be deleted by hand",
		file:     "judge.go",
		old:      `		a.unlessWaiting(OnDelete, a.outdated)`,
		with:     `		a.candidate = 0`,
		caughtBy: WaitsTell,
	},
	{
		name:     "nodes that are not selected are updated",
		file:     "judge.go",
		old:      `	case config.Updates != nil && !config.Updates(a.node.object):`,
		with:     `	case config.Updates != nil && a.node.object == nil:`,
		caughtBy: Kept,
	},
}
