package nodehealth

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A NodeMonitor is a [Monitor] of nodes. It is fed with nodes and leases as an
// informer delivers them.
//
// A heartbeat is a change, in either direction, of the lease's renewTime or
// holder, or of the lastHeartbeatTime of the Ready condition. The Unknown that
// an observer writes is no heartbeat. If the Ready condition of a silent node
// is not Unknown, another client has set it back, and the node is handed out
// again.
//
// A node with another UID than before is a new one. A NodeMonitor holds about
// 350 bytes a node.
type NodeMonitor struct {
	monitor *Monitor[string]
	nodes   map[string]*node
	synced  bool
}

// node is what is known of one name: of the node if it is watched, and of its
// lease.
type node struct {
	record[string]
	sources   *Heard // nil if nothing combines them
	lease     lease
	heartbeat metav1.Time // of the Ready condition
}

// lease is what is known of a lease. The zero value is that of none.
type lease struct {
	exists  bool
	renewed metav1.MicroTime
	holder  string
	version string
	read    string // the version that the last live read has shown
}

// NewNodeMonitor returns a monitor that knows no node. Now must not be the zero
// time.
func NewNodeMonitor(config Config, now time.Time) (*NodeMonitor, error) {
	monitor, err := newMonitor[string](config, now)
	if err != nil {
		return nil, err
	}
	return &NodeMonitor{monitor: monitor, nodes: make(map[string]*node)}, nil
}

// MarkSynced records that the nodes and leases that existed at the start have
// been observed. A lease that is first seen after that is a heartbeat. A lease
// that is first seen before may be of any age. It starts the grace period of
// its node again without a heartbeat.
func (m *NodeMonitor) MarkSynced() { m.synced = true }

// ObserveNode takes a node. One that is observed for the first time has its
// whole grace period from now on, except with Config.StartupFromCreation. If its
// Ready condition is Unknown already, it counts as silent until it is heard.
func (m *NodeMonitor) ObserveNode(now time.Time, object *corev1.Node) {
	seen := m.monitor.advance(now)
	n := m.node(object.Name)
	ready := readyCondition(object)
	if n.state == absent || n.uid != object.UID {
		m.watchNew(seen, ageOf(object, now), n, object, ready)
		return
	}
	m.monitor.grant(seen, &n.record, m.graceOf(object))
	unknown := ready != nil && ready.Status == corev1.ConditionUnknown
	if ready == nil || declaredByObserver(ready) {
		m.monitor.applyRecord(seen, &n.record, unknown)
		return
	}
	if !n.reported || !ready.LastHeartbeatTime.Equal(&n.heartbeat) {
		n.heartbeat = ready.LastHeartbeatTime
		seen = m.monitor.hear(now)
		m.beat(seen, n, Heard{Status: seen})
		m.monitor.report(&n.record, true)
		return
	}
	m.monitor.applyRecord(seen, &n.record, unknown)
}

// ObserveLease takes a lease of the namespace kube-node-lease, which is named
// after its node.
func (m *NodeMonitor) ObserveLease(now time.Time, object *coordinationv1.Lease) {
	seen := m.monitor.advance(now)
	n := m.node(object.Name)
	next := lease{exists: true, version: object.ResourceVersion, read: n.lease.read}
	if object.Spec.RenewTime != nil {
		next.renewed = *object.Spec.RenewTime
	}
	if object.Spec.HolderIdentity != nil {
		next.holder = *object.Spec.HolderIdentity
	}
	// Most changes are renewals, for which the holders need not be compared.
	changed := !n.lease.renewed.Equal(&next.renewed) || n.lease.holder != next.holder
	if !n.lease.exists {
		changed = m.synced
		if !changed {
			// The list of leases may be younger than that of nodes. The heartbeats in
			// between must count, though the time of the last one is unknown.
			n.since, n.blind = seen, m.monitor.sight.blind
			if n.sources != nil {
				n.sources.Lease = seen
			}
		}
	}
	n.lease = next
	if !changed {
		return
	}
	seen = m.monitor.hear(now)
	if n.state != absent {
		m.beat(seen, n, Heard{Lease: seen})
	}
}

// Heartbeat takes a heartbeat of a node that the caller has observed by other
// means, for example by a probe. It does not prove that heartbeats can be heard
// which come by way of the API server.
func (m *NodeMonitor) Heartbeat(now time.Time, name string) {
	now = m.monitor.advance(now)
	if n, ok := m.watched(name); ok {
		m.beat(now, n, Heard{Probe: now})
	}
}

// ForgetNode drops a node that was deleted.
func (m *NodeMonitor) ForgetNode(now time.Time, name string) {
	m.monitor.advance(now)
	if n, ok := m.watched(name); ok {
		m.monitor.forget(&n.record)
		n.uid = ""
		m.dropUnused(name, n)
	}
}

// ForgetLease drops a lease that was deleted. That is no heartbeat.
func (m *NodeMonitor) ForgetLease(now time.Time, name string) {
	m.monitor.advance(now)
	if n, ok := m.nodes[name]; ok {
		n.lease = lease{}
		m.dropUnused(name, n)
	}
}

// Answered says that a write was answered; see [Monitor.Answered].
func (m *NodeMonitor) Answered(now, sent time.Time) { m.monitor.Answered(now, sent) }

// Unanswered says that such a write has failed; see [Monitor.Unanswered].
func (m *NodeMonitor) Unanswered(now time.Time) { m.monitor.Unanswered(now) }

// Blind returns how much time was blind; see [Monitor.Blind].
func (m *NodeMonitor) Blind(now time.Time) (time.Duration, bool) { return m.monitor.Blind(now) }

// Blindnesses counts the blindnesses that have ended; see
// [Monitor.Blindnesses].
func (m *NodeMonitor) Blindnesses() uint32 { return m.monitor.Blindnesses() }

// Config returns the config with its defaults.
func (m *NodeMonitor) Config() Config { return m.monitor.config }

// Sight returns whether nodes can be found silent now; see [Monitor.Sight].
func (m *NodeMonitor) Sight(now time.Time) Sight { return m.monitor.Sight(now) }

// Len returns how many names the monitor knows, of nodes or of leases.
func (m *NodeMonitor) Len() int { return len(m.nodes) }

// Silent reports whether a node counts as silent; see [Monitor.Silent].
func (m *NodeMonitor) Silent(name string) bool {
	n, ok := m.watched(name)
	return ok && n.state.countsAsSilent()
}

// Returning reports whether a node that counts as silent is heard again, but not
// yet for Config.RecoveryPeriod.
func (m *NodeMonitor) Returning(name string) bool {
	n, ok := m.watched(name)
	return ok && n.state.isReturning()
}

// Expired reports whether the grace period of a node is over; see
// [Monitor.Expired].
func (m *NodeMonitor) Expired(now time.Time, name string) bool {
	n, ok := m.watched(name)
	return ok && m.monitor.expired(now, &n.record)
}

// LastHeartbeat returns when a node was last heard, by the observer's clock.
// For a node that was not heard it returns when the node or its lease was first
// seen, whichever was later, or with Config.StartupFromCreation when it was
// created.
func (m *NodeMonitor) LastHeartbeat(name string) (time.Time, bool) {
	n, ok := m.watched(name)
	if !ok {
		return time.Time{}, false
	}
	return n.since.Add(n.blind), true
}

// HasHeartbeat reports whether a node was heard since it was first seen. Until
// then, what its conditions say was written earlier.
func (m *NodeMonitor) HasHeartbeat(name string) bool {
	n, ok := m.watched(name)
	return ok && n.heard
}

// HeardSinceBlindness reports whether a node was heard since the monitor was
// last blind, or the node or its lease first seen; see
// [Monitor.HeardSinceBlindness].
func (m *NodeMonitor) HeardSinceBlindness(name string) bool {
	n, ok := m.watched(name)
	return ok && m.monitor.heardSinceBlindness(&n.record)
}

// A NodeTask is a [Task] about a node.
type NodeTask struct {
	Task[string]
	UID types.UID
}

// Start hands out a node that has been silent for longer than its grace period,
// or one that was and is heard again.
func (m *NodeMonitor) Start(now time.Time) (NodeTask, bool) {
	visits := mostVisited
	return m.StartWithin(now, &visits)
}

// StartWithin is Start for a caller that holds a lock for several calls; see
// [Monitor.StartWithin].
func (m *NodeMonitor) StartWithin(now time.Time, visits *int) (NodeTask, bool) {
	task, ok := m.monitor.StartWithin(now, visits)
	if !ok {
		return NodeTask{}, false
	}
	// No map lookup: when thousands fall silent, those would take most of the
	// time.
	return NodeTask{Task: task, UID: task.record.uid}, true
}

// ReadLease takes the resourceVersion of a node's lease from a live read, empty
// if there is no lease. It reports whether the node is alive: the version was
// neither observed nor read before. Then the caller's cache is behind, and the
// caller finishes the task with [OutcomeAlive]. While the cache stays behind,
// each later heartbeat is found by such a read.
func (m *NodeMonitor) ReadLease(name, version string) bool {
	n, ok := m.watched(name)
	if !ok || version == "" || version == n.lease.version || version == n.lease.read {
		return false
	}
	n.lease.read = version
	return true
}

// Finish takes the result of a task that Start handed out. If the node was
// heard or recreated meanwhile, that counts more.
func (m *NodeMonitor) Finish(now time.Time, task NodeTask, result Result) {
	m.monitor.Finish(now, task.Task, result)
}

// Next returns when Start should be called next.
func (m *NodeMonitor) Next(now time.Time) (time.Time, bool) { return m.monitor.Next(now) }

// watchNew starts to watch a node of a UID that is new under this name. What is
// known of the name's lease is kept: a lease that outlived its node is no
// heartbeat.
func (m *NodeMonitor) watchNew(
	now time.Time, age time.Duration, n *node, object *corev1.Node, ready *corev1.NodeCondition,
) {
	if n.state != absent {
		m.monitor.forget(&n.record)
	}
	n.uid, n.heartbeat = object.UID, metav1.Time{}
	seen := Observation{GracePeriod: m.graceOf(object)}
	if ready != nil {
		n.heartbeat = ready.LastHeartbeatTime
		seen.Reported = ready.Reason != ReasonNeverReported
		seen.Silent = ready.Status == corev1.ConditionUnknown
	}
	since := now
	if m.monitor.config.StartupFromCreation && !seen.Reported && !n.lease.exists {
		since = now.Add(-age)
	}
	m.monitor.watch(since, object.Name, &n.record, seen)
	if m.monitor.config.Combine != nil {
		n.sources = &Heard{Lease: since, Status: since, Probe: since}
	}
}

// graceOf returns the grace period that a node has of its own.
func (m *NodeMonitor) graceOf(object *corev1.Node) time.Duration {
	if of := m.monitor.config.GracePeriodOf; of != nil {
		return of(object)
	}
	return 0
}

// ageOf returns for how long a node has existed, at least. Its creationTimestamp
// has lost up to a second. It is zero if that is missing, or in the future by a
// clock that is behind.
func ageOf(object *corev1.Node, now time.Time) time.Duration {
	if object.CreationTimestamp.IsZero() {
		return 0
	}
	return max(0, now.Sub(object.CreationTimestamp.Add(time.Second)))
}

// beat takes a heartbeat from the source that is not zero in from.
func (m *NodeMonitor) beat(now time.Time, n *node, from Heard) {
	if n.sources == nil {
		m.monitor.beat(now, &n.record)
		return
	}
	n.sources.set(from)
	at := m.monitor.config.Combine(*n.sources)
	if at.After(now) {
		at = now
	}
	// After blindness seen time stands still, and now is the last heartbeat's.
	if !at.After(n.since) && at.Before(now) {
		return // the other sources are silent
	}
	m.monitor.beatAt(now, &n.record, at)
}

func (m *NodeMonitor) node(name string) *node {
	n, ok := m.nodes[name]
	if !ok {
		n = &node{}
		m.nodes[name] = n
	}
	return n
}

// watched returns the node of a name that is watched.
func (m *NodeMonitor) watched(name string) (*node, bool) {
	n, ok := m.nodes[name]
	return n, ok && n.state != absent
}

func (m *NodeMonitor) dropUnused(name string, n *node) {
	if n.state == absent && !n.lease.exists {
		delete(m.nodes, name)
	}
}
