package scenario

import "github.com/kubelife/lifecycle/examples/outage/scenario/strictyaml"

// defaultTolerationSeconds is what the API server's admission plugin
// DefaultTolerationSeconds gives to pods in v1.37.
const defaultTolerationSeconds = int64(300)

// Defaulted returns a copy of the scenario that shares no memory with it, in
// which what was left out has its default. Defaulting that again changes
// nothing.
func (s *Scenario) Defaulted() *Scenario {
	d := s.Clone()
	if err := strictyaml.Fill(d); err != nil {
		panic(err) // a test reads the defaults of all fields
	}
	for i := range d.Cluster.Zones {
		if z := &d.Cluster.Zones[i]; len(z.Groups) == 0 && z.Racks == 0 {
			z.Racks = 1
		}
	}
	for i := range d.Cluster.Workloads {
		w := &d.Cluster.Workloads[i]
		if w.TolerationSeconds == nil && w.Kind != DaemonSet && !w.TolerateForever {
			w.TolerationSeconds = new(defaultTolerationSeconds)
		}
	}
	return d
}

// Clone returns a copy that shares no memory with the scenario.
func (s *Scenario) Clone() *Scenario { return strictyaml.Clone(s) }
