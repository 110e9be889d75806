package daemon

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A Plan is what is to be done now. Each step of it counts as under way until
// [Planner.Report] has said how it ended.
type Plan struct {
	// Owner is the UID that [Config] names. An [Executor] carries the plan out for no other
	// owner.
	Owner types.UID
	// Spec is what it was planned for.
	Spec   Spec
	Create []Creation
	Delete []Deletion
	// Look are pods of which nothing was seen for too long after a write of ours: the
	// watch may have lost something. They are to be read from the API server.
	Look []Look
	// Next is when to ask again even if nothing is observed or reported until then,
	// and zero if there is no such time.
	Next time.Time
}

// Empty says whether there is nothing to do.
func (p *Plan) Empty() bool {
	return len(p.Create) == 0 && len(p.Delete) == 0 && len(p.Look) == 0
}

// A Creation is a pod to be made.
type Creation struct {
	Node   string
	Reason StepReason
	// Attempt goes into the pod's name. It stays the same until it is known what has
	// become of the creation, so that one whose answer was lost is not done twice. It is
	// counted from when the planner was made.
	Attempt int
	// Revision is the one that the pod is to have.
	Revision string
}

// A Deletion is a pod to be deleted, if it still has the UID.
type Deletion struct {
	Pod    string
	UID    types.UID
	Node   string
	Reason StepReason
}

// A Look is a pod to be read.
type Look struct {
	Pod string
	UID types.UID
}

// StepReason says why a pod is to be made or deleted.
type StepReason string

// Why pods are made.
const (
	// Missing: a node where a pod belongs has none.
	Missing StepReason = "Missing"
	// Surging: the pod comes before the old one goes.
	Surging StepReason = "Surging"
)

// Why pods are deleted.
const (
	// Outdated: the pod is of a former revision, and available.
	Outdated StepReason = "Outdated"
	// OutdatedUnavailable: the pod is of a former revision, and not available anyway.
	OutdatedUnavailable StepReason = "OutdatedUnavailable"
	// Replaced: the new pod beside it is available, or the old one is not ready.
	Replaced StepReason = "Replaced"
	// PodFailed: the pod has failed. The next one is made in its place.
	PodFailed StepReason = "PodFailed"
	// PodSucceeded: the pod has come to an end, which daemons are not meant to.
	PodSucceeded StepReason = "PodSucceeded"
	// Duplicate: another pod is on the node, and stays.
	Duplicate StepReason = "Duplicate"
	// Misplaced: the pod does not belong on the node. With MaxSurge that is said of a new
	// pod, too, which a taint that came later keeps from being scheduled.
	Misplaced StepReason = "Misplaced"
	// NodeGone: the node that the pod was meant for is gone, and the pod, which was
	// not scheduled, would wait for it for ever.
	NodeGone StepReason = "NodeGone"
)

// Plan returns what is to be done now, and counts it as under way: asked again at once,
// it returns what else may be done, which is mostly nothing. It costs what has changed
// since the last time, and what it returns.
//
// Deletions that have nothing to do with a rollout come first, then pods that are
// missing, then the rollout: nodes whose old pod is not available before others.
func (p *Planner) Plan(now time.Time) Plan {
	p.advance(now)
	p.settle()
	plan := Plan{Owner: p.config.Owner, Spec: p.spec}
	p.creations.number++
	p.deletions.number++
	p.planLooks(&plan)
	if p.refusal == nil {
		p.planDeletions(&plan)
		p.planCreations(&plan)
		p.planRollout(&plan)
	}
	if len(plan.Create) == 0 && p.queues[toCreate].first() == nil {
		p.creations.rest()
	}
	plan.Next = p.nextTime()
	return plan
}

func (p *Planner) planDeletions(plan *Plan) {
	for p.mayDelete() {
		n := p.pick(toDelete, &p.deletions, nil)
		if n == nil {
			return
		}
		for s := n.pods; s != nil && p.mayDelete(); s = s.next {
			if s.leave != "" && !s.leaving() && !p.now.Before(s.refused.retry()) {
				p.handOutDeletion(plan, s, s.leave)
			}
		}
		p.judge(n)
	}
}

func (p *Planner) planCreations(plan *Plan) {
	for p.mayCreate() {
		n := p.pick(toCreate, &p.creations, nil)
		if n == nil {
			return
		}
		p.handOutCreation(plan, n, n.situation.create)
	}
}

// planRollout takes candidates as long as the limits allow. Each one changes the counts
// that they are compared with.
func (p *Planner) planRollout(plan *Plan) {
	limits, err := p.spec.Rollout.Limits(p.counts.of(desired))
	if err != nil {
		return // no node is a candidate then
	}
	r := remaining{planner: p, limits: limits}
	p.take(plan, toInsist, r.forInsisting, OutdatedUnavailable)
	p.take(plan, outdatedUnavailable, r.forUnavailable, OutdatedUnavailable)
	p.take(plan, outdatedAvailable, r.forAvailable, Outdated)
	p.take(plan, toRetire, r.forRetiring, Misplaced)
}

// take begins with the nodes of a queue, in its order, until one may not be taken yet.
func (p *Planner) take(plan *Plan, from queueName, may func(*nodeState) bool, why StepReason) {
	for n := p.queues[from].first(); n != nil && may(n); n = p.queues[from].first() {
		calls, room := &p.deletions, p.mayDelete()
		if p.createsFirst(n) {
			calls, room = &p.creations, p.mayCreate()
		}
		if !room {
			return
		}
		p.replace(plan, p.pick(from, calls, p.config.Less), why)
	}
}

// createsFirst reports whether a node gets its new pod before the old one goes.
func (p *Planner) createsFirst(n *nodeState) bool { return p.surges && n.verdict.Run }

// remaining is what the limits of a rollout leave.
type remaining struct {
	planner *Planner
	limits  Limits
}

// forUnavailable says whether a node may be taken whose old pod is not available.
func (r *remaining) forUnavailable(n *nodeState) bool {
	switch {
	case !r.partition(n):
		return false
	case !r.planner.spec.Rollout.Strict:
		return true
	case r.planner.surges:
		return r.surge()
	}
	return r.planner.counts.of(between) < r.limits.Unavailable
}

// forAvailable says whether a node may be taken whose old pod is available.
func (r *remaining) forAvailable(n *nodeState) bool {
	switch {
	case !r.partition(n):
		return false
	case r.planner.surges:
		return r.surge()
	}
	return r.planner.counts.of(unavailable) < r.limits.Unavailable
}

// surge says whether another node may get a second pod.
func (r *remaining) surge() bool { return r.surged() < r.limits.Surge }

// surged is how many nodes have a second pod.
func (r *remaining) surged() int {
	surged := r.planner.counts.of(surging)
	if r.planner.spec.Rollout.Strict {
		surged += r.planner.counts.of(between)
	}
	return surged
}

// forInsisting says whether a node may be taken that is counted among those with a second
// pod already.
func (r *remaining) forInsisting(n *nodeState) bool {
	return r.partition(n) && r.surged() <= r.limits.Surge
}

// forRetiring says whether there are more available pods than nodes that should have one.
func (r *remaining) forRetiring(n *nodeState) bool {
	return r.partition(n) && r.planner.counts.of(serving) > r.planner.counts.of(desired)
}

// partition says whether the partition lets a node go on. It is counted of the nodes that
// should have a pod; the others keep theirs as long as there is a partition at all.
func (r *remaining) partition(n *nodeState) bool {
	if !n.verdict.Run {
		return r.limits.Partition == 0
	}
	return r.planner.counts.of(behind) > r.limits.Partition
}

// replace begins with one node: the old pod goes, or the new one comes.
func (p *Planner) replace(plan *Plan, n *nodeState, why StepReason) {
	if p.createsFirst(n) {
		p.handOutCreation(plan, n, Surging)
		return
	}
	p.handOutReplacement(plan, n, why)
}

func (p *Planner) handOutReplacement(plan *Plan, n *nodeState, why StepReason) {
	for s := n.pods; s != nil; s = s.next {
		if !s.leaving() && !s.terminal() && s.leave == "" {
			p.handOutDeletion(plan, s, why)
		}
	}
	n.taken = n.taken || why == Outdated
	p.judge(n)
}

func (p *Planner) handOutDeletion(plan *Plan, s *podState, why StepReason) {
	if why == PodFailed || why == PodSucceeded {
		s.node.failed.replaced(p.now)
	}
	s.settles = false // what is being read is of before
	p.setDeletion(s, handedOut)
	plan.Delete = append(plan.Delete, Deletion{Pod: s.pod.Name, UID: s.pod.UID, Node: s.node.name, Reason: why})
}

func (p *Planner) handOutCreation(plan *Plan, n *nodeState, why StepReason) {
	n.creating, n.flight = true, p.creations.number
	p.creations.underWay++
	step := Creation{Node: n.name, Reason: why, Attempt: n.attempt, Revision: p.spec.Revision}
	if n.doubt.revision == step.Revision {
		step.Attempt = n.doubt.attempt
	}
	plan.Create = append(plan.Create, step)
	p.judge(n)
}

func (p *Planner) mayCreate() bool { return p.creations.room(p.now, p.unseen.created) }

func (p *Planner) mayDelete() bool {
	return p.deletions.room(p.now, p.deleting-p.deletions.underWay)
}

// nextTime returns when something changes by itself.
func (p *Planner) nextTime() time.Time {
	next := p.nextTimer()
	next = earlier(next, p.unseen.next())
	for _, hold := range []time.Time{p.creations.refused.hold(), p.deletions.refused.hold()} {
		if p.now.Before(hold) {
			next = earlier(next, hold)
		}
	}
	return next
}

// earlier returns the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
