package eviction

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is what a [Tracker] needs. The zero value is complete.
type Config struct {
	// Matcher says which toleration tolerates which taint.
	Matcher taints.Matcher
	// Concerns reports whether a NoExecute taint is this tracker's business. A
	// taint that is not evicts nothing here. Nil means that all are. It must be a
	// pure function; Task.Reevaluate calls it too, on the goroutine of the action.
	// Next to kube-controller-manager, which evicts for the other taints, set
	// Describe and Own too: DefaultCondition has its reason.
	Concerns func(*corev1.Taint) bool
	// Exempt keeps pods from being evicted, whatever their tolerations and
	// whatever is asked for them. Nil exempts none, like kube-controller-manager.
	// It must be a pure function of the pod; Task.Reevaluate calls it too.
	Exempt func(*corev1.Pod) bool
	// Backoff is the wait after an attempt that failed, and after one that a
	// PodDisruptionBudget refused. Its Max is also the longest time for which an
	// answer of a server can make a pod wait.
	Backoff timedqueue.Backoff
	// Budgets limit how fast pods leave. None is no limit, like
	// kube-controller-manager: the workers are the limit.
	Budgets []Budget
	// ChargeRefusals makes evictions that a PodDisruptionBudget refuses spend
	// their tokens, so that the budgets bound the requests and not the evictions.
	ChargeRefusals bool
	// LowPriorityFirst makes pods that are due at the same time leave in the order
	// of their priority, the lowest first. Else, and among equals, the order is
	// that in which they got a deadline. A pod whose deadline is moved keeps its
	// place, except by an attempt: it comes behind the pods that waited meanwhile.
	LowPriorityFirst bool
	// Describe returns what an eviction writes to its pod's status. It must be a
	// pure function. Nil means DefaultCondition.
	Describe func(Task) Condition
	// Own lists the reasons, of conditions and of the status itself, that are this
	// tracker's to clear. It must have every reason that Describe returns, and
	// none that another client of the cluster uses for its own evictions. Nil
	// means those of DefaultCondition. With DefaultCondition only conditions of
	// the type DisruptionTarget are cleared, else those of any type.
	Own []string
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{validateBudgets(c.Budgets)}
	if err := c.Backoff.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w", ErrInvalidConfig, err))
	}
	if c.Describe != nil && len(c.Own) == 0 {
		problems = append(problems, fmt.Errorf("%w: Own is empty, want the reasons that Describe returns",
			ErrInvalidConfig))
	}
	if slices.Contains(c.Own, "") {
		problems = append(problems,
			fmt.Errorf("%w: Own is %q, want no empty reason: conditions of other clients have it",
				ErrInvalidConfig, c.Own))
	}
	if c.Describe == nil && c.Own != nil {
		for _, reason := range defaultOwn().reasons {
			if !slices.Contains(c.Own, reason) {
				problems = append(problems, fmt.Errorf("%w: Own is %q, want also %q of DefaultCondition",
					ErrInvalidConfig, c.Own, reason))
			}
		}
	}
	return errors.Join(problems...)
}

// rules is what a task needs of the config, with the defaults.
func (c Config) rules() *rules {
	r := &rules{
		matcher: c.Matcher, concerns: c.Concerns, exempt: c.Exempt,
		describe: DefaultCondition, own: defaultOwn(),
	}
	if c.Own != nil {
		r.own.reasons = slices.Clone(c.Own)
	}
	if c.Describe != nil {
		r.describe, r.own.only = c.Describe, ""
	}
	return r
}

// A Tracker knows the NoExecute taints of nodes and the pods on them, and hands
// out each pod when it must leave. It is fed with nodes and pods as an informer
// delivers them. A change of a taint, a toleration, a pod's node, or of what is
// suspended decides again when the pods concerned must leave. A
// [timedqueue.Dispatcher] can drive it.
//
// A change of a node costs its pods. A change of a pod costs O(log n), and so
// does Start. After [Tracker.SuspendTaints] each Start also decides a slice of
// the pods again. For the cost of budgets see [timedqueue.Queue]. Comparing a
// taint with 256 tolerations counts as another pod. If the pods of a node cost
// more than a slice, the next calls of Start decide the others. None of them is
// handed out meanwhile unless it is due. An action under way for one counts as
// canceled when deciding costs much. A pod costs about 220 bytes besides the
// strings and tolerations of its object, whether it has a deadline or not.
// There is no timer and no goroutine. A Tracker is not safe for concurrent use.
type Tracker struct {
	config Config
	rules  *rules
	epoch  time.Time // times of pods are distances from it
	nodes  map[string]*node
	// ordered holds the nodes, for what goes through them in slices.
	ordered []*node
	// evictions holds every pod, with its deadline if it has one.
	evictions *timedqueue.Queue[types.UID, pod]
	// clears holds the pods whose condition is to be cleared.
	clears *timedqueue.Queue[types.UID, *entry]
	// accepted holds the pods whose eviction was accepted, until they are observed
	// to be terminating or the longest wait is over.
	accepted  *timedqueue.Queue[types.UID, *entry]
	running   map[types.UID]*attempt // actions under way
	histories map[types.UID]*history
	requests  map[types.UID]*request // of single pods
	byNode    []Budget
	byPod     []Budget
	suspended func(*corev1.Taint) bool
	halted    bool
	// generation counts what concerns all nodes; see node.decided.
	generation int
	stale      stale
	slice      int    // the most records that one Reevaluate visits
	waiting    int    // pods about which something is to be done
	overdue    *tally // those of them that must leave, by when
	attempts   *tally // what is in evictions, by when it is attempted
	synced     bool
	visited    int // records, which tests want to know
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
	t := &Tracker{
		config:    config,
		rules:     config.rules(),
		epoch:     now,
		nodes:     make(map[string]*node),
		running:   make(map[types.UID]*attempt),
		histories: make(map[types.UID]*history),
		requests:  make(map[types.UID]*request),
		slice:     mostReevaluated,
	}
	if t.evictions, err = timedqueue.NewQueue(t.queueConfig(), now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	if t.overdue, err = newTally(now); err != nil {
		return nil, err
	}
	if t.attempts, err = newTally(now); err != nil {
		return nil, err
	}
	if t.accepted, err = timedqueue.NewQueue(timedqueue.QueueConfig[types.UID, *entry]{}, now); err != nil {
		return nil, err
	}
	if t.clears, err = timedqueue.NewQueue(clearsConfig(), now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return t, nil
}

// queueConfig has no Backoff: an attempt never ends as failed in the queue. The
// deadline can move while a pod waits, so the tracker schedules the wait
// itself.
func (t *Tracker) queueConfig() timedqueue.QueueConfig[types.UID, pod] {
	var config timedqueue.QueueConfig[types.UID, pod]
	if t.config.LowPriorityFirst {
		config.Less = func(a, b pod) bool { return a.placement.priority < b.placement.priority }
	}
	for _, b := range t.config.Budgets {
		config.Budgets = append(config.Budgets, timedqueue.Budget[types.UID, pod]{
			Name: b.Name, ShareOf: t.shareOf(b), Limit: b.Limit, Held: b.Held, Burst: b.Burst,
		})
	}
	return config
}

// shareOf returns the function that names a pod's share of a budget, nil if all
// pods share it.
func (t *Tracker) shareOf(b Budget) func(types.UID, pod) string {
	switch {
	case b.ByPod != nil:
		i := len(t.byPod)
		t.byPod = append(t.byPod, b)
		return func(_ types.UID, p pod) string { return p.placement.shares[i] }
	case b.ByNode != nil:
		i := len(t.byNode)
		t.byNode = append(t.byNode, b)
		return func(_ types.UID, p pod) string { return p.placement.node.shares[i] }
	}
	return nil
}

// clearsConfig bounds how often conditions are cleared. A kubelet that sets the
// condition again and again on each of its pods uses up only its own share. So
// does an owner that sets it on its own pods.
func clearsConfig() timedqueue.QueueConfig[types.UID, *entry] {
	return timedqueue.QueueConfig[types.UID, *entry]{
		Budgets: []timedqueue.Budget[types.UID, *entry]{{
			Name:    "node",
			ShareOf: func(_ types.UID, e *entry) string { return e.Value().placement.node.name },
			Limit:   1, Burst: 10,
		}, {
			Name:    "namespace",
			ShareOf: func(_ types.UID, e *entry) string { return e.Value().namespace.Value() },
			Limit:   10, Burst: 100,
		}},
	}
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

// history returns the record of former attempts on a pod, a new one if there is
// none.
func (t *Tracker) history(id types.UID) *history {
	h, known := t.histories[id]
	if !known {
		h = new(history)
		t.histories[id] = h
	}
	return h
}
