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

// standing is whether a node counts as ready in its zone.
type standing int

const (
	// standsReady: it says that it is ready, and was heard within its grace
	// period.
	standsReady standing = iota
	// standsDoubtful: it says so, but was not heard, and it is too early to say
	// that every client must know.
	standsDoubtful
	// standsNotReady: it is said not to be ready, or every client must know that
	// it is silent.
	standsNotReady
)

// citizen is what counts of a node in its zone.
type citizen struct {
	zone     zoneKey
	stands   standing
	excluded bool
}

// citizenOf returns what the conditions of a node say of it.
func citizenOf(node *corev1.Node) citizen {
	one := citizen{zone: zoneOf(node), excluded: excluded(node)}
	if readyStatus(node) != corev1.ConditionTrue {
		one.stands = standsNotReady
	}
	return one
}

// census counts the nodes of each zone.
type census struct {
	zones map[zoneKey]*counts
	// inhabited zones have nodes that count, dead ones none of these ready, and
	// doomed ones none of these ready without a doubt.
	inhabited, dead, doomed int
	// of all zones.
	ready, doubtful, notReady int
}

type counts struct{ members, ready, doubtful, notReady int }

func (z *counts) size() int { return z.ready + z.doubtful + z.notReady }

func newCensus() census { return census{zones: make(map[zoneKey]*counts)} }

// count adds a node, or with -1 takes it away. It returns whether the zone has
// come or gone.
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
	case one.stands == standsReady:
		z.ready += delta
	case one.stands == standsDoubtful:
		z.doubtful += delta
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
	if z.size() == 0 {
		return
	}
	c.ready, c.doubtful, c.notReady = c.ready+delta*z.ready, c.doubtful+delta*z.doubtful, c.notReady+delta*z.notReady
	c.inhabited += delta
	if z.ready == 0 {
		c.doomed += delta
	}
	if z.ready+z.doubtful == 0 {
		c.dead += delta
	}
}

// allDown reports whether every zone is fully disrupted. None at all is not
// that.
func (c *census) allDown() bool { return c.inhabited > 0 && c.dead == c.inhabited }

// allMayBeDown reports whether every zone is, or may be.
func (c *census) allMayBeDown() bool { return c.inhabited > 0 && c.doomed == c.inhabited }

// pauses reports whether the cluster is to be paused if so many zones have no
// ready node and so many nodes are ready.
func (s *Settings) pauses(c *census, down, ready int, stopped bool) bool {
	least := s.MinHealthy
	if stopped {
		least = max(least, s.ResumeHealthy)
	}
	size := float64(c.ready + c.doubtful + c.notReady)
	return s.ZoneDown && down > 0 || float64(ready) < least*size-almost
}

// rate is how many nodes a second may be tainted in a zone with so many ready
// and not, while anything may.
func (s *Settings) rate(ready, notReady int) float64 {
	size := ready + notReady
	if s.disrupted(ready, notReady) {
		return s.disruptedRate(size)
	}
	return max(s.Rate, s.ZoneShare*float64(size))
}

// disrupted reports whether a zone with so many nodes ready and not is
// partially disrupted.
func (s *Settings) disrupted(ready, notReady int) bool {
	return ready > 0 && notReady >= someNotReady && float64(notReady)/float64(ready+notReady) >= s.Unhealthy
}

// disruptedRate is the rate of such a zone.
func (s *Settings) disruptedRate(size int) float64 {
	if size > s.LargeZone {
		return s.SecondaryRate
	}
	return 0
}

// rates returns the highest and the lowest rate that a zone may have: each of
// its doubtful nodes may be ready or not. While its state depends on them it
// may have none.
func (s *Settings) rates(z *counts) (highest, lowest float64) {
	highest = s.rate(z.ready+z.doubtful, z.notReady)
	lowest = highest
	for silent := 1; silent <= z.doubtful; silent++ {
		rate := s.rate(z.ready+z.doubtful-silent, z.notReady+silent)
		highest, lowest = max(highest, rate), min(lowest, rate)
	}
	if z.doubtful > 0 && (highest != lowest || z.ready == 0) {
		lowest = 0
	}
	return highest, lowest
}

// readyStatus returns what a node's Ready condition says; empty if it has none.
func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	if c := condition(node, corev1.NodeReady); c != nil {
		return c.Status
	}
	return ""
}

// reported reports whether anybody has said of a node whether it is ready. Of a
// new one that may take the startup grace period.
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
