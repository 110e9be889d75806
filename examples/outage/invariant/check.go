package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// appointment is when to look at something again. The zero value is now.
type appointment struct {
	made bool
	at   time.Duration
}

func (a *appointment) cancel() { a.made = false }

// due reports whether it is time to look, and if so cancels the appointment.
func (a *appointment) due(now time.Duration) bool {
	if a.made && now <= a.at {
		return false
	}
	*a = appointment{made: true, at: never}
	return true
}

// no later than so
func (a *appointment) noLaterThan(at time.Duration) { a.at = min(a.at, at) }

// declared looks for nodes that should be Unknown.
func (c *checking) declared() {
	for _, n := range c.inOrder {
		if n.object == nil {
			continue
		}
		m := n.machine
		if m == nil || n.ready == corev1.ConditionUnknown {
			continue
		}
		grace := c.settings.Grace
		heard := max(m.LastBeat, n.created)
		if m.LastBeat < n.created || m.Beats == 0 {
			grace = max(grace, c.settings.StartupGrace)
		}
		if c.now <= heard+grace+c.settings.bound() {
			continue
		}
		if c.late(max(heard, c.calm)+grace, declarations) {
			c.violated(DeclaredInTime, n.name, "node %s has last beaten at %v, or come at %v, and is not Unknown", n.name,
				m.LastBeat, n.created)
		}
	}
}

// taintsOfNodes looks for taints that should be there or should not.
func (c *checking) taintsOfNodes() {
	for _, n := range c.inOrder {
		if n.object == nil {
			continue
		}
		if n.wrong {
			c.wrongTaints(n)
		}
		if c.outage.ongoing && c.late(n.written.asked(max(c.outage.from, n.newest.at), longestProtectiveWait), recoveries) &&
			illnessOf(n.object, corev1.TaintEffectNoExecute) != nil {
			c.violated(SparedInOutage, n.name+"/kept",
				"node %s has a NoExecute taint of ours though all zones are down since %v", n.name, c.outage.from)
		}
	}
}

func (c *checking) wrongTaints(n *node) {
	seen := c.view.nodes[n.name]
	if seen == nil || seen.object == nil || seen.object.UID != n.object.UID {
		return
	}
	if !seen.heard && c.view.beats(n.name) > seen.beats {
		seen.heard, seen.heardAt = true, c.now
	}
	c.wrongKey(n)
	if n.citizen.stands != standsReady || !seen.heard {
		return
	}
	wait := longestWait
	if illnessOf(n.object, corev1.TaintEffectNoExecute) != nil {
		wait = longestProtectiveWait
	}
	asked := n.written.asked(max(n.wrongSince, n.readySince+c.settings.Recovery, seen.heardAt), wait)
	if !c.late(asked, recoveries) {
		return
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		if t := illnessOf(n.object, effect); t != nil {
			c.violated(Recovered, n.name, "node %s is ready since %v and has beaten, and still has taint %s:%s", n.name,
				n.readySince, t.Key, effect)
		}
	}
}

// wrongKey judges a NoSchedule taint that does not follow the conditions.
func (c *checking) wrongKey(n *node) {
	key, asked := n.wrongKey, n.keySince
	if illness(key) {
		asked = max(asked, n.readySince+c.settings.Recovery)
	}
	wait := longestWait
	if closes(n.object, key) {
		wait = longestProtectiveWait
	}
	if asked = n.written.asked(asked, wait); key != "" && c.late(asked, otherWrites) {
		c.violated(TaintsFollow, n.name,
			"node %s has taint %s:NoSchedule though its state does not ask for it, or the other way around, since %v",
			n.name, key, asked)
	}
}

// newAppointments has all pods looked at again when another client acts, or
// since another time: what it has to do by when depends on that.
func (c *checking) newAppointments() {
	if c.checkedFor == c.view && c.checkedCalm == c.calm {
		return
	}
	c.checkedFor, c.checkedCalm = c.view, c.calm
	c.view.emptyBudgets(c.now)
	for _, n := range c.inOrder {
		n.leave.cancel()
		n.mark.cancel()
	}
}

// podsOfNodes looks for pods that should have left, or not be ready.
func (c *checking) podsOfNodes() {
	for _, n := range c.inOrder {
		if len(n.pods) == 0 || n.object == nil {
			continue
		}
		if c.asksToLeave(n) && n.leave.due(c.now) {
			c.leaving(n)
		}
		if n.ready == corev1.ConditionUnknown && n.mark.due(c.now) {
			c.notReady(n)
		}
	}
}

// asksToLeave reports whether pods may have to leave a node.
func (c *checking) asksToLeave(n *node) bool {
	if c.settings.Action == DryRun {
		return false
	}
	seen := c.view.nodes[n.name]
	return len(n.newest.taints) > 0 || seen != nil && seen.illness.emptied
}

func (c *checking) leaving(n *node) {
	for _, p := range n.pods {
		if p.leaves() || c.settings.SpareDaemons && isDaemon(p.object) {
			continue
		}
		ours, due := p.latestDue(c.view, &c.settings)
		ours = n.whileIll(ours)
		if held := &c.view.excuses; !held.held {
			due = min(due, max(ours, held.heldTo), max(c.view.emptiedSince(p), held.heldTo))
		}
		if due == never {
			n.leave.noLaterThan(c.now + time.Minute) // for what the client has yet to see
			continue
		}
		asked := c.goesOn(c.leavesBy(p, max(due, n.newest.at, p.versions[len(p.versions)-1].at)))
		if asked == never {
			n.leave.noLaterThan(c.now + 5*time.Second) // for what its budget will allow
			continue
		}
		if c.overtaken(p, asked) {
			c.violated(EvictedInOrder, string(p.uid),
				"pod %s (%s) on node %s waits, though it was due at %v at the latest, and one that was due at %v has left",
				p.name, p.uid, n.name, due, c.view.served)
		}
		if !c.late(asked, evictions) {
			n.leave.noLaterThan(max(asked, c.now) + time.Second)
			continue
		}
		c.violated(InTime, string(p.uid), "pod %s (%s) on node %s has not left, though it was due at %v at the latest: %s",
			p.name, p.uid, n.name, due, p.describe(&decision{node: n.newest, oursCount: !c.view.excuses.held}))
	}
}

// overtaken reports whether a pod that was expected to leave from some time on
// waits, while one that came later did not. One that was tried may wait for its
// retry.
func (c *checking) overtaken(p *pod, asked time.Duration) bool {
	asked = max(asked, c.calm+c.settings.CalmBound, p.triedAt+c.settings.CalmBound)
	return !c.settings.LowPriorityFirst && c.view.served > asked+c.settings.bound()
}

// leavesBy returns from when a pod that is due may be expected to leave. That
// depends on the tokens that it needs, and on the action that there is.
func (c *checking) leavesBy(p *pod, due time.Duration) time.Duration {
	due = max(due, c.view.tokenFor(p))
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
	return min(evicted, max(due, c.view.syncedAt)+c.settings.EvictFor+c.settings.CalmBound)
}

// allowedSince returns since when a pod's budget has allowed its eviction;
// without one for ever.
func allowedSince(b *model.DisruptionBudget, p *pod) time.Duration {
	if b == nil {
		return -never
	}
	since := b.AllowedSince
	if !isReady(p.object) && b.EnoughSince >= 0 && (since < 0 || b.EnoughSince < since) {
		since = b.EnoughSince
	}
	if since < 0 {
		return never
	}
	return since
}

func (c *checking) notReady(n *node) {
	for _, p := range n.pods {
		if p.object == nil || !isReady(p.object) || p.readySince > n.readySince {
			continue
		}
		asked := n.fell.asked(max(n.readySince, p.bound), longestWait)
		if !c.late(asked, podMarks) {
			n.mark.noLaterThan(max(asked, c.now) + time.Second)
			continue
		}
		c.violated(PodsNotReady, string(p.uid), "pod %s (%s) is Ready though node %s is Unknown since %v", p.name, p.uid,
			n.name, n.readySince)
	}
}

// idleTokens looks for nodes that wait though they need not.
func (c *checking) idleTokens() {
	if c.view.excuses.phase != acting || c.view.waiting() == 0 {
		return
	}
	before := c.now - c.settings.bound()
	if c.goesOn(0) > before {
		return
	}
	for _, n := range c.inOrder {
		seen := c.view.nodes[n.name]
		if seen == nil || !seen.waits || seen.fell+c.settings.wave() > before || max(seen.waitsFrom, seen.movedAt) > before {
			continue
		}
		if seen.calls > 0 || seen.doneAt > before || !c.late(seen.waitsFrom, otherWrites) ||
			!seen.zone.idleSince(before, c.calm) {
			continue
		}
		c.violated(NoIdleToken, n.name,
			"node %s of zone %s waits for its NoExecute taint since %v, though the zone has had a token for %v or more",
			n.name, seen.zone.key, seen.fell, c.settings.bound())
	}
}
