package daemon

// rolloutOrder is the order in which a rollout takes candidates.
var rolloutOrder = [...]queueName{toAwaitUnclear, outdatedUnavailable, outdatedAvailable, toRetire}

// limitsNow returns the limits for the present counts, and false if the rollout
// has none that are valid.
func (p *Planner) limitsNow() (Limits, bool) {
	if nodes := p.counts.of(desired); !p.limits.known || p.limits.nodes != nodes {
		of, err := p.spec.Rollout.Limits(nodes)
		p.limits = limits{known: true, nodes: nodes, of: of, err: err}
	}
	return p.limits.of, p.limits.err == nil
}

// mayTake reports whether the limits let a candidate go on now.
func (p *Planner) mayTake(n *nodeState) bool {
	now, ok := p.limitsNow()
	if !ok || !p.partitionLets(n, now) {
		return false
	}
	switch n.situation.candidate {
	case replaceUnavailable:
		return p.mayTakeUnavailable(now)
	case replaceAvailable:
		return p.mayTakeAvailable(now)
	case retire:
		return p.counts.of(serving) > p.counts.of(desired)
	case awaitUnclear: // it is counted among those with a second pod
		return p.surged() <= now.Surge
	case noCandidate:
	}
	return false
}

// mayTakeUnavailable is for a node whose old pod is not available.
func (p *Planner) mayTakeUnavailable(now Limits) bool {
	switch {
	case !p.spec.Rollout.Strict:
		return true
	case p.surges:
		return p.surged() < now.Surge
	}
	return p.counts.of(between) < now.Unavailable
}

// mayTakeAvailable is for a node whose old pod is available.
func (p *Planner) mayTakeAvailable(now Limits) bool {
	if p.surges {
		return p.surged() < now.Surge
	}
	return p.counts.of(unavailable) < now.Unavailable
}

// surged returns how many nodes have a second pod.
func (p *Planner) surged() int {
	surged := p.counts.of(surging)
	if p.spec.Rollout.Strict {
		surged += p.counts.of(between)
	}
	return surged
}

// partitionLets reports whether the partition lets a node go on. It counts the
// nodes that should have a pod. The others keep theirs while there is a
// partition at all.
func (p *Planner) partitionLets(n *nodeState, now Limits) bool {
	if !n.decision.shouldRun {
		return now.Partition == 0
	}
	return p.counts.of(behind) > now.Partition
}

// createsFirst reports whether a node gets its new pod before the old one goes.
func (p *Planner) createsFirst(n *nodeState) bool { return p.surges && n.decision.shouldRun }
