package judge

import (
	"time"

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

// counts are the nodes of a zone at a moment, by what a process makes of them.
type counts struct {
	// ready: it says so, and was heard within its grace period.
	ready int
	// doubtful: it says so, or said so a moment ago, and it cannot be said what
	// every process makes of it.
	doubtful int
	// silent: it says that it is ready, and every process must know better.
	silent int
	// notReady: it is said not to be ready.
	notReady int
}

func (c *counts) size() int { return c.ready + c.doubtful + c.silent + c.notReady }

// count counts a node at a moment.
func (j *Judge) count(n *node, into *counts, now time.Duration) {
	s := &j.settings
	switch {
	case excluded(n.object):
	case n.ready != corev1.ConditionTrue:
		into.notReady++
	case n.machine != nil && j.mustKnowSilent(n, now):
		into.silent++
	case now < n.readySince+s.lag() && n.readySince > n.created,
		n.machine != nil && now >= n.heard+s.Grace-s.lag():
		into.doubtful++
	default:
		into.ready++
	}
}

// mustKnowSilent reports whether the process that acts must have found out that a
// node is silent. It asks the API server first.
func (j *Judge) mustKnowSilent(n *node, now time.Duration) bool {
	s := &j.settings
	if now <= n.heard+s.Grace+s.bound() {
		return false
	}
	since, calm := j.subject.Calm()
	client := j.subject.Acting()
	if !calm || client == nil {
		return false
	}
	p := j.process(client)
	asked := max(n.heard, p.synced) + s.Grace + client.SuspendedFor(n.heard, now)
	if deaf := p.deaf(n.heard, now); deaf > 0 {
		asked += deaf + s.CalmBound
	}
	return p.synced >= 0 && now > max(asked, since+s.CalmBound, p.busy)+s.bound()
}

// pauses reports whether a flag asks for a pause if at least a fraction of the
// nodes has to be ready. All says whether the doubtful ones are.
func (s *Settings) pauses(zones map[zoneKey]*counts, least float64, doubtful bool) bool {
	ready, size := 0, 0
	for _, z := range zones {
		here := z.ready
		if doubtful {
			here += z.doubtful
		}
		if s.ZoneDown && here == 0 && z.size() > 0 {
			return true
		}
		ready, size = ready+here, size+z.size()
	}
	return float64(ready) < least*float64(size)-almost
}

// almost forgives what is lost by rounding.
const almost = 1e-3

// allDown reports whether no zone has a node that works, and some zone has nodes
// that count.
func allDown(zones map[zoneKey]*counts, works func(*counts) int) bool {
	inhabited := false
	for _, z := range zones {
		if works(z) > 0 {
			return false
		}
		inhabited = inhabited || z.size() > 0
	}
	return inhabited
}

// rate is how many nodes a second may be tainted in a zone with so many ready
// and not, while anything may.
func (s *Settings) rate(ready, notReady int) float64 {
	size := ready + notReady
	disrupted := ready > 0 && notReady >= someNotReady && float64(notReady)/float64(size) >= s.Unhealthy
	switch {
	case !disrupted:
		return max(s.Rate, s.ZoneShare*float64(size))
	case size > s.LargeZone:
		return s.SecondaryRate
	}
	return 0
}

// rates returns the highest and the lowest rate that a zone may have: each of
// its doubtful nodes may be ready or not. While its state depends on them it
// may have none.
func (s *Settings) rates(z *counts) (highest, lowest float64) {
	down := z.silent + z.notReady
	highest = s.rate(z.ready+z.doubtful, down)
	lowest = highest
	for silent := 1; silent <= z.doubtful; silent++ {
		rate := s.rate(z.ready+z.doubtful-silent, down+silent)
		highest, lowest = max(highest, rate), min(lowest, rate)
	}
	if z.doubtful > 0 && (highest != lowest || z.ready == 0) {
		lowest = 0
	}
	return highest, lowest
}

// zone is which rates a zone could have.
type zone struct {
	rates []rates
	// most is the highest rate that its size has ever allowed.
	most float64
}

// rates are those that a zone may have from some time on, up to the next ones.
type rates struct {
	from            time.Duration
	highest, lowest float64
}

// remember is how long rates are kept: longer than pods may wait for what they
// need besides their node's turn.
const remember = time.Hour

func (z *zone) set(now rates) {
	if n := len(z.rates); n > 0 {
		if last := z.rates[n-1]; last.highest == now.highest && last.lowest == now.lowest {
			return
		}
	}
	z.rates = append(z.rates, now)
	for len(z.rates) > 1 && z.rates[1].from < now.from-remember {
		z.rates = z.rates[1:]
	}
}

// highest returns the highest rate at any time from one moment to another.
func (z *zone) highest(from, to time.Duration) (rate float64) {
	for i, r := range z.rates {
		if r.from <= to && (i+1 == len(z.rates) || z.rates[i+1].from >= from) {
			rate = max(rate, r.highest)
		}
	}
	return rate
}

// earned returns how many tokens must have come in between two moments. When its
// rate rises, a zone may keep the lower one for a wave.
func (z *zone) earned(from, to, wave time.Duration) (tokens float64) {
	if len(z.rates) == 0 || z.rates[len(z.rates)-1].lowest == 0 {
		return 0
	}
	for i, r := range z.rates {
		begins, ends := max(r.from, from), to
		if i+1 < len(z.rates) {
			ends = min(to, z.rates[i+1].from)
		}
		for k := range i {
			if z.rates[k].lowest < r.lowest {
				begins = max(begins, z.rates[k+1].from+wave)
			}
		}
		if begins > ends && i+1 == len(z.rates) {
			return 0
		}
		tokens += max(ends-begins, 0).Seconds() * r.lowest
	}
	return tokens
}
