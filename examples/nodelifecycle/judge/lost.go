package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

const (
	// InTime: a pod that must leave is terminating, or gone. [E1, E2, E3, E5]
	InTime Invariant = "in time"
	// EvictedInOrder: a pod that must leave is told so before any that had to much
	// later, however few calls the process may send. [Q2, E14]
	EvictedInOrder Invariant = "evicted in order"
	// PodsNotReady: no pod that was Ready before its node became Unknown still is.
	// [H6]
	PodsNotReady Invariant = "pods of unknown nodes are not ready"
)

// What is lost is late for ever.
var lost = rules{
	pod:     []func(*checking, *pod){leavesInTime, notReady},
	leaving: []func(*sent){served},
}

// A pod leaves when its time has come, and before those whose time came much
// later.
func leavesInTime(c *checking, p *pod) {
	n := p.on
	if p.leaves() || c.settings.Action == DryRun || c.settings.SpareDaemons && isDaemon(p.object) {
		return
	}
	ours, due := p.latestDue(c.process)
	if ours = min(ours, c.emptiedSince(p)); ours != never {
		if c.cluster.doubt.ongoing {
			n.visit = min(n.visit, c.now+5*time.Second)
		}
		due = min(due, max(ours, c.mayRest(c.process, &c.cluster.doubt)))
	}
	if due == never {
		n.visit = min(n.visit, c.now+time.Minute) // for what the process has yet to see
		return
	}
	asked := c.goesOn(c.leavesBy(p, max(due, n.latest().at, p.latest().at)))
	if asked == never {
		n.visit = min(n.visit, c.now+5*time.Second) // for what its budget will allow
		return
	}
	// One that was tried may wait for its retry.
	waits := max(asked, c.calm+c.settings.CalmBound, p.tried+c.settings.CalmBound)
	if !c.settings.LowPriorityFirst && c.process.served > waits+c.settings.bound() {
		c.violated(EvictedInOrder, string(p.uid),
			"pod %s (%s) on node %s waits, though it was due at %v at the latest, and one that was due at %v has left",
			p.name, p.uid, n.name, due, c.process.served)
	}
	if !c.late(asked, evictions) {
		n.visit = min(n.visit, max(asked, c.now)+time.Second)
		return
	}
	s := &sent{Judge: c.Judge, process: c.process, pod: p, known: n.since(c.newest)}
	c.violated(InTime, string(p.uid), "pod %s (%s) on node %s has not left, though it was due at %v at the latest: %s",
		p.name, p.uid, n.name, due, s.describe())
}

// served remembers when the pod was due that had to leave last.
func served(s *sent) {
	if s.due.taints != never { // with a clock that is ahead it may be told before
		s.process.served = max(s.process.served, min(s.due.taints, s.at))
	}
}

// emptiedSince returns since when a pod has to leave because its node is
// emptied.
func (c *checking) emptiedSince(p *pod) time.Duration {
	ill := p.on.latest().ill
	if ill == nil || isDaemon(p.object) || !c.process.emptying(ill) {
		return never
	}
	at, doubt := ill.emptied[c.process.client], &c.cluster.doubt
	if doubt.ever && (doubt.ongoing || doubt.to > at) {
		return never
	}
	return max(at, p.bound)
}

// leavesBy returns from when a pod that is due may be expected to leave. That
// depends on the tokens that it needs, and on the action that there is.
func (c *checking) leavesBy(p *pod, due time.Duration) time.Duration {
	due = max(due, c.process.tokenFor(p))
	if !c.settings.evicts() {
		return due
	}
	evicted := never
	if since := allowedSince(c.world.Budget(p.object), p); since != never {
		evicted = max(due, since+c.settings.CalmBound)
	}
	if c.settings.Action == Evict {
		return evicted
	}
	return min(evicted, max(due, c.process.synced)+c.settings.EvictFor+c.settings.CalmBound)
}

// allowedSince returns since when a pod's budget has allowed its eviction;
// without one for ever.
func allowedSince(b *model.DisruptionBudget, p *pod) time.Duration {
	if b == nil {
		return -never
	}
	since := b.AllowedSince
	if !model.PodReady(p.object) && b.EnoughSince >= 0 && (since < 0 || b.EnoughSince < since) {
		since = b.EnoughSince
	}
	if since < 0 {
		return never
	}
	return since
}

// A pod whose node has become Unknown is not ready.
func notReady(c *checking, p *pod) {
	n := p.on
	if n.ready != corev1.ConditionUnknown || p.object == nil || !model.PodReady(p.object) || p.readySince > n.readySince {
		return
	}
	asked := n.declared.asked(max(n.readySince, p.bound), longestWait)
	if !c.late(asked, podMarks) {
		n.visit = min(n.visit, max(asked, c.now)+time.Second)
		return
	}
	c.violated(PodsNotReady, string(p.uid), "pod %s (%s) is Ready though node %s is Unknown since %v", p.name, p.uid,
		n.name, n.readySince)
}
