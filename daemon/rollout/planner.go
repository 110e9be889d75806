package rollout

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is how a [Planner] plans. Only Spec is required.
type Config struct {
	// Spec is what is wanted. [Planner.SetSpec] changes it.
	Spec Spec
	// Owner is the UID of the set. A task carries it, so that it is not performed
	// for another set, for example one that was created again under the name. The
	// names of pods follow from it, so that a planner skips those that are taken.
	// Empty: the tasks are for any owner.
	Owner types.UID
	// Nodes is the store of nodes, which other planners may use too. Nil: one of
	// its own.
	Nodes *Nodes
	// Matcher says which comparisons of tolerations are understood.
	Matcher taints.Matcher
	// Burst is how many creations, and how many deletions, may be under way or not
	// yet observed. Zero means 250, as in kube-controller-manager.
	Burst int
	// ExpectationTimeout is how long to wait for the watch to show one of our
	// writes before the pod is read. Zero means half a minute;
	// kube-controller-manager waits five minutes.
	ExpectationTimeout time.Duration
	// Less reports whether a node comes before another: which one gets its first
	// pod, or its new one, first. Equal nodes come by their names, and so do all
	// if it is nil. [Planner.SetLess] changes it. It must depend on nothing but
	// the two nodes.
	//
	// Nodes for which a call was refused come last. So do ignored nodes whose
	// available pod a rollout may take. While calls are refused, names do not
	// count, and outside of a rollout Less does not either. The next try is then
	// less likely for a neighbor with the same fault.
	Less func(a, b *corev1.Node) bool
	// Eligible reports whether a rollout may replace the pod of a node, for
	// example of canaries that carry a label. Nil: of any node.
	// [Planner.SetEligible] changes it. It must depend on nothing but the node.
	Eligible func(node *corev1.Node) bool
	// ClassifyUnavailable says whether a node without an available pod counts
	// against MaxUnavailable, or against MaxSurge where its new pod waits next to
	// the old one. The pod is nil if the node has none that stays. Nil: all nodes
	// count. [IgnoreNotReadyNodes] is one to use. It must depend on nothing but
	// its arguments.
	//
	// A node whose available pod the rollout has deleted is not asked about. It
	// counts until it has an available pod again, so that a rollout never takes
	// more available pods than MaxUnavailable. A new Planner does not know these
	// nodes.
	ClassifyUnavailable func(node *corev1.Node, pod *corev1.Pod) Unavailability
}

// Unavailability says whether a node without an available pod counts.
type Unavailability string

const (
	// UnavailabilityCounted: it counts against the limits of the rollout.
	UnavailabilityCounted Unavailability = "Counted"
	// UnavailabilityIgnored: it does not count. The rollout is not the cause, and
	// to wait for the node does not help.
	UnavailabilityIgnored Unavailability = "Ignored"
)

// IgnoreNotReadyNodes is a ClassifyUnavailable that ignores nodes that are not
// ready: a rollout goes on while some nodes are down. It also goes on when most
// are, or when the control plane only believes so. If the rollout itself makes
// nodes not ready, as one of a network plugin may, those count.
func IgnoreNotReadyNodes(node *corev1.Node, _ *corev1.Pod) Unavailability {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return UnavailabilityCounted
		}
	}
	return UnavailabilityIgnored
}

const (
	defaultBurst              = 250 // BurstReplicas of kube-controller-manager v1.37
	defaultExpectationTimeout = 30 * time.Second
)

// ErrInvalidConfig is what is wrong with a [Config] or an [ExecutorConfig].
var ErrInvalidConfig = errors.New("invalid rollout config")

// Validate joins what is wrong with a configuration: [ErrInvalidConfig] or
// [ErrInvalidSpec].
func (c Config) Validate() error {
	var problems []error
	if c.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Config.Burst is %d, want zero or more", ErrInvalidConfig, c.Burst))
	}
	if c.ExpectationTimeout < 0 {
		problems = append(problems, fmt.Errorf("%w: Config.ExpectationTimeout is %s, want zero or more",
			ErrInvalidConfig, c.ExpectationTimeout))
	}
	return errors.Join(append(problems, c.Spec.Validate())...)
}

// A Planner observes the nodes and the pods of one DaemonSet, or of a similar
// set. It hands out pods to create, to delete or to read, one [Task] at a time.
// It is a [timedqueue.Core]. A change of a node or pod costs one evaluation of
// that node; the counts over all nodes are kept.
//
// It only decides, and is not safe for concurrent use. Time never goes
// backwards in it: an earlier now counts as the latest. Besides the objects it
// keeps about half a kilobyte for a node with its pod. It keeps nothing for a
// node that has no pod and should have none, except failures for half an hour.
type Planner struct {
	config    Config
	spec      *Spec
	surges    bool
	invalid   bool  // the rollout of the spec is invalid
	halted    bool  // no pod is deleted
	refusal   error // why a later spec was refused
	placement *daemon.Placement
	limits    limits

	now      time.Time
	store    *Nodes
	index    int                   // in Nodes.planners; departed: it was closed
	id       int                   // in the order in which planners join the store
	reported bool                  // it is in Nodes.changed
	states   []*nodeState          // of all nodes that have a record
	gone     map[string]*nodeState // those of nodes that are gone
	pods     map[string]*podState  // by name, of one namespace
	stale    fifo                  // to be evaluated before anything is decided
	scan     scan                  // to be evaluated after a change for all nodes

	counts     counts
	queues     [numberOfQueues]nodeHeap
	deleting   *nodeState // in toDelete, with some of its pods handed out
	timers     *timedqueue.Queue[string, *nodeState]
	unseen     expectations
	tombstones tombstones
	unresolved int   // pods whose deletion is not resolved
	revision   int32 // counts the revisions that were wanted
	ranking    int32 // counts the orders that were wanted

	creations, deletions calls
}

// departed is the index of a planner that was closed.
const departed = -1

func (p *Planner) closed() bool { return p.index == departed }

// NewPlanner returns a planner that knows no pods yet, and of nodes those of
// Config.Nodes. Now must not be the zero time.
func NewPlanner(config Config, now time.Time) (*Planner, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Burst == 0 {
		config.Burst = defaultBurst
	}
	if config.ExpectationTimeout == 0 {
		config.ExpectationTimeout = defaultExpectationTimeout
	}
	if config.Nodes == nil {
		config.Nodes = new(Nodes)
	}
	timers, err := newTimers(now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	p := &Planner{
		config: config,
		now:    now,
		store:  config.Nodes,
		gone:   make(map[string]*nodeState),
		timers: timers,
		unseen: expectations{timeout: config.ExpectationTimeout},

		creations: calls{burst: config.Burst, window: 1, epoch: 1},
		deletions: calls{burst: config.Burst, window: config.Burst, epoch: 1},
	}
	p.rank()
	p.use(config.Spec)
	p.store.join(p)
	p.scan.nodes = p.store.Len()
	return p, nil
}

// Close removes the planner from its store of nodes, which other planners may
// use. The planner must not be used afterwards. The memory of the first
// thousand records is free at once. That of the others is when nodes have
// changed, a hundred with each change.
func (p *Planner) Close() { p.store.leave(p) }

// SetSpec changes what is wanted. All nodes are evaluated again, in the turns
// of [Planner.Start], and what has failed with another revision no longer
// counts. The same spec again changes nothing and costs a comparison.
//
// The error is that of [Spec.Validate]. The planner then keeps the former spec,
// but hands out only refreshes until a valid spec is set. Pods of an unwanted
// revision would be replaced again. An invalid rollout is no error here. It
// stops, and the pods are managed. [Planner.Problems] returns both.
//
// A longer MinReady can make many pods unavailable at once. If the revision
// changes with it, they are replaced at once, unless the rollout is Strict, as
// in kube-controller-manager.
func (p *Planner) SetSpec(now time.Time, spec Spec) error {
	p.advance(now)
	if equality.Semantic.DeepEqual(p.spec, &spec) {
		p.refusal = nil
		return nil // each write of a set's status causes an event of the set
	}
	if p.refusal = spec.Validate(); p.refusal != nil {
		return p.refusal
	}
	if spec.Revision != p.spec.Revision {
		p.creations.reset()
		p.revision++
	}
	p.use(spec)
	p.scan = scan{states: len(p.states), nodes: p.store.Len()}
	return nil
}

func (p *Planner) use(spec Spec) {
	p.spec = &spec
	p.invalid = spec.rolloutProblems() != nil
	p.surges = !p.invalid && spec.Strategy.surges()
	p.placement = daemon.Compile(spec.Template, p.config.Matcher)
	p.limits = limits{}
}

// SetLess changes the order of nodes, Config.Less. All nodes are evaluated
// again, in the turns of [Planner.Start]. Attempts and back-offs stay.
func (p *Planner) SetLess(now time.Time, less func(a, b *corev1.Node) bool) {
	p.advance(now)
	p.config.Less = less
	p.ranking++ // so that positions in the former queues no longer count
	p.rank()
	p.scan.states = len(p.states)
}

// rank begins with empty queues.
func (p *Planner) rank() {
	for i := range p.queues {
		p.queues[i] = newQueue(queueName(i), p.config.Less)
	}
}

// SetEligible changes which nodes a rollout may update, Config.Eligible. All
// nodes are evaluated again, in the turns of [Planner.Start]. Attempts and
// back-offs stay.
func (p *Planner) SetEligible(now time.Time, eligible func(node *corev1.Node) bool) {
	p.advance(now)
	p.config.Eligible = eligible
	p.scan.states = len(p.states)
}

// Problems returns why the latest spec was refused, and the [Spec.Problems] of
// the spec in use. It returns nil if there are none.
func (p *Planner) Problems() error { return errors.Join(p.refusal, p.spec.Problems()) }

// Stopped returns why the rollout stands still until the spec is corrected: the
// latest spec was refused, or the Strategy of the one in use is invalid. It is
// nil if it goes on, also if terms of the node affinity are ignored.
func (p *Planner) Stopped() error { return errors.Join(p.refusal, p.spec.rolloutProblems()) }

// ObserveNode records a node as it is now, in the store and so for all planners
// of it. It keeps the pointer; the node must not be changed afterwards.
func (p *Planner) ObserveNode(now time.Time, node *corev1.Node) { p.store.Observe(now, node) }

// ForgetNode records that a node is gone, for all planners of the store.
func (p *Planner) ForgetNode(now time.Time, name string) { p.store.Forget(now, name) }

// Halt holds all deletions until Resume, whatever they are for. With it an
// operator stops a controller at once, without ending it. Creations go on, and
// so do reads. A rollout goes on as far as it deletes nothing. A task that is
// under way is not recalled. Halt costs O(1). A second Halt changes nothing.
func (p *Planner) Halt(now time.Time) {
	p.advance(now)
	p.halted = true
}

// Resume ends what Halt began. What was held is handed out as if it had become
// due now: no back-off has begun meanwhile.
func (p *Planner) Resume(now time.Time) {
	p.advance(now)
	p.halted = false
}
