package daemon

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is how a [Planner] plans. Only Spec is required.
type Config struct {
	// Spec is what is wanted. [Planner.SetSpec] changes it.
	Spec Spec
	// Owner is the UID of the set. A task carries it, so that it is not performed
	// for another set, for example one that was created again under the name.
	// Empty: the tasks are for any owner.
	Owner types.UID
	// Nodes is the store of nodes, which planners may share. Nil: one of its own.
	Nodes *Nodes
	// Matcher says which comparisons of tolerations are understood.
	Matcher taints.Matcher
	// Burst is how many creations, and how many deletions, may be under way or not
	// yet observed. Zero means 250, as in kube-controller-manager.
	Burst int
	// Confirm is how long to wait for the watch to show one of our writes before
	// the pod is read. Zero means half a minute; kube-controller-manager waits
	// five.
	Confirm time.Duration
	// Less reports whether a node comes before another: which one gets its first
	// pod, or its new one, first. Equal nodes come by their names, and so do all
	// if it is nil. [Planner.SetLess] changes it. It must depend on nothing but
	// the two nodes.
	//
	// Nodes for which a call was refused come last. So do those whose available
	// pod a rollout may take although they are ignored. While calls are refused,
	// names do not count. What is no part of a rollout then goes without Less,
	// too, so that the next try is not for a neighbor with the same fault.
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
	defaultBurst   = 250 // BurstReplicas of kube-controller-manager v1.37
	defaultConfirm = 30 * time.Second
)

// ErrInvalidConfig is what is wrong with a [Config] or an [ExecutorConfig].
var ErrInvalidConfig = errors.New("invalid daemon config")

// Validate joins what is wrong with a configuration: [ErrInvalidConfig] or
// [ErrInvalidSpec].
func (c Config) Validate() error {
	var problems []error
	if c.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Config.Burst is %d, want zero or more", ErrInvalidConfig, c.Burst))
	}
	if c.Confirm < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Config.Confirm is %s, want zero or more", ErrInvalidConfig, c.Confirm))
	}
	return errors.Join(append(problems, c.Spec.Validate())...)
}

// A Planner knows the nodes and the pods of one DaemonSet, or of a similar set,
// and hands out what is to be done, one [Task] at a time. It is a
// [timedqueue.Core]. A change of a node or pod costs one evaluation of that
// node; the counts over all nodes are kept.
//
// It only decides, and is not safe for concurrent use. Time never goes
// backwards in it: an earlier now counts as the latest. It keeps about half a
// kilobyte for a node with its pod, besides the objects, and nothing for a node
// where no pod should run and none is. What has failed on a node is remembered
// for half an hour then.
type Planner struct {
	config    Config
	spec      *Spec
	surges    bool
	invalid   bool  // the spec cannot be rolled out
	refusal   error // why a later spec was refused, which is the one that is wanted
	placement *Placement
	limits    limits

	now    time.Time
	store  *Nodes
	index  int                   // in Nodes.planners
	id     int                   // in the order in which planners join the store
	states []*nodeState          // of the nodes of which there is something to know
	gone   map[string]*nodeState // those of them that are no more
	pods   map[string]*podState  // by name; they share a namespace
	stale  fifo                  // to be evaluated before anything is decided
	scan   scan                  // what is to be evaluated after a change for all nodes

	counts     counts
	queues     [numberOfQueues]nodeHeap
	draining   *nodeState // in toDelete, of whose pods some are handed out
	timers     *timedqueue.Queue[string, *nodeState]
	unseen     expectations
	tombstones tombstones
	unsettled  int   // pods whose deletion is not settled
	revision   int32 // counts the revisions that were wanted
	ranking    int32 // counts the orders that were wanted

	creations, deletions calls
}

// NewPlanner returns a planner that knows no pods yet, and of nodes those of
// Config.Nodes. Now must not be the zero time.
func NewPlanner(config Config, now time.Time) (*Planner, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Burst == 0 {
		config.Burst = defaultBurst
	}
	if config.Confirm == 0 {
		config.Confirm = defaultConfirm
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
		unseen: expectations{confirm: config.Confirm},

		creations: calls{burst: config.Burst, window: 1, epoch: 1},
		deletions: calls{burst: config.Burst, window: config.Burst, epoch: 1},
	}
	p.rank()
	p.use(config.Spec)
	p.store.join(p)
	p.scan.nodes = p.store.Len()
	return p, nil
}

// Close takes the planner out of its store of nodes, which it may share. The
// planner must not be used afterwards.
func (p *Planner) Close() { p.store.leave(p) }

// SetSpec changes what is wanted. All nodes are evaluated again, in the turns
// of [Planner.Start], and what has failed with another revision no longer
// counts. The same spec again changes nothing and costs a comparison.
//
// The error is that of [Spec.Validate]. The planner then keeps the former spec,
// but hands out nothing except refreshes until a valid spec is set: pods of an
// unwanted revision would only be replaced. A rollout that is not valid is no
// error here. It stops, and the pods are managed. [Planner.Problems] returns
// both.
//
// A longer MinReady can make many pods unavailable at once. If the revision
// changes with it, they are replaced at once, unless the rollout is Strict, as
// in kube-controller-manager.
func (p *Planner) SetSpec(now time.Time, spec Spec) error {
	p.advance(now)
	if equality.Semantic.DeepEqual(p.spec, &spec) {
		p.refusal = nil
		return nil // each write of a set's status comes back as an event of the set
	}
	if p.refusal = spec.Validate(); p.refusal != nil {
		return p.refusal
	}
	if spec.Revision != p.spec.Revision {
		p.creations.forgive()
		p.revision++
	}
	p.use(spec)
	p.scan = scan{states: len(p.states), nodes: p.store.Len()}
	return nil
}

func (p *Planner) use(spec Spec) {
	p.spec = &spec
	p.invalid = spec.rolloutProblems() != nil
	p.surges = !p.invalid && spec.Rollout.surges()
	p.placement = Compile(spec.Template, p.config.Matcher)
	p.limits = limits{}
}

// SetLess changes the order of nodes, Config.Less. All nodes are evaluated
// again, in the turns of [Planner.Start]. Attempts and back-offs stay.
func (p *Planner) SetLess(now time.Time, less func(a, b *corev1.Node) bool) {
	p.advance(now)
	p.config.Less = less
	p.ranking++ // what is in the former queues is in none
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

// Problems returns what is wrong with what is wanted, or nil: why the latest
// spec was refused, and the [Spec.Problems] of the spec in use.
func (p *Planner) Problems() error { return errors.Join(p.refusal, p.spec.Problems()) }

// ObserveNode records a node as it is now, in the store and so for all planners
// of it. It keeps the pointer; the node must not be changed afterwards.
func (p *Planner) ObserveNode(now time.Time, node *corev1.Node) { p.store.Observe(now, node) }

// ForgetNode records that a node is gone, for all planners of the store.
func (p *Planner) ForgetNode(now time.Time, name string) { p.store.Forget(now, name) }

// observeNode records a node that is new, or that a placement may decide
// differently about.
func (p *Planner) observeNode(now time.Time, stored *storedNode) {
	p.advance(now)
	decision := p.placement.Place(stored.object)
	n := stored.stateOf(p)
	if n == nil {
		n = p.comeBack(stored)
	}
	if n == nil && !decision.ShouldRun {
		return
	}
	if n == nil {
		n = p.keep(stored.object.Name, stored)
	}
	n.decision = placed{decision.ShouldRun, decision.ShouldContinue}
	p.identify(n)
	p.markStale(n)
}

// comeBack returns the record of a node that was gone, or nil.
func (p *Planner) comeBack(stored *storedNode) *nodeState {
	if len(p.gone) == 0 {
		return nil
	}
	n := p.gone[stored.object.Name]
	if n != nil {
		delete(p.gone, n.name)
		n.attach(stored)
	}
	return n
}

// observeState records a change of a node that no placement reads.
func (p *Planner) observeState(now time.Time, n *nodeState) {
	p.advance(now)
	p.identify(n)
	p.markStale(n)
}

// identify forgives another machine under the name what the former one did.
func (p *Planner) identify(n *nodeState) {
	machine := n.stored.object.UID
	if n.machine != "" && n.machine != machine {
		n.forgive()
		n.taken = false
	}
	n.machine = machine
}

func (p *Planner) forgetNode(now time.Time, n *nodeState) {
	p.advance(now)
	n.stored, n.decision = nil, placed{}
	p.gone[n.name] = n
	p.markStale(n)
}

// ObservePod records a pod as it is now. Only pods that the set owns belong
// here, all of one namespace; a pod that the set no longer owns is to be
// forgotten. News of a pod must come in order but may be late: what is older
// than an answer that was reported changes nothing. It keeps the pointer; the
// pod must not be changed afterwards.
func (p *Planner) ObservePod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	known := p.pods[pod.Name]
	switch {
	case p.tombstones.how[pod.UID] == departureAnswered: // the watch is behind
	case known == nil:
		p.add(pod, podObserved)
	case known.newerThan(pod):
	case known.pod.UID != pod.UID: // that one is gone, and this one has its name
		p.bury(known.pod)
		p.remove(known)
		p.add(pod, podObserved)
	default:
		p.update(known, pod)
		known.answered = false
		p.see(known)
	}
}

// ForgetPod records that a pod is gone, or that the set no longer owns it. The
// pod is found by name and UID: another one with its name stays.
func (p *Planner) ForgetPod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	p.bury(pod)
	if known := p.pods[pod.Name]; known != nil && known.pod.UID == pod.UID {
		p.remove(known)
	}
}

// bury remembers that a pod is gone while a creation for its node is under way. The
// answer to that may be about this pod.
func (p *Planner) bury(pod *corev1.Pod) {
	if n := p.lookup(TargetNode(pod)); n != nil && n.creating() {
		p.tombstones.add(pod.UID, departureForgotten, p.now)
	}
}

func (p *Planner) advance(now time.Time) {
	if now.After(p.now) {
		p.now = now
	}
	p.tombstones.expire(p.now)
}
