package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// DeclaredInTime: a node that is silent for a grace period is Unknown. [H2, H4]
	DeclaredInTime Invariant = "declared in time"
	// NoIdleToken: no node waits for its turn while its zone has a token. [Q3, Q9]
	NoIdleToken Invariant = "no idle token"
	// InOrder: of two nodes of a zone that wait, the one that fell much earlier
	// gets our NoExecute taint first. [Q2]
	InOrder Invariant = "in order"
	// Recovered: a node that is ready, and has beaten, has no taint of ours that
	// says otherwise. [H8]
	Recovered Invariant = "recovered"
	// TaintsFollow: a node has exactly those of our NoSchedule taints that its
	// conditions and spec.unschedulable ask for. [T2]
	TaintsFollow Invariant = "taints follow the conditions"
)

var late = rules{
	node: []func(*checking, *node){declaredInTime, recovered, taintsFollow, taintedInTime, emptiedInTime},
	turn: []func(*sent, *node){inOrder},
}

// checking is one round of Check, of the process that acts.
type checking struct {
	*Judge
	now     time.Duration
	process *process
}

// begin begins with another process, or another calm: what there is to do by when
// depends on that.
func (c *checking) begin(calm time.Duration) {
	c.acting, c.calm = c.process, calm
	for _, n := range c.inOrder {
		n.visit = 0
	}
}

// check looks at a node, and at its pods if something of them may be late.
func (c *checking) check(n *node) {
	visit := c.now >= n.visit
	if visit {
		n.visit = never
	}
	for _, outcome := range outcomes {
		for _, rule := range outcome.node {
			rule(c, n)
		}
		for _, rule := range outcome.pod {
			for i := 0; visit && i < len(n.pods); i++ {
				rule(c, n.pods[i])
			}
		}
	}
}

// goesOn returns from when on what a halt holds may be expected, of what was
// asked for at some time. It is never while the halt lasts.
func (c *checking) goesOn(asked time.Duration) time.Duration {
	if c.halt.halted {
		return never
	}
	return max(asked, c.halt.since)
}

// A node that is silent for its grace period is declared.
func declaredInTime(c *checking, n *node) {
	m := n.machine
	if m == nil || n.ready == corev1.ConditionUnknown {
		return
	}
	grace, heard := c.settings.Grace, max(m.LastBeat, n.created)
	if m.LastBeat < n.created || m.Beats == 0 {
		grace = max(grace, c.settings.StartupGrace)
	}
	if c.now > heard+grace+c.settings.bound() && c.late(max(heard, c.calm)+grace, declarations) {
		c.violated(DeclaredInTime, n.name, "node %s has last beaten at %v, or come at %v, and is not Unknown", n.name,
			m.LastBeat, n.created)
	}
}

// A node that is ready, and has beaten since the process is shown it, is
// untainted.
func recovered(c *checking, n *node) {
	m := n.machine
	if n.relapse == never || m == nil || m.LastBeat <= max(c.process.synced, n.created) {
		return
	}
	wait := longestWait
	if illnessOf(n.object, executes) != nil {
		wait = longestProtectiveWait
	}
	heard := max(c.process.synced, n.created) + 2*c.settings.BeatInterval + c.settings.Delay
	if c.late(n.written.asked(max(n.relapse, n.readySince+c.settings.Recovery, heard), wait), recoveries) {
		c.violated(Recovered, n.name,
			"node %s is ready since %v and has beaten, and still has a taint that says otherwise", n.name, n.readySince)
	}
}

// A node has the NoSchedule taints that its conditions ask for.
func taintsFollow(c *checking, n *node) {
	if n.wrongKey == "" {
		return
	}
	asked := n.wrong
	if illnessTaint(n.wrongKey) {
		asked = max(asked, n.readySince+c.settings.Recovery)
	}
	if asked = n.written.asked(asked, longestWait); c.late(asked, otherWrites) {
		c.violated(TaintsFollow, n.name, "node %s has taint %s:NoSchedule though its state does not ask for it, "+
			"or the other way around, since %v", n.name, n.wrongKey, asked)
	}
}

// A node does not wait for our NoExecute taint while its zone has a token.
func taintedInTime(c *checking, n *node) {
	if c.settings.ByNode || !n.waits() || n.fell == never {
		return
	}
	waits := max(n.readySince, n.latest().at, n.moved)
	asked := c.goesOn(max(waits, n.fell+c.settings.wave(), n.called))
	if c.isIdle(n, asked) && c.late(waits, otherWrites) {
		c.violated(NoIdleToken, n.name,
			"node %s of zone %s waits for its NoExecute taint since %v, though the zone has had a token for %v or more",
			n.name, n.zone, n.fell, c.settings.bound())
	}
}

// isIdle reports whether a node could have had its turn since a time: it did not
// wait for anything else, and its zone had a token.
func (c *checking) isIdle(n *node, asked time.Duration) bool {
	before, rests := c.now-c.settings.bound(), c.mayRest(c.process, &c.cluster.doubt)
	if asked > before || rests > before {
		return false
	}
	used := c.process.turnsIn(n.zone).used
	return c.cluster.zone(n.zone).earned(max(used, c.calm, rests), before, c.settings.wave()+c.settings.lag()) >= 1
}

// With Settings.ByNode a node is emptied when it was ill for the timeout and its
// zone has a token.
func emptiedInTime(c *checking, n *node) {
	ill := n.latest().ill
	if !c.settings.ByNode || ill == nil || c.process.emptying(ill) || c.settings.Action == DryRun {
		return // no client can see a dry run
	}
	from := ill.latest(c.process)
	if from == never {
		return
	}
	from += c.settings.Skew
	asked := from + c.process.client.SuspendedFor(from, c.now) + c.settings.Timeout
	if c.cluster.doubt.ever {
		asked = max(asked, min(c.mayRest(c.process, &c.cluster.doubt), never-c.settings.Timeout)+c.settings.Timeout)
	}
	asked = c.goesOn(max(asked, n.fell+2*c.settings.wave(), n.moved))
	before := c.now - c.settings.bound()
	if c.isIdle(n, asked) && c.late(asked, evictions) &&
		slices.ContainsFunc(n.pods, func(p *pod) bool { return c.leavesWithItsNode(p, before) }) {
		c.violated(NoIdleToken, n.name,
			"node %s of zone %s, which is ill since %v, is not emptied, though its zone has had a token for %v or more",
			n.name, n.zone, from, c.settings.bound())
	}
}

// leavesWithItsNode reports whether a pod could leave with its node since before
// some time, and does not leave for a taint anyway. By then there was a token for
// it in every budget, and its last refusal by a PodDisruptionBudget was long over.
func (c *checking) leavesWithItsNode(p *pod, before time.Duration) bool {
	s := &sent{
		Judge: c.Judge, process: c.process, pod: p, known: p.on.since(c.newest), podKnown: p.since(c.newest),
	}
	return !p.leaves() && !isDaemon(p.object) && s.deadlines().taints > c.now &&
		max(p.bound, p.refused+c.settings.CalmBound, c.process.tokenFor(p)) < before
}

// Of two nodes of a zone that wait, the one that fell much earlier comes first. Of
// newcomers, and of nodes that may have been found silent later, it cannot be said
// since when they wait. Neither can it of one to which a write has failed.
func inOrder(s *sent, n *node) {
	p, slack := s.process, s.settings.lag()
	informed := s.informed(p)
	if s.node == nil || informed == never || n.fell == never || !reported(n.object) || p.led < 0 ||
		s.at < informed+s.settings.CalmBound {
		return
	}
	known := max(informed, p.led, p.resumedAt) + s.settings.Grace
	for _, other := range s.inOrder {
		if other != n && other.zone == n.zone && other.fell+s.settings.wave()+slack < n.fell &&
			other.waitsSince(known, s.after-slack) {
			s.charge(InOrder, "it fell at %v, and node %s of the same zone, which waits, at %v",
				n.fell, other.name, other.fell)
			return
		}
	}
}

// waitsSince reports whether a node waits for its turn since it fell, which was
// after one moment, and nothing has happened to it since another.
func (n *node) waitsSince(known, untouched time.Duration) bool {
	m := n.machine
	return n.waits() && m != nil && n.fell >= known && n.failed < n.fell &&
		max(n.latest().at, n.readySince, n.moved, n.called) <= untouched &&
		m.LastBeat <= n.fell && m.LastBeat >= n.created
}
