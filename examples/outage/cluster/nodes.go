package cluster

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/zone"
)

// place is what the nodes of a group have in common.
type place struct {
	zone, pool, rack string
	cordoned         bool
	taints           string // in JSON
}

func (p place) compare(other place) int {
	return cmp.Or(strings.Compare(p.zone, other.zone), strings.Compare(p.pool, other.pool),
		strings.Compare(p.rack, other.rack), cmp.Compare(strconv.FormatBool(p.cordoned), strconv.FormatBool(other.cordoned)),
		strings.Compare(p.taints, other.taints))
}

// noZone is the zone of nodes that have no label for it.
const noZone = "no-zone"

// takeNodes makes zones and groups.
func (m *importer) takeNodes(s *scenario.Scenario) {
	places := map[place][]*corev1.Node{}
	zones := m.zoneNames()
	m.byPool = map[string][]*corev1.Node{}
	var sick, unzoned, excluded int
	for i := range m.objects.Nodes {
		node := &m.objects.Nodes[i]
		p := m.placeOf(node, zones)
		places[p] = append(places[p], node)
		m.byPool[p.pool] = append(m.byPool[p.pool], node)
		if _, name := zoneOf(node); name == "" {
			unzoned++
		}
		if !ready(node) {
			sick++
		}
		if _, ok := node.Labels[zone.LabelExcludeDisruption]; ok {
			excluded++
		}
	}
	m.noteNodes(sick, unzoned, excluded)
	sorted := make([]place, 0, len(places))
	for p := range places {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, place.compare)
	for _, p := range sorted {
		m.addGroup(&s.Cluster, p, len(places[p]))
	}
	m.groups = map[string]*scenario.Group{}
	next := 0
	for z := range s.Cluster.Zones {
		groups := s.Cluster.Zones[z].Groups
		for g := range groups {
			for _, node := range places[sorted[next]] {
				m.groups[node.Name] = &groups[g]
			}
			next++
		}
	}
}

func (m *importer) noteNodes(sick, unzoned, excluded int) {
	if unzoned > 0 {
		m.note("%s without the label %s, in zone %s", plural(unzoned, "node"), corev1.LabelTopologyZone,
			m.names.label("zone", noZone, noZone))
	}
	if sick > 0 {
		m.note("%s not ready: in the scenario all nodes are ready when it begins", plural(sick, "node"))
	}
	if excluded > 0 {
		m.note("%s with the label %s: in the scenario zones count all nodes", plural(excluded, "node"),
			zone.LabelExcludeDisruption)
	}
	m.noteUnlabeled("pool", m.config.PoolLabel, PoolLabels())
	m.noteUnlabeled("rack", m.config.RackLabel, RackLabels())
}

// noteUnlabeled says of which nodes the pool or rack is not known.
func (m *importer) noteUnlabeled(what, label string, known []string) {
	without := 0
	for i := range m.objects.Nodes {
		if labelOf(&m.objects.Nodes[i], label, known) == "" {
			without++
		}
	}
	if label != "" {
		known = []string{label}
	}
	switch without {
	case 0:
	case len(m.objects.Nodes):
		m.note("no node has a label for its %s (%s): there are no %ss; --%s-label names another label", what,
			strings.Join(known, ", "), what, what)
	default:
		m.note("%s without a label for the %s, in no %s", plural(without, "node"), what, what)
	}
}

// addGroup adds a group to the last zone, or to one that it begins.
func (m *importer) addGroup(c *scenario.Cluster, p place, nodes int) {
	name := m.names.label("zone", p.zone, p.zone)
	if n := len(c.Zones); n == 0 || c.Zones[n-1].Name != name {
		c.Zones = append(c.Zones, scenario.Zone{Name: name})
	}
	z := &c.Zones[len(c.Zones)-1]
	group := scenario.Group{Nodes: nodes, Pool: p.pool, Rack: p.rack, Cordoned: p.cordoned}
	if p.taints != "" {
		if err := json.Unmarshal([]byte(p.taints), &group.Taints); err != nil {
			panic(err) // placeOf has written it
		}
	}
	parts := []string{name}
	for _, part := range []string{p.pool, p.rack} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if p.cordoned {
		parts = append(parts, "cordoned")
	}
	group.Name = m.groupName(strings.Join(parts, "-"), p)
	z.Groups = append(z.Groups, group)
	z.Nodes += nodes
}

// groupName names a group after where it is. Groups that differ in taints alone
// are numbered.
func (m *importer) groupName(name string, p place) string {
	plain := names{taken: m.names.taken}
	for number := 1; ; number++ {
		candidate := name
		if number > 1 {
			candidate += "-" + strconv.Itoa(number)
		}
		label := plain.plain("group", candidate)
		if _, taken := m.names.taken["group "+label]; !taken {
			m.names.taken["group "+label] = p.taints
			return label
		}
	}
}

// zoneNames returns a name for each zone as a controller tells zones apart: by
// region and zone. The region is in it where two have zones of one name.
func (m *importer) zoneNames() map[[2]string]string {
	regions := map[string]map[string]bool{}
	for i := range m.objects.Nodes {
		region, zone := zoneOf(&m.objects.Nodes[i])
		if regions[zone] == nil {
			regions[zone] = map[string]bool{}
		}
		regions[zone][region] = true
	}
	names := map[[2]string]string{}
	for zone, in := range regions {
		for region := range in {
			name := cmp.Or(zone, noZone)
			if len(in) > 1 && region != "" {
				name = region + "-" + name
			}
			names[[2]string{region, zone}] = name
		}
	}
	return names
}

// zoneOf reads the labels that [zone.ByTopology] reads: an old one that is
// there, also an empty one, comes before the new one.
func zoneOf(node *corev1.Node) (region, zone string) {
	first := func(keys ...string) string {
		for _, key := range keys {
			if value, ok := node.Labels[key]; ok {
				return value
			}
		}
		return ""
	}
	return first(corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion),
		first(corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone)
}

func (m *importer) placeOf(node *corev1.Node, zones map[[2]string]string) place {
	region, zone := zoneOf(node)
	return place{
		zone:     zones[[2]string{region, zone}],
		pool:     m.names.value("pool", labelOf(node, m.config.PoolLabel, PoolLabels())),
		rack:     m.names.value("rack", labelOf(node, m.config.RackLabel, RackLabels())),
		cordoned: node.Spec.Unschedulable,
		taints:   m.taintsOf(node),
	}
}

// labelOf returns the value of the label that is asked for, else of the first
// one that the node has.
func labelOf(node *corev1.Node, label string, known []string) string {
	if label != "" {
		return node.Labels[label]
	}
	for _, candidate := range known {
		if value := node.Labels[candidate]; value != "" {
			return value
		}
	}
	return ""
}

// taintsOf returns an administrator's taints of a node, in JSON. The others
// follow from the state of the node.
func (m *importer) taintsOf(node *corev1.Node) string {
	var taints []scenario.NodeTaint
	for _, t := range node.Spec.Taints {
		if scenario.OwnedTaint(t.Key) {
			continue
		}
		taints = append(taints, scenario.NodeTaint{
			Key: m.names.key(t.Key), Value: m.names.value("value", t.Value), Effect: string(t.Effect),
		})
	}
	if taints == nil {
		return ""
	}
	slices.SortFunc(taints, func(a, b scenario.NodeTaint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Effect, b.Effect))
	})
	data, err := json.Marshal(taints)
	if err != nil {
		panic(err) // they are three strings each
	}
	return string(data)
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
