package invariant

import (
	corev1 "k8s.io/api/core/v1"
)

// zoneKey names a zone by its region and zone labels.
type zoneKey struct{ region, zone string }

func (k zoneKey) String() string {
	if k.region == "" {
		return k.zone
	}
	return k.region + "/" + k.zone
}

func zoneOf(node *corev1.Node) zoneKey {
	return zoneKey{node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]}
}

// excluded reports whether a node does not count in its zone.
func excluded(node *corev1.Node) bool {
	_, there := node.Labels["node.kubernetes.io/exclude-disruption"]
	return there
}

// citizen is what counts of a node in its zone.
type citizen struct {
	zone     zoneKey
	ready    bool
	excluded bool
}

func citizenOf(node *corev1.Node) citizen {
	return citizen{zoneOf(node), readyStatus(node) == corev1.ConditionTrue, excluded(node)}
}

// census counts the nodes of each zone.
type census struct {
	zones map[zoneKey]*counts
	// inhabited zones have nodes that count, dead ones none of these ready.
	inhabited, dead int
}

type counts struct{ members, ready, notReady int }

func newCensus() census { return census{zones: make(map[zoneKey]*counts)} }

// count adds a node, or with -1 takes it away. It returns whether the zone has come
// or gone.
func (c *census) count(one citizen, delta int) (cameOrWent bool) {
	z := c.zones[one.zone]
	if z == nil {
		z = &counts{}
		c.zones[one.zone] = z
		cameOrWent = true
	}
	c.sum(z, -1)
	z.members += delta
	switch {
	case one.excluded:
	case one.ready:
		z.ready += delta
	default:
		z.notReady += delta
	}
	c.sum(z, +1)
	if z.members == 0 {
		delete(c.zones, one.zone)
		cameOrWent = true
	}
	return cameOrWent
}

func (c *census) sum(z *counts, delta int) {
	switch {
	case z.ready+z.notReady == 0:
	case z.ready == 0:
		c.dead += delta
		fallthrough
	default:
		c.inhabited += delta
	}
}

// allDown reports whether every zone is fully disrupted. None at all is not that.
func (c *census) allDown() bool { return c.inhabited > 0 && c.dead == c.inhabited }

// rate is how many nodes a second may be tainted in a zone, while anything may.
func (s *Settings) rate(z *counts) float64 {
	size := z.ready + z.notReady
	switch {
	case z.ready == 0, z.notReady < someNotReady, float64(z.notReady)/float64(size) < s.Unhealthy:
		return s.Rate
	case size > s.LargeZone:
		return s.SecondaryRate
	}
	return 0
}

// readyStatus returns what a node's Ready condition says; empty if it has none.
func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	if c := condition(node, corev1.NodeReady); c != nil {
		return c.Status
	}
	return ""
}

// reported reports whether anybody has said of a node whether it is ready. Of a new
// one that may take the startup grace period.
func reported(node *corev1.Node) bool { return readyStatus(node) != "" }

// saidIll reports whether a node was said not to be ready.
func saidIll(node *corev1.Node) bool {
	return reported(node) && readyStatus(node) != corev1.ConditionTrue
}

func condition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
