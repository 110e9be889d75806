package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func (c *Cluster) check(p place) {
	pods := total(c.Workloads, maxPods, func(w *Workload) int { return c.pods(w) })
	p.unless(len(c.Zones) > 0, "zones", "there is none; a cluster has at least one zone with a node")
	p.unless(c.size() <= maxNodes, "zones", "have more than %d nodes together", maxNodes)
	p.unless(pods <= maxPods, "workloads /cluster.zones", "have more than %d pods together", maxPods)
}

func (z *Zone) check(p place) {
	if len(z.Groups) == 0 {
		p.unless(z.Racks <= z.Nodes, "racks nodes", "is %d, but the zone has %d nodes; some racks would be empty", z.Racks,
			z.Nodes)
		return
	}
	nodes := total(z.Groups, maxNodes, func(g *Group) int { return g.Nodes })
	p.unless(z.Racks == 0, "racks groups", "contradicts groups, which name their racks; leave out one of them")
	p.unless(nodes == z.Nodes, "nodes groups", "is %d, but the groups of the zone have %d nodes together", z.Nodes, nodes)
}

func (t *NodeTaint) check(p place) {
	p.unless(!OwnedTaint(t.Key), "key", "%s follows from what happens to the node; leave it out", shown(t.Key))
}

func (w *Workload) check(p place) {
	daemons, pods := w.Kind == DaemonSet, w.Replicas
	p.unless(!daemons || pods == 0, "replicas kind", "a DaemonSet has a pod on each node; leave out replicas")
	p.unless(daemons || pods >= 1, "replicas kind", "is %d; say how many pods the workload has", pods)
	p.unless(!daemons || !w.EveryTaint, "everyTaint kind",
		"the pods of a DaemonSet tolerate that their node is ill, and no more; leave it out")
	p.unless(!daemons || w.TolerationSeconds == nil, "tolerationSeconds kind",
		"the pods of a DaemonSet tolerate for ever; leave it out")
	const contradiction = "contradicts tolerateForever; leave out one of them"
	p.unless(!w.TolerateForever || !w.EveryTaint, "everyTaint tolerateForever", contradiction)
	p.unless(!w.TolerateForever || w.TolerationSeconds == nil, "tolerationSeconds tolerateForever", contradiction)
	known := len(w.Placed) > 0
	for _, name := range slices.Sorted(maps.Keys(w.Placed)) {
		if group, count := p.Cluster.group(name), w.Placed[name]; group == nil {
			known = false
		} else {
			at := place{p.checker, child(p.in("placed"), name)}
			at.unless(!daemons || count <= group.Nodes, ". /"+p.in("kind")+" /cluster.zones",
				"is %d, but the group has %d nodes, and each has at most one pod of a DaemonSet", count, group.Nodes)
			at.unless(len(w.Pools) == 0 || slices.Contains(w.Pools, group.Pool), ". /"+p.in("pools")+" /cluster.zones",
				"is not in one of the pools of the workload")
		}
	}
	p.unless(!known || daemons || w.placed() == pods, "placed replicas kind placed",
		"has %d pods together, but the workload has %d replicas", w.placed(), pods)
}

func (t *Toleration) check(p place) {
	exists := t.Operator == string(corev1.TolerationOpExists)
	p.unless(t.Key != "" || exists, ". key operator", "has no key; give it one, or operator: Exists for all taints")
	p.unless(t.Value == "" || !exists, "value operator",
		"contradicts operator: Exists, which is for every value; leave out one of them")
	p.unless(t.Seconds == nil || t.Effect == string(corev1.TaintEffectNoExecute), "seconds effect",
		"is only for effect: NoExecute")
}

func (c *Controller) check(p place) {
	_, problems := c.options()
	for _, problem := range problems {
		place{p.checker, problem.Path}.unless(false, ".", "%s", problem.Message)
	}
}

func (p place) replica(replica *int) {
	if replicas := max(p.Controller.Replicas, 1); replica != nil {
		p.unless(*replica < replicas, "replica /controller.replicas",
			"there is no replica %d; controller.replicas is %d, counted from 0", *replica, replicas)
	}
}

func (w *Watch) check(p place)   { p.replica(w.Replica) }
func (r *Process) check(p place) { p.replica(r.Replica) }

func (w *StaleWatch) check(p place) {
	w.Watch.check(p)
	p.unless(w.Delay.Max != 0, "delay.max", "is 0s; a watch without delay is not stale")
}

func (*SplitBrain) check(p place) {
	p.unless(p.Controller.Replicas > 1, ". /controller.replicas",
		"there is one replica; set controller.replicas to 2 or more")
}

func (r *Range) check(p place) {
	p.unless(r.Min <= r.Max, ". min max", "min is %v and max is %v; the lesser comes first", r.Min, r.Max)
}

func (n *Nodes) check(p place) {
	restricted := len(n.Names) > 0 || n.Zone != "" || n.Rack != nil || n.Pool != ""
	p.unless(n.All || restricted || n.Count != 0 || n.Share != 0, ". .",
		"says no nodes; give it zone, rack, pool, names, count or share, or all: true")
	p.unless(!n.All || !restricted, ".",
		"has all and what restricts it; leave out all, or else names, zone, rack and pool")
	p.unless(n.Count == 0 || n.Share == 0, ".", bothParts)
	if n.Rack != nil {
		p.rack(n)
	}
	for i, name := range n.Names {
		zone, _ := p.Cluster.node(name)
		if zone == nil {
			p.unless(false, item("names", i)+" /cluster.zones", "there is no node %s; nodes are %s", shown(name),
				listed(p.Cluster.nodeRanges()))
		} else if n.Zone != "" {
			p.unless(zone.Name == n.Zone, item("names", i)+" zone /cluster.zones", "%s is in zone %s, not in %s", shown(name),
				zone.Name, n.Zone)
		}
	}
	if !p.wrong.within(p.path) {
		matching := p.Cluster.Matching(n)
		p.unless(matching > 0, ". . /cluster.zones", "no node is all of that")
		p.unless(n.Count <= matching, "count . /cluster.zones", "is %d, but only %d nodes are described", n.Count, matching)
	}
}

// bothParts is said of what takes a part of nodes or pods in two ways.
const bothParts = "has count and share; leave out one of them"

// rack checks that a zone has that many racks.
func (p place) rack(n *Nodes) {
	most, where := 0, "any zone"
	for i := range p.Cluster.Zones {
		if z := &p.Cluster.Zones[i]; n.Zone == "" || n.Zone == z.Name {
			most = max(most, z.racks())
		}
	}
	if n.Zone != "" {
		where = "zone " + n.Zone
	}
	p.unless(*n.Rack < most, "rack zone /cluster.zones", "there is no rack %d in %s; the last is %d", *n.Rack, where,
		most-1)
}

func (t *Pods) check(p place) {
	p.unless(t.Count == 0 || t.Share == 0, ".", bothParts)
	if w := p.Cluster.workload(t.Workload); w != nil && !p.wrong.within(p.path) {
		pods := p.Cluster.pods(w)
		p.unless(t.Count <= pods, "count /cluster.workloads /cluster.zones", "is %d, but workload %s has %d pods", t.Count,
			t.Workload, pods)
	}
}

func (t *Tolerate) check(p place) {
	w := p.Cluster.workload(t.Pods.Workload)
	p.unless(w == nil || w.Kind != DaemonSet && !w.TolerateForever, "pods.workload /cluster.workloads",
		"the pods of %s tolerate for ever, which cannot be changed", t.Pods.Workload)
}

func (r *RollOut) check(p place) {
	w := p.Cluster.workload(r.Workload)
	p.unless(w == nil || w.Kind == DaemonSet, "workload /cluster.workloads", "is no DaemonSet")
	p.unless(p.Cluster.DaemonSets == ByController, ". /cluster.daemonSets",
		"nothing rolls a DaemonSet out without daemonSets: controller")
}

func (m *Move) check(p place) {
	p.unless(m.Zone == "" || m.Zone != m.Nodes.Zone, "zone nodes.zone", "the nodes are in zone %s already", m.Zone)
}

func (h *Hostile) check(p place) {
	p.unless(len(h.Zones) > 0 || h.Taints != "" || h.Leases != "", ". .",
		"does nothing; give it zones, taints or leases")
}

func (s *Step) check(p place) {
	p.unless(s.At < p.Duration || p.Duration <= 0, "at at /duration", "is %v, but the scenario ends after %v", s.At,
		p.Duration)
	faults, all := s.faults()
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.name
		p.unless(s.For > 0 || !f.is("repeats"), f.name+" for", "needs for, which says until when")
	}
	p.unless(len(faults) > 0, ". "+anyField, "nothing happens; give it one of %s", listed(all))
	p.unless(len(faults) < 2, ".", "has %d faults, %s; make a step of each", len(faults), strings.Join(names, " and "))
	if len(faults) == 1 {
		s.times(p, &faults[0])
	}
	if d := s.ClockDrift; d != nil && d.Every > 0 {
		steps := max(int64(s.For/d.Every), 1)
		p.unless(d.By.D().Abs() <= maxClockStep.D()/time.Duration(steps), "clockDrift.by clockDrift.by clockDrift.every for",
			"is %v, %d times; at most %v together", d.By, steps, maxClockStep)
	}
}

// times checks how long a step's only fault lasts and how it spreads.
func (s *Step) times(p place, f *fault) {
	endless, spread := f.is("endless"), ""
	p.unless(!endless || s.For == 0, "for for", "%s has no end; leave out for", f.name)
	p.unless(!endless || s.RecoverOver == 0, "recoverOver recoverOver", "%s has no end; leave out recoverOver", f.name)
	switch {
	case f.is("flaps"):
		spread = "nodes that flap begin and end each at a time of its own"
	case !f.is("hits nodes"):
		spread = f.name + " does not hit nodes, over which it could be spread"
	}
	if spread != "" {
		p.unless(s.Over == 0, "over over", "%s; leave out over", spread)
		p.unless(s.RecoverOver == 0 || endless, "recoverOver recoverOver", "%s; leave out recoverOver", spread)
		return
	}
	p.unless(s.RecoverOver == 0 || s.For > 0 || endless, "recoverOver recoverOver for",
		"needs for, which says when it ends")
	p.unless(s.For <= 0 || endless || s.For+s.RecoverOver >= s.Over, "over over for recoverOver",
		"is %v, but the last nodes recover after %v; they would before they are hit", s.Over, s.For+s.RecoverOver)
}
