package zone

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config is what a [Tracker] needs. The zero value is complete.
type Config struct {
	// State judges a zone. Nil means DefaultThresholds().State.
	State func(Counts) State
	// Rate says how many nodes a second may be acted against in a zone while the
	// cluster is Acting. Nil means DefaultRates().Rate.
	Rate func(State, Counts) float64
	// Grace is how long the cluster settles after a suspension. Zero means 50 s,
	// the default of --node-monitor-grace-period, which it should be equal to.
	Grace time.Duration
	// Interval is how long after the first expiry in a zone the state of the zone,
	// and of those that fail with it, is known. That is the interval between a
	// node's heartbeats and a little more: a kubelet lengthens it by up to 4 %, and
	// declaring nodes takes a moment. Zero means 11 s, for the kubelet's 10 s.
	// Negative means no wait.
	Interval time.Duration
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if c.Grace < 0 {
		return fmt.Errorf("%w: Grace is %v, want zero or more", ErrInvalidConfig, c.Grace)
	}
	return nil
}

// Node is what a [Tracker] wants to know of a node.
type Node struct {
	// Zone is the name of its zone; see [ByTopology]. Empty is a zone like others.
	Zone string
	// Ready says whether its Ready condition is True.
	Ready bool
	// Excluded nodes belong to their zone but do not count; see [Excluded].
	Excluded bool
}

// A Tracker knows the nodes of a cluster by their zones and judges the zones. It
// keeps counts, so that observing a node costs a map lookup, and judging costs
// the zones that have changed, and a glance at the others until one is found that
// is not dead. Results do not depend on map order. It is not safe for concurrent
// use.
//
// K identifies a node: its name, or a cluster's where the members are clusters.
type Tracker[K comparable] struct {
	config Config
	nodes  map[K]member
	zones  map[string]*zone
	dirty  []*zone // to judge; some may be gone
	gone   []string

	phase  Phase
	resume time.Time // when Settling ends
	now    time.Time
}

type member struct {
	Node
	notBefore time.Time
}

type zone struct {
	name    string
	members int
	counts  Counts
	state   State
	before  State // as it was told last
	dirty   bool
	rate    float64
	told    bool      // a Judgement has said something of it
	known   time.Time // when the extent of the latest disruption is known
}

// New returns a tracker without nodes that settles for one grace period from
// now on.
func New[K comparable](config Config, now time.Time) (*Tracker[K], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.State == nil {
		config.State = DefaultThresholds().State
	}
	if config.Rate == nil {
		config.Rate = DefaultRates().Rate
	}
	if config.Grace == 0 {
		config.Grace = 50 * time.Second
	}
	if config.Interval == 0 {
		config.Interval = 11 * time.Second
	}
	return &Tracker[K]{
		config: config,
		nodes:  make(map[K]member),
		zones:  make(map[string]*zone),
		phase:  Settling,
		resume: now.Add(config.Grace),
		now:    now,
	}, nil
}

// Observe takes note of what a node is now. A node that it has not seen comes
// in, one that changed zone moves.
func (t *Tracker[K]) Observe(now time.Time, key K, node Node) {
	t.advance(now)
	m, known := t.nodes[key]
	if known && m.Node == node {
		return
	}
	fell := !node.Ready && (!known || m.Ready)
	if known {
		t.leave(m.Node, m.Zone != node.Zone)
	}
	z := t.enter(node, !known || m.Zone != node.Zone)
	m.Node = node
	switch {
	case node.Ready:
		m.notBefore = time.Time{}
	case fell:
		m.notBefore = z.disrupted(t.now, t.config.Interval)
	}
	t.nodes[key] = m
}

// Forget drops a node.
func (t *Tracker[K]) Forget(key K) {
	m, known := t.nodes[key]
	if !known {
		return
	}
	t.leave(m.Node, true)
	delete(t.nodes, key)
}

// NotBefore returns the time before which nothing should be done against a node
// that is not ready, because the extent of the disruption that it is part of is
// not known yet: one interval after the first expiry in its zone. Later expiries
// within that interval do not move it, so no node waits longer than that. It is
// the zero time for a ready node and for one that is not known.
func (t *Tracker[K]) NotBefore(key K) time.Time {
	return t.nodes[key].notBefore
}

// Status is a zone as it was last judged, with its present counts.
type Status struct {
	Zone   string
	State  State
	Counts Counts
	// Rate is in nodes a second.
	Rate float64
}

// Zones returns the zones by name.
func (t *Tracker[K]) Zones() []Status {
	all := make([]Status, 0, len(t.zones))
	for _, z := range t.zones {
		all = append(all, Status{z.name, z.state, z.counts, z.rate})
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Zone, b.Zone) })
	return all
}

func (t *Tracker[K]) enter(n Node, joins bool) *zone {
	z, ok := t.zones[n.Zone]
	if !ok {
		z = &zone{name: n.Zone, state: Initial, before: Initial}
		t.zones[n.Zone] = z
	}
	if joins {
		z.members++
	}
	z.counts.add(n, +1)
	t.soil(z)
	return z
}

func (t *Tracker[K]) leave(n Node, parts bool) {
	z := t.zones[n.Zone]
	z.counts.add(n, -1)
	t.soil(z)
	if !parts {
		return
	}
	z.members--
	if z.members == 0 {
		delete(t.zones, n.Zone)
		if z.told {
			t.gone = append(t.gone, n.Zone)
		}
	}
}

// soil makes sure that the zone is judged.
func (t *Tracker[K]) soil(z *zone) {
	if !z.dirty {
		z.dirty = true
		t.dirty = append(t.dirty, z)
	}
}

func (c *Counts) add(n Node, delta int) {
	switch {
	case n.Excluded:
	case n.Ready:
		c.Ready += delta
	default:
		c.NotReady += delta
	}
}

// disrupted takes note of a node that has just become not ready, and returns
// when the extent of the disruption is known.
func (z *zone) disrupted(now time.Time, interval time.Duration) time.Time {
	if interval <= 0 {
		return now
	}
	if !now.Before(z.known) {
		z.known = now.Add(interval)
	}
	return z.known
}

func (t *Tracker[K]) advance(now time.Time) {
	if now.After(t.now) {
		t.now = now
	}
}
