package zone

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config holds the settings of a [Tracker]. The zero value is complete.
type Config struct {
	// State returns the state of a zone. Nil means DefaultThresholds().State. It
	// is asked with unconfirmed nodes counted as ready, and again with them
	// counted as not ready, never with Counts.Unconfirmed.
	State func(Counts) State
	// Rate returns how many nodes a second may be acted against in a zone in
	// PhaseActive. Nil means DefaultRates().Rate. What is negative or not a number
	// counts as zero. It is asked as State is, and the lower rate counts.
	Rate func(State, Counts) float64
	// Phase returns what the cluster as a whole calls for: PhaseActive,
	// PhasePaused or PhaseSuspended; anything else counts as PhasePaused. Nil
	// means DefaultPhase. It is asked as State is, so its answer must depend on
	// its argument alone.
	Phase func(Cluster) Phase
	// StabilizationWindow is how long PhaseRecovering lasts: after the start, and
	// after the last moment that called for a pause or a suspension. Zero means
	// 50 s, the default of --node-monitor-grace-period. It should not be shorter
	// than that period.
	StabilizationWindow time.Duration
	// ObservationWindow is how long after the first expiry in a zone the state
	// of the zone is known, and of those that fail with it. It is the interval
	// between a node's heartbeats and a little more: a kubelet lengthens it by
	// up to 4 %, and declaring nodes takes a moment. Nil means 11 s, for the
	// kubelet's 10 s. Zero means no wait.
	ObservationWindow *time.Duration
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	if c.StabilizationWindow < 0 {
		problems = append(problems, fmt.Errorf("%w: StabilizationWindow is %v, want zero or more",
			ErrInvalidConfig, c.StabilizationWindow))
	}
	if c.ObservationWindow != nil && *c.ObservationWindow < 0 {
		problems = append(problems, fmt.Errorf("%w: ObservationWindow is %v, want zero or more",
			ErrInvalidConfig, *c.ObservationWindow))
	}
	return errors.Join(problems...)
}

// Node is what a [Tracker] records of a node.
type Node struct {
	// Zone is the name of its zone; see [ByTopology]. The empty name is valid.
	Zone string
	// Ready reports whether the node is ready: its Ready condition is True, and
	// it is not silent.
	Ready bool
	// Unconfirmed says that it is not known yet whether the node is not ready:
	// it is silent, but only a look at the API server tells whether the node is
	// or what passes on its heartbeats. It counts for nothing if Ready is true.
	Unconfirmed bool
	// Excluded nodes belong to their zone but do not count; see [Excluded].
	Excluded bool
}

// A Tracker records the nodes of a cluster by zone and evaluates the zones. It
// keeps counts, so observing a node costs a map lookup. Evaluating visits the
// zones that have changed, and all zones when the phase changes. Results do not
// depend on map order. It is not safe for concurrent use.
//
// K identifies a node: by its name, or by a cluster's where members are
// clusters.
type Tracker[K comparable] struct {
	config      Config
	observation time.Duration // Config.ObservationWindow or its default
	nodes       map[K]*member
	zones       map[string]*zone
	dirty       []*zone // to evaluate; some may be gone
	gone        []string

	// best and worst sum up the zones as they were last evaluated, with the
	// unconfirmed nodes ready and with them not ready.
	best, worst Cluster

	phase   Phase
	stopped bool      // see Cluster
	resume  time.Time // when PhaseRecovering ends
	// stabilizes: a window has begun since the last evaluation.
	stabilizes bool
	epoch      time.Time // times of members are distances from here
	now        time.Time
}

// member is a node in its zone. A cluster may have 100,000, so its time is a
// distance from the epoch.
type member struct {
	zone            *zone
	ready, excluded bool
	unconfirmed     bool
	held            bool // notBefore is set
	notBefore       time.Duration
}

type zone struct {
	name    string
	members int
	counts  Counts
	summed  Counts // the counts in Tracker.best and Tracker.worst
	state   State  // with the unconfirmed nodes ready
	worst   State  // with them not ready
	before  State  // as the last Evaluation reported it
	dirty   bool
	rate    float64
	told    bool      // an Evaluation has reported it
	known   time.Time // when the extent of the latest disruption is known
}

// NewTracker returns a tracker without nodes, in PhaseRecovering for one
// StabilizationWindow from now on. Now must not be the zero time.
func NewTracker[K comparable](config Config, now time.Time) (*Tracker[K], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if now.IsZero() {
		return nil, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig)
	}
	if config.State == nil {
		config.State = DefaultThresholds().State
	}
	if config.Rate == nil {
		config.Rate = DefaultRates().Rate
	}
	if config.Phase == nil {
		config.Phase = DefaultPhase
	}
	if config.StabilizationWindow == 0 {
		config.StabilizationWindow = 50 * time.Second
	}
	observation := 11 * time.Second
	if config.ObservationWindow != nil {
		observation = *config.ObservationWindow
	}
	return &Tracker[K]{
		config: config, observation: observation,
		nodes:   make(map[K]*member),
		zones:   make(map[string]*zone),
		phase:   PhaseRecovering,
		stopped: true,
		resume:  now.Add(config.StabilizationWindow),
		epoch:   now,
		now:     now,
	}, nil
}

// Observe records what a node is now. A node that is new is added, and one that
// changed zone moves.
func (t *Tracker[K]) Observe(now time.Time, key K, node Node) {
	t.advance(now)
	m, known := t.nodes[key]
	if !known {
		m = new(member)
		t.nodes[key] = m
	}
	moved := !known || m.zone.name != node.Zone
	unconfirmed := node.Unconfirmed && !node.Ready
	if !moved && m.ready == node.Ready && m.excluded == node.Excluded &&
		m.unconfirmed == unconfirmed {
		return
	}
	fell := !node.Ready && (!known || m.ready)
	if known {
		t.leave(m, moved)
	}
	m.ready, m.excluded, m.unconfirmed = node.Ready, node.Excluded, unconfirmed
	t.enter(m, node.Zone, moved)
	switch {
	case node.Ready:
		m.held, m.notBefore = false, 0
	case fell:
		m.held, m.notBefore = true, m.zone.disrupted(t.now, t.observation).Sub(t.epoch)
	}
}

// Forget removes a node.
func (t *Tracker[K]) Forget(key K) {
	m, known := t.nodes[key]
	if !known {
		return
	}
	t.leave(m, true)
	delete(t.nodes, key)
}

// NotBefore returns the time before which a controller should not act against a
// node that is not ready: one interval after the first expiry in its zone.
// Until then the extent of the disruption is unknown. Later expiries within
// that interval do not move the time, so no node waits longer than one
// interval. It is the zero time for a node that is ready or unknown.
func (t *Tracker[K]) NotBefore(key K) time.Time {
	if m, known := t.nodes[key]; known && m.held {
		return t.epoch.Add(m.notBefore)
	}
	return time.Time{}
}

// Status is a zone as it was last evaluated, with its current counts.
type Status struct {
	Zone string
	// State is that with unconfirmed nodes counted as ready.
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

// enter counts a member in the zone of a name, which it joins if it was not
// there.
func (t *Tracker[K]) enter(m *member, name string, joins bool) {
	if joins {
		m.zone = t.zone(name)
		m.zone.members++
	}
	m.zone.counts.add(m, +1)
	t.markDirty(m.zone)
}

func (t *Tracker[K]) zone(name string) *zone {
	z, ok := t.zones[name]
	if !ok {
		z = &zone{name: name, state: Initial, worst: Initial, before: Initial}
		t.zones[name] = z
	}
	return z
}

// leave takes a member off the counts of its zone, and out of it if it parts.
func (t *Tracker[K]) leave(m *member, parts bool) {
	z := m.zone
	z.counts.add(m, -1)
	t.markDirty(z)
	if !parts {
		return
	}
	z.members--
	if z.members == 0 {
		delete(t.zones, z.name)
		if z.told {
			t.gone = append(t.gone, z.name)
		}
	}
}

// markDirty makes sure that the zone is evaluated.
func (t *Tracker[K]) markDirty(z *zone) {
	if !z.dirty {
		z.dirty = true
		t.dirty = append(t.dirty, z)
	}
}

func (c *Counts) add(m *member, delta int) {
	switch {
	case m.excluded:
	case m.ready:
		c.Ready += delta
	case m.unconfirmed:
		c.Unconfirmed += delta
	default:
		c.NotReady += delta
	}
}

// disrupted records that a node has just become not ready, and returns when the
// extent of the disruption is known.
func (z *zone) disrupted(now time.Time, interval time.Duration) time.Time {
	if interval == 0 {
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
