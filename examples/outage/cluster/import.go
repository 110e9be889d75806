package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Config says how a scenario is made. The zero value is ready to use.
type Config struct {
	// Name is that of the scenario; "cluster" by default.
	Name string
	// HashNames replaces names of zones, pools, racks, workloads and taints by the
	// beginning of their SHA-256. The same name has the same hash each time. It
	// hides names from a reader, not from one that guesses and compares.
	HashNames bool
	// PoolLabel and RackLabel are the labels of nodes that say their pool and
	// rack. By default it is the first of [PoolLabels], or [RackLabels], that a
	// node has.
	PoolLabel, RackLabel string
}

// PoolLabels returns the labels by which providers name pools of nodes.
func PoolLabels() []string {
	return []string{"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool",
		"karpenter.sh/nodepool", "worker.gardener.cloud/pool", "doks.digitalocean.com/node-pool", "node-pool", "pool"}
}

// RackLabels returns labels that are in use for racks.
func RackLabels() []string { return []string{"topology.kubernetes.io/rack", "rack"} }

// Import makes a scenario of a cluster, with the loss of its largest zone as a
// script to begin with. The notes say in plain words what was left out or
// changed. Both are the same for any order of the objects. The error says what
// is missing for a scenario.
func Import(o *Objects, config Config) (*scenario.Scenario, []string, error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	m := &importer{config: config, objects: o, names: newNames(config.HashNames)}
	s := &scenario.Scenario{Name: config.Name, Duration: scenario.Duration(time.Hour)}
	if s.Name == "" {
		s.Name = "cluster"
	}
	m.takeNodes(s)
	m.takePods(s)
	m.takeBudgets(s)
	m.takeLeases(s)
	m.takeFlags(s)
	m.dropInvalidFlags(s)
	if len(o.Unused) > 0 {
		unused := map[string]int{}
		for kind, count := range o.Unused {
			unused[m.names.kind(kind)] += count
		}
		m.note("not used: %s", strings.Join(counted(unused), ", "))
	}
	if len(s.Cluster.Zones) == 0 {
		return nil, nil, errors.New("there is no node that a scenario could have")
	}
	largest := slices.MaxFunc(s.Cluster.Zones, func(a, b scenario.Zone) int { return a.Nodes - b.Nodes })
	s.Script = []scenario.Step{{
		At: scenario.Duration(5 * time.Minute), Silence: &scenario.Nodes{Zone: largest.Name},
	}}
	s.Description = fmt.Sprintf("A cluster as it was found: %s and %s. The script, the loss of zone %s, is one to begin "+
		"with. What acts is nodelifecycle, also where the flags are those of kube-controller-manager.",
		plural(len(o.Nodes), "node"), plural(len(s.Cluster.Workloads), "workload"), largest.Name)
	if err := s.Validate(); err != nil {
		return nil, nil, fmt.Errorf("the cluster cannot be a scenario:\n%w", err)
	}
	return s, m.notes, nil
}

// importer holds what is known while a scenario is made.
type importer struct {
	config  Config
	objects *Objects
	names   *names
	notes   []string

	groups map[string]*scenario.Group // of each node, by its name
	byPool map[string][]*corev1.Node
	owned  []*workload
	// wider are workloads whose pods may be on more nodes than in the cluster.
	wider []string
}

func (m *importer) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// some lists a few of many names, for a note.
func some(names []string) string {
	const most = 3
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// plural shows a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// commonest returns the value that most have, the least of several, and whether
// all have the same.
func commonest(counts map[string]int) (value string, all bool) {
	most := 0
	for candidate, count := range counts {
		if count > most || count == most && candidate < value {
			value, most = candidate, count
		}
	}
	return value, len(counts) == 1
}
