package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (z *Zone) nodeName(i int) string { return z.Name + "-" + strconv.Itoa(i) }

func (z *Zone) pool(i int) string {
	if group := z.GroupOf(i); group != nil {
		return group.Pool
	}
	return ""
}

// size returns how many nodes the cluster has.
func (c *Cluster) size() int {
	total := 0
	for i := range c.Zones {
		total += c.Zones[i].Nodes
	}
	return total
}

// pods returns how many pods the workload has.
func (c *Cluster) pods(w *Workload) int {
	if w.Kind != DaemonSet {
		return w.Replicas
	}
	if len(w.Placed) == 0 {
		return c.size()
	}
	total := 0
	for _, count := range w.Placed {
		total += min(max(count, 0), maxPods+1)
	}
	return total
}

func (c *Controller) replicas() int { return max(c.Replicas, 1) }

func (c *checker) zoneNames() []string {
	names := make([]string, len(c.cluster.Zones))
	for i, z := range c.cluster.Zones {
		names[i] = z.Name
	}
	return names
}

const zonesPath = "cluster.zones"

func (n *Nodes) check(c *checker, path string, _ *Step) {
	restricted := len(n.Names) > 0 || n.Zone != "" || n.Rack != nil || n.Pool != ""
	if !n.All && !restricted && n.Count == 0 && n.Share == 0 {
		c.add([]string{path}, path, "says no nodes; give it zone, rack, pool, names, count or share, or all: true")
		return
	}
	c.check(!n.All || !restricted, path,
		"has all and what restricts it; leave out all, or else names, zone, rack and pool")
	ok := c.shares(path, n.Count, n.Share)
	if !c.restrictions(path, n) {
		return
	}
	once(c, path+".names", n.Names)
	matching := c.cluster.Matching(n)
	needs := []string{path, zonesPath}
	switch {
	case matching == 0:
		c.add(needs, path, "no node is all of that")
	case ok && n.Count > matching:
		c.add(needs, path+".count", "is %d, but only %d nodes are described", n.Count, matching)
	}
}

// restrictions checks that zone, rack and names exist, each for itself and
// together.
func (c *checker) restrictions(path string, n *Nodes) bool {
	needs := []string{zonesPath}
	zones := c.cluster.Zones
	ok := true
	if n.Zone != "" {
		i := slices.IndexFunc(zones, func(z Zone) bool { return z.Name == n.Zone })
		if i < 0 {
			c.add(needs, path+".zone", "%s", missing("zone", n.Zone, c.zoneNames()))
			return false
		}
		zones = zones[i : i+1]
	}
	if pools := c.cluster.pools(); n.Pool != "" && !slices.Contains(pools, n.Pool) {
		c.add(needs, path+".pool", "%s", missing("pool", n.Pool, pools))
		return false
	}
	if n.Rack != nil {
		ok = c.rack(path, n, zones)
	}
	for i, name := range n.Names {
		at := item(path+".names", i)
		zone := c.cluster.zoneOf(name)
		switch {
		case zone == nil:
			c.add(needs, at, "%s", c.noNode(name))
			ok = false
		case n.Zone != "" && zone.Name != n.Zone:
			c.add([]string{zonesPath, path + ".zone"}, at, "%s is in zone %s, not in %s", shown(name), zone.Name, n.Zone)
			ok = false
		}
	}
	return ok
}

func (c *checker) rack(path string, n *Nodes, zones []Zone) bool {
	most := 0
	for i := range zones {
		most = max(most, zones[i].racks())
	}
	where := "any zone"
	if n.Zone != "" {
		where = "zone " + n.Zone
	}
	return c.check(*n.Rack >= 0, path+".rack", "is %d; racks are counted from 0", *n.Rack) &&
		c.addUnless(*n.Rack < most, []string{zonesPath, path + ".zone"}, path+".rack",
			"there is no rack %d in %s; the last is %d", *n.Rack, where, most-1)
}

// zoneOf returns the zone of the node of that name, nil if there is no such
// node.
func (c *Cluster) zoneOf(name string) *Zone {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return nil
	}
	i, err := strconv.Atoi(name[dash+1:])
	if err != nil || i < 0 || strconv.Itoa(i) != name[dash+1:] {
		return nil
	}
	for z := range c.Zones {
		if zone := &c.Zones[z]; zone.Name == name[:dash] && i < zone.Nodes {
			return zone
		}
	}
	return nil
}

func (c *checker) noNode(name string) string {
	var ranges []string
	for i := range c.cluster.Zones {
		z := &c.cluster.Zones[i]
		if z.Nodes > 0 {
			ranges = append(ranges, fmt.Sprintf("%s to %s", z.nodeName(0), z.nodeName(z.Nodes-1)))
		}
	}
	return fmt.Sprintf("there is no node %s; nodes are %s", shown(name), listed(ranges))
}

// Matching counts the nodes that names, zone, rack and pool describe, without
// looking at each node of the cluster. What the description says of counts and
// shares is left out.
func (c *Cluster) Matching(n *Nodes) int {
	total := 0
	for i := range c.Zones {
		z := &c.Zones[i]
		switch {
		case n.Zone != "" && n.Zone != z.Name:
		case len(n.Names) > 0:
			total += z.named(n)
		case len(z.Groups) > 0:
			total += z.grouped(n)
		case n.Pool != "":
		case n.Rack == nil:
			total += max(z.Nodes, 0)
		case *n.Rack < z.racks():
			total += max(z.Nodes-*n.Rack+z.racks()-1, 0) / z.racks()
		}
	}
	return total
}

// grouped counts the nodes of the groups that rack and pool describe.
func (z *Zone) grouped(n *Nodes) int {
	total, racks := 0, z.RackNames()
	for i := range z.Groups {
		g := &z.Groups[i]
		if (n.Pool == "" || n.Pool == g.Pool) && (n.Rack == nil || *n.Rack == slices.Index(racks, g.Rack)) {
			total += max(g.Nodes, 0)
		}
	}
	return total
}

// named counts the nodes of the zone that names, rack and pool describe.
func (z *Zone) named(n *Nodes) int {
	total := 0
	for _, name := range n.Names {
		number, ok := strings.CutPrefix(name, z.Name+"-")
		i, err := strconv.Atoi(number)
		if ok && err == nil && i < z.Nodes && (n.Rack == nil || *n.Rack == z.RackOf(i)) &&
			(n.Pool == "" || n.Pool == z.pool(i)) {
			total++
		}
	}
	return total
}

func (f *Flap) check(c *checker, path string, s *Step) {
	f.Nodes.check(c, path+".nodes", s)
	c.interval(path+".down", f.Down, false)
	c.interval(path+".up", f.Up, false)
	c.untilWhen(path, s)
}

func (f *FlapReady) check(c *checker, path string, s *Step) {
	f.Nodes.check(c, path+".nodes", s)
	c.interval(path+".notReady", f.NotReady, false)
	c.interval(path+".ready", f.Ready, false)
	c.untilWhen(path, s)
}

// untilWhen wants for of a step that repeats something.
func (c *checker) untilWhen(path string, s *Step) {
	c.addUnless(s.For > 0, []string{parent(path) + ".for"}, path, "needs for, which says until when")
}

func (m *Move) check(c *checker, path string, s *Step) {
	m.Nodes.check(c, path+".nodes", s)
	c.label(path+".zone", m.Zone) // one that does not exist comes into being
	if m.Nodes.Zone != "" {
		c.addUnless(m.Zone != m.Nodes.Zone, []string{path + ".nodes.zone"}, path+".zone", "the nodes are in zone %s already",
			m.Zone)
	}
}

func (t *Taint) check(c *checker, path string, s *Step) {
	t.Nodes.check(c, path+".nodes", s)
	c.taint(path, t.Key, t.Value, t.Effect)
	c.timeAdded(path+".timeAdded", t.TimeAdded)
}

// What a taint may say of when it was added, besides a duration.
const (
	TimeAddedNow     = "now"
	TimeAddedMissing = "missing"
)

func (c *checker) timeAdded(path, added string) {
	switch added {
	case "", TimeAddedNow, TimeAddedMissing:
		return
	}
	off, err := time.ParseDuration(added)
	if c.check(err == nil, path, "%s is neither now nor missing nor a duration like -1h", shown(added)) {
		c.check(Duration(off) >= -maxClockStep && Duration(off) <= maxClockStep, path, "is %s; at most %v, forwards or back",
			added, maxClockStep)
	}
}

func (n *NodeClocks) check(c *checker, path string, s *Step) {
	n.Nodes.check(c, path+".nodes", s)
	c.clockStep(path+".by", n.By)
}

func (d *ClockDrift) check(c *checker, path string, s *Step) {
	d.Nodes.check(c, path+".nodes", s)
	c.clockStep(path+".by", d.By)
	c.interval(path+".every", d.Every, false)
	c.untilWhen(path, s)
	if d.Every >= minInterval && d.By.D().Abs() <= maxClockStep.D() {
		steps := int64(s.For / d.Every)
		c.addUnless(steps == 0 || d.By.D().Abs() <= maxClockStep.D()/time.Duration(steps), []string{parent(path) + ".for"},
			path+".by",
			"is %v, %d times; at most %v together", d.By, steps, maxClockStep)
	}
}

func (h *Hostile) check(c *checker, path string, s *Step) {
	h.Nodes.check(c, path+".nodes", s)
	c.interval(path+".every", h.Every, false)
	c.untilWhen(path, s)
	c.addUnless(len(h.Zones) > 0 || h.Taints != "" || h.Leases != "", []string{path}, path,
		"does nothing; give it zones, taints or leases")
	for i, zone := range h.Zones {
		c.label(item(path+".zones", i), zone) // one that does not exist comes into being
	}
	once(c, path+".zones", h.Zones)
	if h.Taints != "" {
		c.oneOf(path+".taints", "way", h.Taints, TakeOffTaints, PutOnTaints)
	}
	if h.Leases != "" {
		c.oneOf(path+".leases", "way", h.Leases, FutureLeases, ZeroLeases, BackwardsLeases)
	}
}
