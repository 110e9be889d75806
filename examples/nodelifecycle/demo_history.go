package main

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// history is what the API server stored during the demonstration. Its times are
// those in the objects and those at which they were stored. So it does not
// depend on when a watch was read.
type history struct {
	nodes map[string]*nodeHistory
	pods  map[string]*podHistory
	end   time.Time
}

type nodeHistory struct {
	beats   []time.Time // when heartbeats were stored
	reports []report    // how the condition Ready changed
	tainted []taintSpan // with NoExecute

	heartbeat time.Time // of the condition Ready
}

// report is a change of the condition Ready.
type report struct {
	status corev1.ConditionStatus
	// changed is the time that the condition carries, in whole seconds: when the
	// kubelet reported it, or the controller decided on it.
	changed, stored time.Time
}

// taintSpan is a time in which a node has a NoExecute taint.
type taintSpan struct {
	added  time.Time // TimeAdded, which is in whole seconds
	stored time.Time
	from   uint64    // the version that has the taint first
	end    time.Time // when the removal was stored; zero: it was not removed
}

// removedBefore reports whether the taint was gone at a time.
func (s taintSpan) removedBefore(t time.Time) bool { return !s.end.IsZero() && !t.Before(s.end) }

// until returns when the taint was removed, or the end of the history.
func (s taintSpan) until(end time.Time) time.Time {
	if s.end.IsZero() {
		return end
	}
	return s.end
}

type podHistory struct {
	node     string
	patience patience
	// The eviction: its first write, the time that it carries, which is when the
	// eviction was decided, and when it was stored. All are zero without an
	// eviction. Decided is in whole seconds.
	version         uint64
	decided, stored time.Time
	gone            bool // deleted, or being so
}

func patienceOf(pod *corev1.Pod) patience {
	switch {
	case len(pod.Spec.Tolerations) == 0:
		return impatient
	case pod.Spec.Tolerations[0].TolerationSeconds != nil:
		return patient
	}
	return faithful
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// overlaps reports whether two stretches have a time in common. An end of zero
// is open.
func (s span) overlaps(other span) bool {
	return (other.to.IsZero() || s.from.Before(other.to)) && (s.to.IsZero() || other.from.Before(s.to))
}

// newHistory reads the history of a cluster.
func newHistory(cluster *memory.Cluster, now time.Time) *history {
	h := &history{nodes: map[string]*nodeHistory{}, pods: map[string]*podHistory{}, end: now}
	for _, change := range cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes")) {
		if node, ok := change.Object.(*corev1.Node); ok {
			h.node(node.Name).seeNode(node, change)
		}
	}
	for _, change := range cluster.Changes(coordinationv1.SchemeGroupVersion.WithResource("leases")) {
		lease, ok := change.Object.(*coordinationv1.Lease)
		if ok && lease.Namespace == corev1.NamespaceNodeLease && !change.Deleted {
			n := h.node(lease.Name)
			n.beats = append(n.beats, change.StoredAt)
		}
	}
	for _, n := range h.nodes {
		slices.SortFunc(n.beats, time.Time.Compare)
	}
	for _, change := range cluster.Changes(corev1.SchemeGroupVersion.WithResource("pods")) {
		if pod, ok := change.Object.(*corev1.Pod); ok {
			h.seePod(pod, change)
		}
	}
	return h
}

func (h *history) node(name string) *nodeHistory {
	if h.nodes[name] == nil {
		h.nodes[name] = &nodeHistory{}
	}
	return h.nodes[name]
}

func (n *nodeHistory) seeNode(node *corev1.Node, change memory.Change) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if len(n.reports) == 0 || n.reports[len(n.reports)-1].status != c.Status {
			n.reports = append(n.reports, report{c.Status, c.LastTransitionTime.Time, change.StoredAt})
		}
		if !c.LastHeartbeatTime.Time.Equal(n.heartbeat) {
			n.beats = append(n.beats, change.StoredAt)
		}
		n.heartbeat = c.LastHeartbeatTime.Time
	}
	i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
	last := len(n.tainted) - 1
	open := last >= 0 && n.tainted[last].end.IsZero()
	switch {
	case i >= 0 && !open:
		span := taintSpan{stored: change.StoredAt, from: change.Version}
		if added := node.Spec.Taints[i].TimeAdded; added != nil {
			span.added = added.Time
		}
		n.tainted = append(n.tainted, span)
	case i < 0 && open:
		n.tainted[last].end = change.StoredAt
	}
}

func (h *history) seePod(pod *corev1.Pod, change memory.Change) {
	if pod.Spec.NodeName == "" {
		return
	}
	p, known := h.pods[pod.Name]
	if !known {
		p = &podHistory{node: pod.Spec.NodeName, patience: patienceOf(pod)}
		h.pods[pod.Name] = p
	}
	if p.gone {
		return
	}
	p.gone = change.Deleted || pod.DeletionTimestamp != nil
	marked := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	switch {
	case marked >= 0 && p.version == 0:
		p.version, p.stored = change.Version, change.StoredAt
		p.decided = pod.Status.Conditions[marked].LastTransitionTime.Time
	case p.gone && p.version == 0:
		p.version, p.stored = change.Version, change.StoredAt
		p.decided = change.StoredAt.Truncate(time.Second)
	case marked < 0 && !p.gone:
		p.version, p.stored, p.decided = 0, time.Time{}, time.Time{} // it was canceled
	}
}

// outages returns when no node had sent a heartbeat for a grace period, until
// the next heartbeat.
func (h *history) outages(grace time.Duration) []span {
	var beats []time.Time
	for _, n := range h.nodes {
		beats = append(beats, n.beats...)
	}
	slices.SortFunc(beats, time.Time.Compare)
	beats = append(beats, h.end)
	var all []span
	for i := 1; i < len(beats); i++ {
		if silent := beats[i-1].Add(grace); silent.Before(beats[i]) {
			all = append(all, span{silent, beats[i]})
		}
	}
	return all
}

// lastBeat returns when the last heartbeat before a time was stored.
func (n *nodeHistory) lastBeat(before time.Time) (time.Time, bool) {
	i, _ := slices.BinarySearchFunc(n.beats, before, time.Time.Compare)
	if i == 0 {
		return time.Time{}, false
	}
	return n.beats[i-1], true
}

// isReady reports whether the stored condition was that the node is ready.
func (n *nodeHistory) isReady(at time.Time) bool {
	ready := false
	for _, r := range n.reports {
		if r.stored.After(at) {
			break
		}
		ready = r.status == corev1.ConditionTrue
	}
	return ready
}
