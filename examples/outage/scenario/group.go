package scenario

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Group is nodes of a zone that are alike: those of one pool in one rack, with
// the same taints.
type Group struct {
	// Name is unique in the cluster. Workloads say with it where their pods are.
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`
	// Pool may reach over several zones. A rack belongs to one zone. Groups that
	// name none of either are in none together.
	Pool string `json:"pool,omitempty"`
	Rack string `json:"rack,omitempty"`
	// Cordoned makes the nodes unschedulable from the beginning.
	Cordoned bool `json:"cordoned,omitempty"`
	// Taints are those of an administrator, which the nodes have from the
	// beginning.
	Taints []NodeTaint `json:"taints,omitempty"`
}

// NodeTaint is a taint of nodes. It does not say when it was added.
type NodeTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
}

// GroupOf returns the group of node i of the zone, nil if it has none.
func (z *Zone) GroupOf(i int) *Group {
	for g := range z.Groups {
		if i < z.Groups[g].Nodes {
			return &z.Groups[g]
		}
		i -= z.Groups[g].Nodes
	}
	return nil
}

// RackNames returns the names of the racks of a zone with groups. A rack's
// number is its place in the list. Nodes without a rack are in one of their
// own, whose name is empty.
func (z *Zone) RackNames() []string {
	var names []string
	for i := range z.Groups {
		if !slices.Contains(names, z.Groups[i].Rack) {
			names = append(names, z.Groups[i].Rack)
		}
	}
	return names
}

// RackOf returns the number of the rack of node i of the zone.
func (z *Zone) RackOf(i int) int {
	if group := z.GroupOf(i); group != nil {
		return slices.Index(z.RackNames(), group.Rack)
	}
	return i % z.racks()
}

// racks returns how many racks the zone has.
func (z *Zone) racks() int { return max(z.Racks, len(z.RackNames()), 1) }

// groups lists those of all zones.
func (c *Cluster) groups() []*Group {
	var all []*Group
	for z := range c.Zones {
		for g := range c.Zones[z].Groups {
			all = append(all, &c.Zones[z].Groups[g])
		}
	}
	return all
}

// pools returns the names of the pools, in the order of the groups.
func (c *Cluster) pools() []string {
	var names []string
	for _, group := range c.groups() {
		if group.Pool != "" && !slices.Contains(names, group.Pool) {
			names = append(names, group.Pool)
		}
	}
	return names
}

// checkGroups checks the groups of a zone. Names holds those of all before.
func (c *checker) checkGroups(at string, z *Zone, names map[string]string) {
	if len(z.Groups) == 0 {
		return
	}
	path, total := at+".groups", 0
	c.addUnless(z.Racks == 0, []string{at + ".racks", path}, at+".racks",
		"contradicts groups, which name their racks; leave out one of them")
	for i := range z.Groups {
		g, place := &z.Groups[i], item(path, i)
		if c.label(place+".name", g.Name) {
			if first, ok := names[g.Name]; ok {
				c.add(nil, place+".name", "%s has this name already", first)
			} else {
				names[g.Name] = place
			}
		}
		c.check(g.Nodes >= 1, place+".nodes", "is %d; a group has at least one node", g.Nodes)
		c.labelValue(place+".pool", g.Pool)
		c.labelValue(place+".rack", g.Rack)
		for j := range g.Taints {
			c.nodeTaint(item(place+".taints", j), &g.Taints[j])
		}
		total += min(max(g.Nodes, 0), maxNodes+1)
	}
	c.addUnless(total == z.Nodes, []string{at + ".nodes", path}, at+".nodes",
		"is %d, but the groups of the zone have %d nodes together", z.Nodes, total)
}

// labelValue checks what would be the value of a label of a node.
func (c *checker) labelValue(path, value string) {
	c.check(len(validation.IsValidLabelValue(value)) == 0, path,
		"%s is no value of a label: at most 63 letters, digits, dashes, underscores and dots", shown(value))
}

func (c *checker) nodeTaint(at string, t *NodeTaint) {
	c.taint(at, t.Key, t.Value, t.Effect)
	c.check(!OwnedTaint(t.Key), at+".key", "%s follows from what happens to the node; leave it out", shown(t.Key))
}

// taint checks key, value and effect of a taint.
func (c *checker) taint(at, key, value, effect string) {
	c.taintKey(at+".key", key)
	c.check(len(validation.IsValidLabelValue(value)) == 0, at+".value",
		"%s is no value of a taint: at most 63 letters, digits, dashes, underscores and dots", shown(value))
	c.oneOf(at+".effect", "effect", effect, taintEffects()...)
}

func (c *checker) taintKey(path, key string) {
	c.check(len(validation.IsQualifiedName(key)) == 0, path,
		"%s is no key of a taint; write it like maintenance or example.com/maintenance", shown(key))
}

func taintEffects() []string {
	return []string{string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule),
		string(corev1.TaintEffectNoExecute)}
}

// OwnedTaint reports whether a node lifecycle controller sets and removes
// taints of that key.
func OwnedTaint(key string) bool {
	return slices.Contains([]string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
		corev1.TaintNodeNetworkUnavailable}, key)
}

// placement checks where the pods of a workload are.
func (c *checker) placement(at string, w *Workload) {
	pools := c.cluster.pools()
	for i, pool := range w.Pools {
		c.addUnless(slices.Contains(pools, pool), []string{zonesPath}, item(at+".pools", i), "%s",
			missing("pool", pool, pools))
	}
	once(c, at+".pools", w.Pools)
	if len(w.Placed) == 0 {
		return
	}
	byName, names := map[string]*Group{}, []string{}
	for _, group := range c.cluster.groups() {
		byName[group.Name] = group
		names = append(names, group.Name)
	}
	total, known := 0, true
	for _, name := range sortedKeys(w.Placed) {
		path, count := at+".placed."+name, w.Placed[name]
		group := byName[name]
		if group == nil {
			c.add([]string{zonesPath}, path, "%s", missing("group", name, names))
			known = false
			continue
		}
		c.check(count >= 1, path, "is %d; say how many of the pods are on it", count)
		c.addUnless(w.Kind != DaemonSet || count <= group.Nodes, []string{zonesPath, at + ".kind"}, path,
			"is %d, but the group has %d nodes, and each has at most one pod of a DaemonSet", count, group.Nodes)
		c.addUnless(len(w.Pools) == 0 || slices.Contains(w.Pools, group.Pool), []string{zonesPath, at + ".pools"}, path,
			"is not in one of the pools of the workload")
		total += min(max(count, 0), maxPods+1)
	}
	c.addUnless(!known || w.Kind == DaemonSet || total == w.Replicas,
		[]string{at + ".replicas", at + ".kind", at + ".placed"}, at+".placed",
		"has %d pods together, but the workload has %d replicas", total, w.Replicas)
}
