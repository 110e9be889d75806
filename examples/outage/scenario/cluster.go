package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

const (
	// maxNodes and maxPods bound what one machine can simulate. 5,000 nodes are
	// what Kubernetes supports, 100,000 what this library is meant for.
	maxNodes = 100_000
	maxPods  = 2_000_000
)

// capped keeps sums of impossible numbers from overflowing into possible ones.
func capped(count, most int) int { return min(max(count, 0), most+1) }

// total adds up what the items count, each capped.
func total[T any](items []T, most int, count func(item *T) int) (sum int) {
	for i := range items {
		sum += capped(count(&items[i]), most)
	}
	return sum
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

// racks returns how many racks the zone has.
func (z *Zone) racks() int { return max(z.Racks, len(z.RackNames()), 1) }

func (z *Zone) nodeName(i int) string { return z.Name + "-" + strconv.Itoa(i) }

// size returns how many nodes the cluster has.
func (c *Cluster) size() int { return total(c.Zones, maxNodes, func(z *Zone) int { return z.Nodes }) }

// pods returns how many pods the workload has.
func (c *Cluster) pods(w *Workload) int {
	switch {
	case w.Kind != DaemonSet:
		return capped(w.Replicas, maxPods)
	case len(w.Placed) == 0:
		return c.size()
	}
	return w.placed()
}

// placed returns how many pods of the workload are in groups.
func (w *Workload) placed() int {
	return total(slices.Collect(maps.Values(w.Placed)), maxPods, func(count *int) int { return *count })
}

func (c *Cluster) workload(name string) *Workload {
	if i := slices.IndexFunc(c.Workloads, func(w Workload) bool { return w.Name == name }); i >= 0 {
		return &c.Workloads[i]
	}
	return nil
}

func (c *Cluster) group(name string) *Group {
	for _, zone := range c.Zones {
		if i := slices.IndexFunc(zone.Groups, func(g Group) bool { return g.Name == name }); i >= 0 {
			return &zone.Groups[i]
		}
	}
	return nil
}

// node returns the zone of the node of that name and its number there, nil if
// there is no such node.
func (c *Cluster) node(name string) (*Zone, int) {
	dash := max(strings.LastIndexByte(name, '-'), 0)
	i, err := strconv.Atoi(strings.TrimPrefix(name[dash:], "-"))
	if err != nil {
		return nil, 0
	}
	for z := range c.Zones {
		if zone := &c.Zones[z]; i >= 0 && i < zone.Nodes && zone.nodeName(i) == name {
			return zone, i
		}
	}
	return nil, 0
}

// nodeRanges returns the names of the first and the last node of each zone.
func (c *Cluster) nodeRanges() (ranges []string) {
	for i := range c.Zones {
		if z := &c.Zones[i]; z.Nodes > 0 {
			ranges = append(ranges, fmt.Sprintf("%s to %s", z.nodeName(0), z.nodeName(z.Nodes-1)))
		}
	}
	return ranges
}

// Matching counts the nodes that names, zone, rack and pool describe, without
// looking at each node of the cluster. What the description says of counts and
// shares is left out.
func (c *Cluster) Matching(n *Nodes) int {
	if len(n.Names) > 0 {
		return total(n.Names, 1, func(name *string) int {
			if zone, i := c.node(*name); zone == nil || !zone.matches(n, i) {
				return 0
			}
			return 1
		})
	}
	return total(c.Zones, maxNodes, func(z *Zone) int { return z.matching(n) })
}

// matching counts the nodes of the zone that zone, rack and pool describe.
func (z *Zone) matching(n *Nodes) int {
	racks := z.RackNames()
	switch {
	case n.Zone != "" && n.Zone != z.Name:
		return 0
	case len(z.Groups) > 0 || n.Pool != "":
		return total(z.Groups, maxNodes, func(g *Group) int {
			if n.Pool != "" && n.Pool != g.Pool || n.Rack != nil && *n.Rack != slices.Index(racks, g.Rack) {
				return 0
			}
			return g.Nodes
		})
	case n.Rack == nil:
		return capped(z.Nodes, maxNodes)
	case *n.Rack >= z.racks():
		return 0
	}
	return max(capped(z.Nodes, maxNodes)-*n.Rack+z.racks()-1, 0) / z.racks()
}

// matches reports whether zone, rack and pool describe node i.
func (z *Zone) matches(n *Nodes, i int) bool {
	pool, rack := "", i%z.racks()
	for _, g := range z.Groups {
		if i < g.Nodes {
			pool, rack = g.Pool, slices.Index(z.RackNames(), g.Rack)
			break
		}
		i -= g.Nodes
	}
	return (n.Zone == "" || n.Zone == z.Name) && (n.Pool == "" || n.Pool == pool) && (n.Rack == nil || *n.Rack == rack)
}

// AdmissionTolerates reports whether the API server's admission finds that pods
// with these tolerations say how long they tolerate a NoExecute taint of that
// key. It adds its own for not-ready and unreachable otherwise. Source: plugin
// DefaultTolerationSeconds of kube-apiserver v1.37, which does not ask for the
// operator either.
func AdmissionTolerates(tolerations []corev1.Toleration, key string) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
	})
}

// OwnedTaint reports whether a node lifecycle controller sets and removes
// taints of that key.
func OwnedTaint(key string) bool {
	return taints.OwnsNoSchedule(&corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
}
