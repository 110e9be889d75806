package blast

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Kind is what is lost.
type Kind string

// The kinds of losses, in the order in which equally bad ones are listed.
const (
	KindAllNodes     Kind = "all nodes"
	KindZone         Kind = "zone"
	KindPool         Kind = "pool"
	KindRack         Kind = "rack"
	KindControlPlane Kind = "control plane"
)

func kinds() []Kind { return []Kind{KindAllNodes, KindZone, KindPool, KindRack, KindControlPlane} }

// Loss is something that a cluster loses.
type Loss struct {
	Kind Kind `json:"kind"`
	// Name is that of the zone, pool or rack, or for how long the control plane is
	// away. A rack has the name of its zone before its own.
	Name string `json:"name,omitempty"`
	// Same are other losses that hit the same nodes, and are not played.
	Same []Loss `json:"same,omitempty"`
	// step does it; its time is not set.
	step scenario.Step
	// nodes is how many nodes are lost.
	nodes int
}

// String returns kind and name, also of those that are the same.
func (l Loss) String() string {
	name := string(l.Kind)
	if l.Name != "" {
		name += " " + l.Name
	}
	names := []string{name}
	for i := range l.Same {
		names = append(names, l.Same[i].String())
	}
	return strings.Join(names, " = ")
}

// controlPlaneAway are for how long the control plane is lost.
func controlPlaneAway() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}
}

// Losses lists what the cluster of a scenario can lose. A zone without groups
// has its numbered racks, if there are several; nodes without a pool or a rack
// are in none. Losses of the same nodes are one.
func Losses(s *scenario.Scenario) []Loss {
	losses := []Loss{allNodes()}
	for i := range s.Cluster.Zones {
		name := s.Cluster.Zones[i].Name
		losses = append(losses, lossOf(KindZone, name, scenario.Nodes{Zone: name}))
	}
	for _, pool := range pools(&s.Cluster) {
		losses = append(losses, lossOf(KindPool, pool, scenario.Nodes{Pool: pool}))
	}
	for i := range s.Cluster.Zones {
		z := &s.Cluster.Zones[i]
		for number, rack := range racks(z) {
			if rack != "" {
				losses = append(losses, lossOf(KindRack, z.Name+"/"+rack, scenario.Nodes{Zone: z.Name, Rack: &number}))
			}
		}
	}
	losses = distinct(&s.Cluster, losses)
	for _, away := range controlPlaneAway() {
		losses = append(losses, Loss{
			Kind: KindControlPlane, Name: "for " + short(away),
			step: scenario.Step{For: scenario.Duration(away), APIDown: &scenario.APIDown{For: scenario.AllCallers}},
		})
	}
	return losses
}

func allNodes() Loss { return lossOf(KindAllNodes, "", scenario.Nodes{All: true}) }

func lossOf(kind Kind, name string, nodes scenario.Nodes) Loss {
	return Loss{Kind: kind, Name: name, step: scenario.Step{Silence: &nodes}}
}

// distinct puts losses of the same nodes together. The first of them is played.
func distinct(c *scenario.Cluster, losses []Loss) []Loss {
	var all []Loss
	for _, loss := range losses {
		loss.nodes = c.Matching(loss.step.Silence)
		same := func(of Loss) bool { return sameNodes(c, &of, &loss) }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Same = append(all[i].Same, loss)
		} else {
			all = append(all, loss)
		}
	}
	return all
}

// sameNodes reports whether two losses hit the same nodes. Both hit as many
// then, and so does what both say together. No two of a kind do.
func sameNodes(c *scenario.Cluster, a, b *Loss) bool {
	if a.Kind == b.Kind || a.nodes != b.nodes {
		return false
	}
	x, y := a.step.Silence, b.step.Silence
	if x.Zone != "" && y.Zone != "" && x.Zone != y.Zone {
		return false
	}
	return a.nodes == c.Matching(&scenario.Nodes{
		Zone: cmp.Or(x.Zone, y.Zone), Pool: cmp.Or(x.Pool, y.Pool), Rack: cmp.Or(x.Rack, y.Rack),
	})
}

func pools(c *scenario.Cluster) []string {
	var names []string
	for z := range c.Zones {
		for _, g := range c.Zones[z].Groups {
			if g.Pool != "" && !slices.Contains(names, g.Pool) {
				names = append(names, g.Pool)
			}
		}
	}
	slices.Sort(names)
	return names
}

// racks returns the names of the racks of a zone by their numbers. One that is
// no loss of its own has none.
func racks(z *scenario.Zone) []string {
	if len(z.Groups) > 0 {
		return z.RackNames()
	}
	var names []string
	for number := range z.Racks {
		if z.Racks > 1 {
			names = append(names, strconv.Itoa(number))
		}
	}
	return names
}

// short shows a duration without units that are zero.
func short(d time.Duration) string { return scenario.Duration(d).String() }
