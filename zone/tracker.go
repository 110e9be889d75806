package zone

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config holds the settings of a [Tracker]. The zero value is valid.
type Config struct {
	// State returns the state of a zone. Nil means DefaultThresholds().State. It
	// is called with unconfirmed nodes counted as ready, and again with them
	// counted as not ready. Counts.Unconfirmed is always zero.
	State func(Counts) State
	// Rate returns how many nodes a second may be acted against in a zone in
	// PhaseActive. Nil means DefaultRates().Rate. A negative rate or NaN counts as
	// zero. It is called as State is, and the lower rate counts.
	Rate func(State, Counts) float64
	// Phase returns what the cluster as a whole calls for: PhaseActive,
	// PhasePaused or PhaseSuspended; anything else counts as PhasePaused. Nil
	// means DefaultPhase. It is called as State is, so its result must depend on
	// its argument alone.
	Phase func(Cluster) Phase
	// StabilizationWindow is how long PhaseRecovering lasts: after the start, and
	// after the last moment that called for a pause or a suspension. Zero means
	// 50 s, the default of --node-monitor-grace-period. It should not be shorter
	// than that period.
	StabilizationWindow time.Duration
	// ObservationWindow is how long after the first expiry in a zone the extent
	// of the disruption is known. So long a zone also keeps its lower rate when
	// its state gets better: until the nodes that returned together are heard. It
	// should be a little longer than the interval between a node's heartbeats. A
	// kubelet lengthens that by up to 4 %, and to declare nodes takes a moment.
	// Nil means 11 s, for the kubelet's 10 s. Zero means no wait.
	ObservationWindow *time.Duration
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	if c.StabilizationWindow < 0 {
		problems = append(problems, fmt.Errorf("%w: Config.StabilizationWindow is %v, want zero or more",
			ErrInvalidConfig, c.StabilizationWindow))
	}
	if c.ObservationWindow != nil && *c.ObservationWindow < 0 {
		problems = append(problems, fmt.Errorf("%w: Config.ObservationWindow is %v, want zero or more",
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
	// Unconfirmed means that Ready is not certain. If Ready is false, the node is
	// silent, and no live read of the API server has shown yet whether its
	// heartbeats are only late. If Ready is true, the node was not heard since the
	// controller could not hear; see [Tracker.Unconfirm].
	Unconfirmed bool
	// Excluded nodes belong to their zone but do not count; see [Excluded].
	Excluded bool
}

// A Tracker records the nodes of a cluster by zone and evaluates the zones. It
// keeps counts, so observing a node costs a map lookup. Evaluating visits the
// zones that have changed, and all zones when the phase changes. Results do not
// depend on map order. It is not safe for concurrent use.
//
// K identifies a node, for example by its name.
type Tracker[K comparable] struct {
	config            Config
	observationWindow time.Duration // Config.ObservationWindow or its default
	nodes             map[K]*member
	zones             map[string]*zone
	dirty             []*zone // to evaluate; some may be gone
	gone              []string

	// best and worst sum up the zones as they were last evaluated, with the
	// unconfirmed nodes ready and with them not ready.
	best, worst Cluster

	// generation counts the calls of Unconfirm.
	generation uint32

	phase       Phase
	stopped     bool      // see Cluster
	recoveryEnd time.Time // when PhaseRecovering ends
	riseAt      time.Time // when a rate is first held no longer; zero if none is
	// windowBegan: a window has begun since the last evaluation.
	windowBegan bool
	epoch       time.Time // times of members are distances from here
	now         time.Time
}

// member is a node in its zone. A cluster may have 100,000, so its time is a
// distance from the epoch.
type member struct {
	zone            *zone
	ready, excluded bool
	unconfirmed     bool
	hasNotBefore    bool // notBefore is set
	// generation is that of the tracker when it was observed last. A node that was
	// ready in an earlier one is unconfirmed.
	generation uint32
	notBefore  time.Duration
}

type zone struct {
	name          string
	members       int
	counts        Counts
	summedCounts  Counts // the counts in Tracker.best and Tracker.worst
	state         State  // with the unconfirmed nodes ready
	worst         State  // with them not ready
	reportedState State  // as the last Evaluation reported it
	dirty         bool
	rise          rise
	rate          float64
	heldUntil     time.Time // as Status has it
	reported      bool      // in an Evaluation
	extentKnown   time.Time // when the extent of the latest disruption is known
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
		config: config, observationWindow: observation,
		nodes:       make(map[K]*member),
		zones:       make(map[string]*zone),
		phase:       PhaseRecovering,
		stopped:     true,
		recoveryEnd: now.Add(config.StabilizationWindow),
		epoch:       now,
		now:         now,
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
	if !moved && m.ready == node.Ready && m.excluded == node.Excluded &&
		m.unconfirmed == node.Unconfirmed && m.generation == t.generation {
		return
	}
	fell := !node.Ready && (!known || m.ready)
	if known {
		t.leave(m, moved)
	}
	m.ready, m.excluded, m.unconfirmed = node.Ready, node.Excluded, node.Unconfirmed
	m.generation = t.generation
	t.enter(m, node.Zone, moved)
	switch {
	case node.Ready:
		m.hasNotBefore, m.notBefore = false, 0
	case fell:
		m.hasNotBefore, m.notBefore = true, m.zone.extentKnownAt(t.now, t.observationWindow).Sub(t.epoch)
	}
}

// Forget removes a node that was deleted.
func (t *Tracker[K]) Forget(now time.Time, key K) {
	t.advance(now)
	m, known := t.nodes[key]
	if !known {
		return
	}
	t.leave(m, true)
	delete(t.nodes, key)
}

// NotBefore returns when a controller may first act against a node that is not
// ready: one ObservationWindow after the first expiry in its zone. Until then
// the extent of the disruption is unknown. Later expiries within that window do
// not move the time, so no node waits longer than one window. It is the zero
// time for a node that is ready or unknown.
func (t *Tracker[K]) NotBefore(key K) time.Time {
	if m, known := t.nodes[key]; known && m.hasNotBefore {
		return t.epoch.Add(m.notBefore)
	}
	return time.Time{}
}

// Status is a zone as it was last evaluated, with its current counts.
type Status struct {
	Zone string
	// State counts unconfirmed nodes as ready.
	State  State
	Counts Counts
	// Rate is in nodes a second.
	Rate float64
	// HeldUntil is when the rate rises to the one of the state, if the zone's
	// disruption has just ended. Else it is the zero time.
	HeldUntil time.Time
}

// Zones returns the zones by name.
func (t *Tracker[K]) Zones() []Status {
	all := make([]Status, 0, len(t.zones))
	for _, z := range t.zones {
		all = append(all, z.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Zone, b.Zone) })
	return all
}

// Zone returns the zone of a name, and false if no node is in it.
func (t *Tracker[K]) Zone(name string) (Status, bool) {
	z, known := t.zones[name]
	if !known {
		return Status{}, false
	}
	return z.status(), true
}

func (z *zone) status() Status { return Status{z.name, z.state, z.counts, z.rate, z.heldUntil} }

// enter counts a member in the zone of a name. Joins says that it was in no
// zone or in another one.
func (t *Tracker[K]) enter(m *member, name string, joins bool) {
	if joins {
		m.zone = t.zone(name)
		m.zone.members++
	}
	t.count(m, +1)
	t.markDirty(m.zone)
}

func (t *Tracker[K]) zone(name string) *zone {
	z, ok := t.zones[name]
	if !ok {
		z = &zone{name: name, state: Initial, worst: Initial, reportedState: Initial}
		t.zones[name] = z
	}
	return z
}

// leave subtracts a member from the counts of its zone, and removes it from the
// zone if it parts.
func (t *Tracker[K]) leave(m *member, parts bool) {
	z := m.zone
	t.count(m, -1)
	t.markDirty(z)
	if !parts {
		return
	}
	z.members--
	if z.members == 0 {
		delete(t.zones, z.name)
		if z.reported {
			t.gone = append(t.gone, z.name)
		}
	}
}

// markDirty has a zone evaluated next.
func (t *Tracker[K]) markDirty(z *zone) {
	if !z.dirty {
		z.dirty = true
		t.dirty = append(t.dirty, z)
	}
}

// count adds a member to the counts of its zone, or with -1 subtracts it.
func (t *Tracker[K]) count(m *member, delta int) {
	counts := &m.zone.counts
	switch {
	case m.excluded:
	case m.unconfirmed, m.ready && m.generation != t.generation:
		counts.Unconfirmed += delta
	case m.ready:
		counts.Ready += delta
	default:
		counts.NotReady += delta
	}
}

// extentKnownAt records that a node has just become not ready. It returns when
// the extent of the disruption is known.
func (z *zone) extentKnownAt(now time.Time, interval time.Duration) time.Time {
	if interval == 0 {
		return now
	}
	if !now.Before(z.extentKnown) {
		z.extentKnown = now.Add(interval)
	}
	return z.extentKnown
}

func (t *Tracker[K]) advance(now time.Time) {
	if now.After(t.now) {
		t.now = now
	}
}
