package eviction

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
)

// A Tracker knows the NoExecute taints of nodes and the pods on them, and hands
// out each pod when it must leave. It is fed with nodes and pods as an informer
// delivers them. A change of a taint, a toleration or a pod's node decides again
// when the pods concerned must leave. A [timedqueue.Dispatcher] can drive it.
//
// A change of a node costs its pods, so one of 100,000 pods costs tens of
// milliseconds, in which no other call is made. A change of a pod costs
// O(log n), and so does Start, which also puts aside, or takes back, up to a
// thousand pods that are held. For the cost of budgets see [timedqueue.Queue]. A
// pod costs about 185 bytes besides the strings and tolerations of its object,
// and up to 100 more if few others have its namespace and tolerations. A Tracker
// is not safe for concurrent use.
type Tracker struct {
	config *Config
	shares shares
	nodes  nodes
	pods   pods
	synced bool
}

// NewTracker returns a tracker that knows no node and no pod. Now must not be
// the zero time.
func NewTracker(config Config, now time.Time) (*Tracker, error) {
	err := config.Validate()
	if now.IsZero() {
		err = errors.Join(err, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig))
	}
	if err != nil {
		return nil, err
	}
	if config.Lineage == nil {
		config.Lineage = taints.Equivalent
	}
	t := &Tracker{config: &config}
	if t.pods, err = newPods(t.config, t.shares.queueConfig(t.config), now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	t.nodes = newNodes(len(t.shares.byNode))
	return t, nil
}

// ObserveNode takes a node as it is now. A node with another UID than before is
// new: it has none of the taints that the old one had, and is not evicted.
func (t *Tracker) ObserveNode(now time.Time, observed *corev1.Node) {
	now = t.pods.advance(now)
	n := t.nodes.record(observed.Name)
	t.pods.setShares(n, t.shares.ofNode(observed))
	same := n.state == present && n.uid == observed.UID
	if !same {
		n.reset(present, observed.UID)
	}
	claimed := t.nodes.claim(n)
	next := t.config.noExecute(observed, n.taints, now, same || t.synced)
	if same && !claimed && equalTaints(n.taints, next) {
		return
	}
	n.taints = next
	t.pods.decideOn(now, n)
}

// ObserveTaints takes the taints of a place that is no node of the API server;
// see ObserveNode. Functions of the Config that take a node get one that has
// just these.
func (t *Tracker) ObserveTaints(now time.Time, name string, uid types.UID, on []corev1.Taint) {
	place := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	place.Spec.Taints = on
	t.ObserveNode(now, place)
}

// ForgetNode drops a node that was deleted. Its pods are not evicted for its
// taints any more.
func (t *Tracker) ForgetNode(now time.Time, name string) {
	now = t.pods.advance(now)
	n, known := t.nodes.byName[name]
	if !known {
		return
	}
	n.reset(unseen, "")
	t.pods.decideOn(now, n)
	t.nodes.dropUnused(n)
}

// ObservePod takes a pod as it is now, which must not be older than what was
// observed of it before. A pod without a node is none of the tracker's. One that
// was terminating and is not any more, or has no node any more, is back from a
// backup of the API server's store, and counts as it is now. The pod must not be
// changed afterwards: its tolerations are kept, not copied.
func (t *Tracker) ObservePod(now time.Time, observed *corev1.Pod) {
	if observed.Spec.NodeName == "" {
		t.ForgetPod(now, KeyOf(observed).ID())
		return
	}
	s := Subject{
		Key:         KeyOf(observed),
		On:          observed.Spec.NodeName,
		Tolerations: t.config.tolerationsOf(observed),
		Leaving:     observed.DeletionTimestamp != nil,
		Exempt:      t.config.exempts(observed),
		OfPlace:     isOfNode(observed),
		pod:         observed,
		generation:  int32(observed.Generation),
		marked:      hasDisruptionTarget(observed),
	}
	if observed.Spec.Priority != nil {
		s.Priority = *observed.Spec.Priority
	}
	t.observe(t.pods.advance(now), &s)
}

// Observe takes a subject as it is now, which must not be older than what was
// observed of it before. One without a place is forgotten. For a pod of the API
// server there is ObservePod.
func (t *Tracker) Observe(now time.Time, s Subject) {
	if s.On == "" {
		t.ForgetPod(now, s.ID())
		return
	}
	t.observe(t.pods.advance(now), &s)
}

func (t *Tracker) observe(now time.Time, s *Subject) {
	if !t.config.LowPriorityFirst {
		s.Priority = 0 // it is of no interest, and would tell traits apart
	}
	s.shares = t.shares.ofSubject(s)
	id := s.ID()
	e, isNew := t.pods.keep(id)
	if !isNew && e.Value().node.name != s.On {
		t.forget(now, e) // cannot happen to a real pod: a binding is permanent
		e, isNew = t.pods.keep(id)
	}
	if isNew {
		t.pods.place(now, e, s.Name, t.nodes.record(s.On), StartTime(s.since(), now, t.synced))
	}
	t.pods.observe(now, e, s)
}

// ForgetPod drops a pod that was deleted. The ID is its UID; see [Key.ID].
func (t *Tracker) ForgetPod(now time.Time, id types.UID) {
	now = t.pods.advance(now)
	if e, known := t.pods.find(id); known {
		t.forget(now, e)
	}
}

func (t *Tracker) forget(now time.Time, e *entry) {
	n := e.Value().node
	t.pods.forget(now, e)
	t.nodes.dropUnused(n)
}

// MarkSynced says that the nodes and pods that existed at the start have been
// observed. What is observed first after that has appeared; see [StartTime].
// Nothing is handed out before, because the taints of a pod's node may not be
// known yet.
func (t *Tracker) MarkSynced() { t.synced = true }

// Start hands out one task to do now, decided from the newest view that the
// tracker has. It may return none while Next says now: thousands of pods are
// being put where they wait for a budget or for the end of a [Hold].
func (t *Tracker) Start(now time.Time) (Task, bool) {
	if !t.synced {
		return Task{}, false
	}
	return t.pods.start(t.pods.advance(now))
}

// Finish takes the result of a task. What the tracker observed meanwhile counts
// more: a pod that was forgotten stays forgotten, and the next step of one that
// changed is decided again. A second Finish of a task changes nothing.
func (t *Tracker) Finish(now time.Time, task Task, result Result) {
	t.pods.finish(t.pods.advance(now), task, result)
}

// Next returns when Start can next hand something out, and false when only a
// change of the tracker makes a difference.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	if !t.synced {
		return time.Time{}, false
	}
	return t.pods.stages.next(t.pods.advance(now))
}

// SetLimit changes how fast the pods of one share of a budget may leave; see
// [timedqueue.Queue.SetLimit]. It reports whether there is a budget of that
// name. Zero holds the pods of a share. So a zone's gate is a budget by node,
// with zero for a zone that is down. A share that is no longer needed is
// forgotten when it has the limit of its budget again.
func (t *Tracker) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	return t.pods.stages.evictions.SetLimit(now, budget, share, limit)
}
