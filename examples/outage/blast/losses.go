package blast

import (
	"fmt"
	"slices"
	"strconv"
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
	// step does it; its time is not set.
	step scenario.Step
}

// String returns kind and name.
func (l Loss) String() string {
	if l.Name == "" {
		return string(l.Kind)
	}
	return fmt.Sprintf("%s %s", l.Kind, l.Name)
}

// controlPlaneAway are for how long the control plane is lost.
func controlPlaneAway() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}
}

// Losses lists what the cluster of a scenario can lose. A zone without groups
// has its numbered racks, if there are several; nodes without a pool or a rack
// are in none.
func Losses(s *scenario.Scenario) []Loss {
	losses := []Loss{*allNodes()}
	for i := range s.Cluster.Zones {
		name := s.Cluster.Zones[i].Name
		losses = append(losses, Loss{KindZone, name, silence(scenario.Nodes{Zone: name})})
	}
	for _, pool := range pools(&s.Cluster) {
		losses = append(losses, Loss{KindPool, pool, silence(scenario.Nodes{Pool: pool})})
	}
	for i := range s.Cluster.Zones {
		z := &s.Cluster.Zones[i]
		for number, rack := range racks(z) {
			if rack != "" {
				losses = append(losses, Loss{KindRack, z.Name + "/" + rack, silence(scenario.Nodes{Zone: z.Name, Rack: &number})})
			}
		}
	}
	for _, away := range controlPlaneAway() {
		losses = append(losses, Loss{KindControlPlane, "for " + short(away), scenario.Step{
			For: scenario.Duration(away), APIDown: &scenario.APIDown{For: scenario.AllCallers},
		}})
	}
	return losses
}

func allNodes() *Loss { return &Loss{Kind: KindAllNodes, step: silence(scenario.Nodes{All: true})} }

func silence(nodes scenario.Nodes) scenario.Step { return scenario.Step{Silence: &nodes} }

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
