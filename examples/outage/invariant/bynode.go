package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// illnessSeen is a stretch in which a client sees a node as not ready.
type illnessSeen struct {
	ongoing bool
	// at is when it was seen to begin, from and to the earliest and the latest
	// time that it may be counted from.
	at, from, to time.Duration
	// over is when it was seen to end.
	over time.Duration
	// emptied says that a pod was told to leave because of it, since emptiedAt.
	emptied   bool
	emptiedAt time.Duration
}

func (i *illnessSeen) end(now time.Duration) {
	if i.ongoing {
		*i = illnessSeen{over: now}
	}
}

// observeIllness keeps since when a client sees a node ill.
func (v *view) observeIllness(now time.Duration, n *seenNode) {
	switch ill := saidIll(n.object); {
	case !ill:
		n.illness.end(now)
	case !n.illness.ongoing:
		from, to := v.beginning(now, condition(n.object, corev1.NodeReady))
		n.illness = illnessSeen{ongoing: true, at: now, from: from, to: to, over: n.illness.over}
	}
}

// beginning returns from when a client counts an illness that it sees now.
func (v *view) beginning(now time.Duration, ready *corev1.NodeCondition) (from, to time.Duration) {
	begins := v.countsFrom(now, v.judge.sinceStart(ready.LastTransitionTime.Time))
	return begins.earliest, begins.latest + v.judge.settings.Skew
}

// releasable returns the earliest time at which a client may evict a node.
func (v *view) releasable(n *seenNode) time.Duration {
	timeout := v.judge.settings.Timeout
	from := n.illness.from + timeout
	if v.forbids.heldTo >= 0 && v.forbids.outage {
		from = max(from, v.forbids.heldTo+timeout)
	}
	return from
}

// judgeNodeEviction judges a call that makes a pod leave because its node is
// ill. It returns since when the pod could have been due.
func (j *Judge) judgeNodeEviction(s *sent, p *pod) time.Duration {
	v, client := s.view, s.view.client.Name
	n := v.nodes[p.on.name]
	switch {
	case n == nil || isDaemon(p.object):
		j.violated(TimeoutKept, string(p.uid), "%s makes pod %s (%s) leave node %s, which nothing asks for", client, p.name,
			p.uid, p.on.name)
		return never
	case !n.illness.ongoing && n.illness.over < s.after:
		j.violated(SparedWhenReady, string(p.uid),
			"%s makes pod %s (%s) leave node %s by a call of %v, though it sees the node ready since %v",
			client, p.name, p.uid, n.name, s.at, n.illness.over)
		return never
	case !n.illness.ongoing:
		return -never
	case v.forbids.lastActed(s.at) < s.after:
		j.violated(SparedInOutage, string(p.uid),
			"%s makes pod %s (%s) leave node %s though nothing may be done from %v on until %v (phase %d)",
			client, p.name, p.uid, n.name, v.forbids.actedTo, v.forbids.until, v.forbids.phase)
		return never
	}
	from := v.releasable(n)
	if s.at < from {
		j.violated(TimeoutKept, string(p.uid),
			"%s makes pod %s (%s) leave node %s by a call of %v, which is ill since %v and not to be emptied before %v",
			client, p.name, p.uid, n.name, s.at, n.illness.from, from)
	}
	if !n.illness.emptied {
		j.judgeRelease(s, p, n, min(max(from, s.view.known(n)), s.at))
		n.illness.emptied, n.illness.emptiedAt = true, s.at
		p.on.leave.cancel()
	}
	return from
}

// judgeRelease judges the first eviction from a node. A node that had no pods
// has used no token. If the pod came to it later it cannot be said when the
// node was released.
func (j *Judge) judgeRelease(s *sent, p *pod, n *seenNode, from time.Duration) {
	client := s.view.client.Name
	if known := s.view.known(n); s.at < known {
		j.violated(KnownFirst, n.name, "%s empties node %s of zone %s, which it saw fall at %v, before %v, when a wave of "+
			"expiries has passed since the first",
			client, n.name, n.zone.key, n.fell, known)
	}
	j.judgeOutage(s, n)
	n.zone.used, n.zone.last = true, n.zone.low.sum(s.at)
	if n.movedAt >= from || s.view.arrivals[p.uid] >= n.illness.at {
		return
	}
	counts := s.view.census.zones[n.citizen.zone]
	switch {
	case !n.zone.high.open(from, s.at):
		j.violated(WithinRate, n.name, "%s empties node %s of zone %s, whose rate is 0 since %v (%d ready, %d not)",
			client, n.name, n.zone.key, n.zone.high[len(n.zone.high)-1].from, counts.ready, counts.notReady)
	case !n.zone.empties(from, s.at):
		j.violated(WithinRate, n.name, "%s empties node %s of zone %s faster than %v a second allow (%d ready, %d not)",
			client, n.name, n.zone.key, n.zone.high.now(), counts.ready, counts.notReady)
	}
}

// empties uses a token at some time from one moment to another, and reports
// whether that is possible together with all others. Calls may come in another
// order than tokens were used, since pods wait for more than them. So it does
// not say when each was used. It counts those that must have been used since
// each moment.
func (z *seenZone) empties(from, to time.Duration) bool {
	first, last := z.high.sum(from), z.high.sum(to)
	i, _ := slices.BinarySearch(z.emptied, first)
	z.emptied = slices.Insert(z.emptied, i, first)
	for i, since := range z.emptied {
		if since <= first && float64(len(z.emptied)-i) > last-since+1+almost {
			return false
		}
	}
	return true
}

// isDaemon reports whether a DaemonSet owns a pod.
func isDaemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && o.Kind == "DaemonSet"
	})
}

// emptiedSince returns since when a pod has to leave because its node is
// emptied.
func (v *view) emptiedSince(p *pod) time.Duration {
	n := v.nodes[p.on.name]
	if n == nil || !n.illness.emptied || isDaemon(p.object) {
		return never
	}
	return max(n.illness.emptiedAt, p.bound)
}

// idleNodes looks for nodes that are not emptied though they could be.
func (c *checking) idleNodes() {
	if c.settings.Action == DryRun {
		return // no client can see it
	}
	before := c.now - c.settings.bound()
	for _, n := range c.inOrder {
		seen := c.view.nodes[n.name]
		if seen == nil || !seen.illness.ongoing || seen.illness.emptied || seen.movedAt > before {
			continue
		}
		asleep := c.view.client.SuspendedFor(seen.illness.to, c.now)
		asked := max(seen.illness.to+asleep+c.settings.Timeout, c.view.known(seen))
		if c.view.excuses.heldTo >= 0 {
			asked = max(asked, c.view.excuses.heldTo+c.settings.Timeout)
		}
		asked = c.goesOn(asked)
		if asked > before || c.view.excuses.held || !c.late(asked, evictions) || !seen.zone.idleSince(before, c.calm) ||
			!c.hasPodsToLeave(n, before) {
			continue
		}
		c.violated(NoIdleToken, n.name,
			"node %s of zone %s, which is ill since %v, is not emptied, though its zone has had a token for %v or more",
			n.name, seen.zone.key, seen.illness.to, c.settings.bound())
	}
}

// hasPodsToLeave reports whether a node has pods that could leave since before
// some time, and do not leave for a taint anyway. By then there was a token for
// them in every budget, and their last refusal by a PodDisruptionBudget was
// long over.
func (c *checking) hasPodsToLeave(n *node, before time.Duration) bool {
	return slices.ContainsFunc(n.pods, func(p *pod) bool {
		return !p.leaves() && !isDaemon(p.object) &&
			max(p.bound, p.refusedAt+c.settings.CalmBound, c.view.tokenFor(p)) < before &&
			p.earliestDue(n.newest.taints, p.tolerations(), true, c.view.nodes[n.name]) > c.now
	})
}
