package nodehealth

import (
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrInvalidConfig is wrapped by the errors of NewMonitor.
var ErrInvalidConfig = errors.New("invalid nodehealth config")

// Config is what a [Monitor] needs. The zero value is complete.
type Config struct {
	// Grace is how long a node that has reported may be silent. Zero means 50 s,
	// the default of --node-monitor-grace-period.
	Grace time.Duration
	// StartupGrace is how long a node that has never reported may take to do so.
	// Zero means 60 s, the default of --node-startup-grace-period.
	StartupGrace time.Duration
	// Retry is the wait after a declaration that failed.
	Retry timedqueue.Backoff
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if c.Grace < 0 || c.StartupGrace < 0 {
		return fmt.Errorf("%w: Grace is %v and StartupGrace %v, want zero or more", ErrInvalidConfig, c.Grace, c.StartupGrace)
	}
	if err := c.Retry.Validate(); err != nil {
		return fmt.Errorf("%w: Retry: %w", ErrInvalidConfig, err)
	}
	return nil
}

// A Monitor tells which nodes have been silent for longer than their grace
// period. It is fed with nodes and leases as an informer delivers them, and
// hands out each node that has become silent once; a [timedqueue.Dispatcher] can
// drive it.
//
// Only the time at which a beat is observed counts, never a time that a node
// wrote: clocks of nodes do not matter. A beat is a change, in either direction,
// of the lease's renewTime or holder, or of the lastHeartbeatTime of the Ready
// condition. The Unknown that the observer itself writes is none.
//
// Observing is O(1) and allocates nothing for a node that is known. A beat does
// not touch the heap of expiries, but for a node's first report and for the beat
// after a failed declaration; a node that turns out to have beaten when its expiry
// comes up is put back, once in a grace period at most. A Monitor holds about 300
// bytes a node.
//
// Now never goes backwards inside a Monitor: an earlier now than the last one
// counts as the last one. It is not safe for concurrent use.
type Monitor struct {
	config Config
	nodes  map[string]*vitals
	expiry *timedqueue.Queue[string, *vitals]
	synced bool
}

// vitals is what is known of the life of the node of one name.
type vitals struct {
	present  bool // false while only a lease has been seen
	uid      types.UID
	lastBeat time.Time
	heard    bool // lastBeat is that of a beat
	reported bool // its kubelet has posted a Ready condition
	watched  bool // it has an expiry, waiting or handed out; false while it is known to be silent
	late     bool // that expiry may be later than the end of its grace period

	heartbeat metav1.Time // of the Ready condition
	hasLease  bool
	renewed   metav1.MicroTime
	holder    string
	version   string // of the lease
}

// NewMonitor returns a monitor that knows no node.
func NewMonitor(config Config, now time.Time) (*Monitor, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Grace == 0 {
		config.Grace = 50 * time.Second
	}
	if config.StartupGrace == 0 {
		config.StartupGrace = 60 * time.Second
	}
	expiry, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *vitals]{Backoff: config.Retry}, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &Monitor{config: config, nodes: make(map[string]*vitals), expiry: expiry}, nil
}

// Synced says that the nodes and leases that existed when we started have been
// observed. A lease that is seen first after that is a beat. Before, it may be of
// any age: its node has its grace period from then on, and is not heard of.
func (m *Monitor) Synced() { m.synced = true }

// ObserveNode takes a look at a node. A node that it sees for the first time has
// its whole grace period from now on, unless its Ready condition is Unknown
// already: such a node is silent, and was declared so, until it beats. A node
// with another UID than before is a new one.
func (m *Monitor) ObserveNode(now time.Time, node *corev1.Node) {
	now = m.advance(now)
	v := m.vitals(node.Name)
	ready := readyCondition(node)
	if !v.present || v.uid != node.UID {
		m.adopt(now, v, node, ready)
		return
	}
	if ready == nil || declaredByObserver(ready) {
		return
	}
	if !v.reported || !ready.LastHeartbeatTime.Equal(&v.heartbeat) {
		if !v.reported {
			v.late = true // the startup grace may be the longer one
		}
		v.reported, v.heartbeat = true, ready.LastHeartbeatTime
		m.beat(now, node.Name, v)
	}
}

// ObserveLease takes a look at a lease of the namespace kube-node-lease, which
// is named after its node.
func (m *Monitor) ObserveLease(now time.Time, lease *coordinationv1.Lease) {
	now = m.advance(now)
	v := m.vitals(lease.Name)
	var renewed metav1.MicroTime
	if lease.Spec.RenewTime != nil {
		renewed = *lease.Spec.RenewTime
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	// In this order: most changes are renewals, and then the strings need not be
	// read.
	changed := !v.renewed.Equal(&renewed) || v.holder != holder
	if !v.hasLease {
		changed = m.synced
		if !changed {
			// The list of leases may be younger than that of nodes: what has beaten in
			// between must not be cut short of it. It was not heard for that.
			v.lastBeat = now
		}
	}
	v.hasLease, v.renewed, v.holder, v.version = true, renewed, holder, lease.ResourceVersion
	if changed {
		m.beat(now, lease.Name, v)
	}
}

// ForgetNode drops a node that was deleted.
func (m *Monitor) ForgetNode(name string) {
	v, ok := m.nodes[name]
	if !ok {
		return
	}
	m.expiry.Remove(name)
	v.present, v.watched, v.uid = false, false, ""
	m.dropUnused(name, v)
}

// ForgetLease drops a lease that was deleted. That is not a beat.
func (m *Monitor) ForgetLease(name string) {
	v, ok := m.nodes[name]
	if !ok {
		return
	}
	v.hasLease, v.renewed, v.holder, v.version = false, metav1.MicroTime{}, "", ""
	m.dropUnused(name, v)
}

// Len returns how many names the monitor knows.
func (m *Monitor) Len() int { return len(m.nodes) }

// Silent is a node that has not been heard of for a whole grace period.
type Silent struct {
	Name string
	UID  types.UID
	// Since is when it was last heard of, or first seen, by our clock: itself, or its
	// lease if that was listed later.
	Since time.Time
	// Grace is the period that has passed since then.
	Grace time.Duration
	// LeaseVersion is the resourceVersion of its lease as it was observed last, empty
	// if it has none. If a live read shows another one, the node is not silent: our
	// cache, or whoever passes on what it sees, is behind.
	LeaseVersion string

	item timedqueue.Item[string, *vitals]
}

// Finding is what came of declaring a [Silent] node.
type Finding int

const (
	// Declared: its conditions are Unknown now, or were already.
	Declared Finding = iota
	// Alive: a closer look found that it had beaten. It gets a new grace period.
	Alive
	// Undecided: the look or the write failed. The node is handed out again after
	// a backoff, unless it beats.
	Undecided
)

// Start hands out a node that is silent for longer than its grace period.
func (m *Monitor) Start(now time.Time) (Silent, bool) {
	now = m.advance(now)
	for {
		item, ok := m.expiry.Start(now)
		if !ok {
			return Silent{}, false
		}
		v := item.Value
		grace := m.grace(v)
		if end := v.lastBeat.Add(grace); now.Before(end) {
			m.expiry.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: end})
			continue
		}
		return Silent{Name: item.Key, UID: v.uid, Since: v.lastBeat, Grace: grace, LeaseVersion: v.version, item: item}, true
	}
}

// Finish takes what came of a node that Start handed out. If the node has beaten
// or was recreated meanwhile, that counts more.
func (m *Monitor) Finish(now time.Time, silent Silent, finding Finding) {
	now = m.advance(now)
	result := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	v, ok := m.nodes[silent.Name]
	switch {
	case !ok || !v.present || v.uid != silent.UID: // the queue is told already
	case finding == Alive:
		v.lastBeat, v.heard = now, true
		m.watch(silent.Name, v)
	case v.lastBeat.After(silent.Since):
		if v.watched { // not if it was found Unknown in the meantime
			m.watch(silent.Name, v)
		}
	case finding == Undecided:
		v.late = true // the backoff may be longer than the grace period after a beat
		result.Outcome = timedqueue.OutcomeFailed
	default:
		v.watched = false
	}
	m.expiry.Finish(now, silent.item, result)
}

// Next returns when Start should be called next.
func (m *Monitor) Next(now time.Time) (time.Time, bool) { return m.expiry.Next(m.advance(now)) }

// LastBeat returns when a node was last heard of, or first seen, by our clock, or
// when its lease was first seen if that was later.
func (m *Monitor) LastBeat(name string) (time.Time, bool) {
	v, ok := m.nodes[name]
	if !ok || !v.present {
		return time.Time{}, false
	}
	return v.lastBeat, true
}

// Heard reports whether a node has beaten since it was first seen. Until then
// what its conditions say was written before our time.
func (m *Monitor) Heard(name string) bool {
	v, ok := m.nodes[name]
	return ok && v.present && v.heard
}

// adopt starts watching a node of a UID that is new under this name. What is
// known of the name's lease stays: a lease that outlived its node is no beat.
func (m *Monitor) adopt(now time.Time, v *vitals, node *corev1.Node, ready *corev1.NodeCondition) {
	v.present, v.uid, v.lastBeat, v.heard = true, node.UID, now, false
	v.reported = ready != nil && ready.Reason != ReasonNeverReported
	v.heartbeat = metav1.Time{}
	if ready != nil {
		v.heartbeat = ready.LastHeartbeatTime
	}
	if ready != nil && ready.Status == corev1.ConditionUnknown {
		m.expiry.Remove(node.Name)
		v.watched = false
		return
	}
	m.watch(node.Name, v)
}

func (m *Monitor) beat(now time.Time, name string, v *vitals) {
	if !v.present {
		return
	}
	v.lastBeat, v.heard = now, true
	if !v.watched || v.late {
		m.watch(name, v)
	}
}

// watch makes a node expire at the end of its grace period from its last beat on,
// with no failed declaration behind it.
func (m *Monitor) watch(name string, v *vitals) {
	v.watched, v.late = true, false
	m.expiry.Remove(name)
	m.expiry.Add(name, v, v.lastBeat.Add(m.grace(v)))
}

func (m *Monitor) grace(v *vitals) time.Duration {
	if v.reported {
		return m.config.Grace
	}
	return m.config.StartupGrace
}

func (m *Monitor) vitals(name string) *vitals {
	v, ok := m.nodes[name]
	if !ok {
		v = &vitals{}
		m.nodes[name] = v
	}
	return v
}

func (m *Monitor) dropUnused(name string, v *vitals) {
	if !v.present && !v.hasLease {
		delete(m.nodes, name)
	}
}

// advance returns now, or the latest time that was passed in before if that is
// later. Each time that the monitor keeps comes from here, so they compare alike
// here and in the queue, and Start comes to an end: a caller's times may be late,
// and with or without a monotonic reading.
func (m *Monitor) advance(now time.Time) time.Time { return m.expiry.Advance(now) }
