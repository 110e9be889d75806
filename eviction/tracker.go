package eviction

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A Tracker knows the NoExecute taints of nodes and the pods on them, and hands
// out each pod when it must leave. It is fed with nodes and pods as an informer
// delivers them. A change of a taint, a toleration or a pod's node decides again
// when the pods concerned must leave. A [timedqueue.Dispatcher] can drive it.
//
// A change of a node costs its pods, so one of 100,000 pods costs tens of
// milliseconds, in which no other call is made. A change of a pod costs
// O(log n), and so does Start. Start may put aside, or take back, a thousand
// pods that are held, besides. For the cost of budgets see [timedqueue.Queue]. A
// pod costs about 185 bytes besides the strings and tolerations of its object,
// whether it has a deadline or not, and up to 100 more if few others have its
// namespace and tolerations. There is no timer and no goroutine. A Tracker is
// not safe for concurrent use.
type Tracker struct {
	config Config    // tasks refer to it
	epoch  time.Time // times of pods are distances from it
	nodes  map[string]*node
	// ordered holds the nodes, for PendingFrom.
	ordered []*node
	// evictions holds every pod, with the time at which something is to be done.
	evictions *timedqueue.Queue[types.UID, pod]
	recent    recentTraits // so that pods share theirs
	parked    parked
	// late holds those that wait after an attempt, by when they should have left.
	late *aside
	// accepted holds those whose eviction was accepted, until they are observed to
	// be terminating or the longest wait is over.
	accepted *aside
	// counted holds those that are terminating and count for a budget, by when they
	// do no more.
	counted *aside
	bounded bool                   // a budget has MaxPods or MaxNodes
	running map[types.UID]*attempt // actions under way
	notes   map[types.UID]*notes
	awaited map[string]NodeRequest // of nodes that are not known, by name
	byNode  []Budget
	byPod   []Budget
	held    holdSet // everywhere
	most    int     // pods about which one Start decides
	waiting int     // pods about which something is to be done
	synced  bool
	visited int // records that a walk has visited, which tests want to know
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
	t := &Tracker{
		config:  config,
		epoch:   now,
		nodes:   make(map[string]*node),
		running: make(map[types.UID]*attempt),
		notes:   make(map[types.UID]*notes),
		awaited: make(map[string]NodeRequest),
		most:    mostDecided,
	}
	if t.evictions, err = timedqueue.NewQueue(t.queueConfig(), now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	for _, q := range []**aside{&t.late, &t.accepted, &t.counted, &t.parked.pods, &t.parked.reopened} {
		if *q, err = timedqueue.NewQueue(timedqueue.QueueConfig[types.UID, *entry]{}, now); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
		}
	}
	return t, nil
}

// An aside is a queue for pods that are also elsewhere.
type aside = timedqueue.Queue[types.UID, *entry]

// takeDue takes the first pod out of such a queue that is due.
func takeDue(q *aside, now time.Time) (*entry, bool) {
	item, ok := q.Start(now)
	if !ok {
		return nil, false
	}
	q.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	return item.Value, true
}

// queueConfig has no Backoff: an attempt never ends as failed in the queue. The
// deadline can move while a pod waits, so the tracker schedules the wait
// itself.
func (t *Tracker) queueConfig() timedqueue.QueueConfig[types.UID, pod] {
	var config timedqueue.QueueConfig[types.UID, pod]
	if t.config.LowPriorityFirst {
		config.Less = func(a, b pod) bool { return a.traits.priority < b.traits.priority }
	}
	for _, b := range t.config.Budgets {
		budget := b.ofQueue()
		budget.ShareOf = t.shareOf(b)
		config.Budgets = append(config.Budgets, budget)
		t.bounded = t.bounded || budget.MaxActing > 0
	}
	return config
}

// shareOf returns the function that names a pod's share of a budget, nil if all
// pods share it.
func (t *Tracker) shareOf(b Budget) func(types.UID, pod) string {
	switch {
	case b.ByPod != nil, b.BySubject:
		i := len(t.byPod)
		t.byPod = append(t.byPod, b)
		return func(_ types.UID, p pod) string { return p.traits.shares[i] }
	case b.ByNode != nil:
		i := len(t.byNode)
		t.byNode = append(t.byNode, b)
		return func(_ types.UID, p pod) string { return p.node.shares[i] }
	}
	return nil
}

// MarkSynced says that the nodes and pods that existed at the start have been
// observed. What is observed first after that has appeared; see [StartTime].
// Nothing is handed out before, because the taints of a pod's node may not be
// known yet.
func (t *Tracker) MarkSynced() { t.synced = true }

// SetLimit changes how fast the pods of one share of a budget may leave; see
// [timedqueue.Queue.SetLimit]. It reports whether there is a budget of that
// name. Zero holds the pods of a share. So a zone's gate is a budget by node,
// with zero for a zone that is down.
func (t *Tracker) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	return t.evictions.SetLimit(t.advance(now), budget, share, limit)
}

// RemoveShare says that no more pods of a share are expected; see
// [timedqueue.Queue.RemoveShare].
func (t *Tracker) RemoveShare(now time.Time, budget, share string) {
	t.evictions.RemoveShare(t.advance(now), budget, share)
}

// Len returns how many nodes and pods the tracker knows.
func (t *Tracker) Len() (nodes, pods int) { return len(t.nodes), t.evictions.Len() }

// advance returns now, or the latest time that was passed in before if that is
// later.
func (t *Tracker) advance(now time.Time) time.Time { return t.evictions.Advance(now) }
