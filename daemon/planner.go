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

// Config is how a [Planner] plans. All but Spec may be left at their zero values.
type Config struct {
	// Spec is what is wanted. [Planner.SetSpec] changes it.
	Spec Spec
	// Owner is the UID of the set, so that a plan is not carried out for another one, for
	// example for one that was made again under the name. Empty: for any.
	Owner types.UID
	// Matcher says which comparisons of tolerations are understood.
	Matcher taints.Matcher
	// Nodes is about how many nodes there will be. It saves time when they are told of,
	// and is no limit.
	Nodes int
	// Burst is how many creations, and how many deletions, may be under way or not
	// yet observed. Zero means 250, as in kube-controller-manager.
	Burst int
	// Confirm is how long after a write of ours to wait for the watch to show it, before
	// the pod is read. Zero means half a minute; kube-controller-manager waits five.
	Confirm time.Duration
	// Less says whether a node comes before another: which gets its first pod, or its
	// new one, first. Nodes that are equal, and all if it is nil, come by their names.
	// Nodes for which something was refused come after all others, and so do those whose
	// available pod a rollout may take although they are Excused. While calls are refused
	// names do not count, and what has nothing to do with a rollout goes without Less, too,
	// so that the next try is not for a neighbour that is refused for the same reason.
	// Less must depend on nothing but the two nodes.
	Less func(a, b *corev1.Node) bool
	// Updates says whether the pod of a node may be replaced by a rollout: a canary by
	// label, say. Nil: any node's. It must depend on nothing but the node.
	Updates func(node *corev1.Node) bool
	// ClassifyUnavailable says whether a node without an available pod counts against
	// MaxUnavailable, or MaxSurge where its new pod waits beside the old one. The pod is nil if the node has
	// none that stays. Nil: all count. [ExcuseNotReadyNodes] is one to use. It must
	// depend on nothing but its arguments.
	//
	// A node whose available pod the rollout has deleted is not asked about. It counts
	// until it has an available pod again, so that a rollout never takes more available
	// pods than MaxUnavailable. A new Planner does not know which nodes these are.
	ClassifyUnavailable func(node *corev1.Node, pod *corev1.Pod) Unavailability
}

// Unavailability says whether a node without an available pod counts.
type Unavailability string

const (
	// Charged: it counts against the limits of the rollout.
	Charged Unavailability = "Charged"
	// Excused: it does not. That it has no available pod is not the rollout's doing, and
	// waiting for it does not help.
	Excused Unavailability = "Excused"
)

// ExcuseNotReadyNodes is a ClassifyUnavailable that excuses nodes that are not ready:
// a rollout goes on while some nodes are down. It also goes on when most are, or when the
// control plane only believes so. If the rollout itself makes nodes not ready, as that of
// a network plugin may, those count.
func ExcuseNotReadyNodes(node *corev1.Node, _ *corev1.Pod) Unavailability {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return Charged
		}
	}
	return Excused
}

const (
	defaultBurst   = 250 // BurstReplicas of kube-controller-manager v1.37
	defaultConfirm = 30 * time.Second
)

// ErrInvalidConfig is what is wrong with a [Config] or an [ExecutorConfig].
var ErrInvalidConfig = errors.New("invalid daemon config")

// Validate returns what is wrong with a configuration: [ErrInvalidConfig] or
// [ErrInvalidSpec].
func (c Config) Validate() error {
	var problems []error
	if c.Nodes < 0 {
		problems = append(problems, fmt.Errorf("%w: Nodes is %d, want zero or more", ErrInvalidConfig, c.Nodes))
	}
	if c.Burst < 0 {
		problems = append(problems, fmt.Errorf("%w: Burst is %d, want zero or more", ErrInvalidConfig, c.Burst))
	}
	if c.Confirm < 0 {
		problems = append(problems, fmt.Errorf("%w: Confirm is %s, want zero or more", ErrInvalidConfig, c.Confirm))
	}
	return errors.Join(append(problems, c.Spec.Validate())...)
}

// A Planner knows the nodes and the pods of one DaemonSet, or of what is like one, and
// plans what is to be done. What it is told about one node or pod makes it look at that
// one again, and at no other; the counts over all of them are kept.
//
// It only decides, and is not safe for concurrent use. Its clock does not go back: an
// earlier time counts as the latest that it was told. It keeps about half a kilobyte for
// a node with its pod, beside the objects.
type Planner struct {
	config    Config
	spec      Spec
	surges    bool
	invalid   bool  // the spec cannot be rolled out
	refusal   error // why a later spec was refused, which is the one that is wanted
	placement *Placement

	now   time.Time
	nodes map[string]*nodeState
	pods  map[string]*podState // by name; they share a namespace
	stale []*nodeState         // to be judged before anything is decided

	counts   counts
	queues   [numberOfQueues]nodeHeap
	timers   *timedqueue.Queue[string, *nodeState]
	unseen   unseen
	gone     departed
	deleting int // pods whose deletion is not settled

	creations, deletions flight
}

// NewPlanner returns a planner that knows no nodes and no pods yet. Now must not be
// the zero time.
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
	timers, err := newTimers(now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	p := &Planner{
		config: config,
		nodes:  make(map[string]*nodeState, config.Nodes),
		pods:   make(map[string]*podState, config.Nodes),
		stale:  make([]*nodeState, 0, config.Nodes),
		timers: timers,
		unseen: unseen{confirm: config.Confirm},

		creations: flight{burst: config.Burst, window: 1},
		deletions: flight{burst: config.Burst, window: config.Burst},
	}
	for i := range p.queues {
		p.queues[i] = newQueue(queueName(i), config.Less)
	}
	p.use(&config.Spec)
	return p, nil
}

// SetSpec changes what is wanted. All nodes are judged anew, a few microseconds each, and
// what has failed with another revision counts no more. The same spec again changes
// nothing, and costs a comparison.
//
// The error is that of [Spec.Validate]. The planner then goes by the former spec, but plans
// nothing except looks until it gets one that is valid: pods of a revision that is not
// wanted any more would only be replaced. A rollout that is not valid is no error here; it
// stops, and the pods are managed. [Planner.Problems] tells of both.
//
// A longer MinReady can make many pods unavailable at once. If the revision changes with
// it they are replaced at once, unless the rollout is Strict, as in kube-controller-manager.
func (p *Planner) SetSpec(now time.Time, spec Spec) error {
	p.advance(now)
	if equality.Semantic.DeepEqual(&p.spec, &spec) {
		p.refusal = nil
		return nil // each write of a set's status comes back as news of the set
	}
	if p.refusal = spec.Validate(); p.refusal != nil {
		return p.refusal
	}
	another := spec.Revision != p.spec.Revision
	p.use(&spec)
	if another {
		p.creations.forgive()
	}
	for _, n := range p.nodes {
		if another {
			n.forgive()
		}
		n.place(p.placement)
		p.look(n)
	}
	return nil
}

func (p *Planner) use(spec *Spec) {
	p.spec = *spec
	p.invalid = spec.rolloutProblems() != nil
	p.surges = !p.invalid && spec.Rollout.surges()
	p.placement = Compile(spec.Template, p.config.Matcher)
}

// Problems returns what is wrong with what is wanted, and nil if nothing is: why the
// latest spec was refused, and the [Spec.Problems] of the one that it goes by.
func (p *Planner) Problems() error { return errors.Join(p.refusal, p.spec.Problems()) }

// ObserveNode takes note of a node as it is now. It keeps the pointer; the node must
// not be changed afterwards.
func (p *Planner) ObserveNode(now time.Time, node *corev1.Node) {
	p.advance(now)
	n := p.node(node.Name)
	if n.machine != "" && n.machine != node.UID {
		n.forgive() // another machine under the name
		n.taken = false
	}
	n.object, n.machine = node, node.UID
	n.place(p.placement)
	p.look(n)
}

// ForgetNode takes note that a node is gone.
func (p *Planner) ForgetNode(now time.Time, name string) {
	p.advance(now)
	n := p.nodes[name]
	if n == nil {
		return
	}
	n.object, n.verdict = nil, placed{}
	p.look(n)
}

// ObservePod takes note of a pod as it is now. Only pods that the set owns belong here,
// all of one namespace; one that it owns no more is to be forgotten. News of a pod have
// to come in order, but may be late: what is older than an answer that was reported
// changes nothing. It keeps the pointer; the pod must not be changed afterwards.
func (p *Planner) ObservePod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	known := p.pods[pod.Name]
	switch {
	case p.gone.how[pod.UID] == answered: // the watch has not come so far
	case known == nil:
		p.add(pod)
	case known.older(pod):
	case known.pod.UID != pod.UID: // that one is gone, and this has its name
		p.remove(known)
		p.add(pod)
	default:
		p.update(known, pod)
		known.answered = false
		p.see(known)
	}
}

// ForgetPod takes note that a pod is gone, or that the set owns it no more. It is found
// by name and UID: another with its name stays.
func (p *Planner) ForgetPod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	if n := p.nodes[TargetNode(pod)]; n != nil && n.creating {
		p.gone.add(pod.UID, forgotten, p.now) // it may be the one: the answer is late
	}
	if known := p.pods[pod.Name]; known != nil && known.pod.UID == pod.UID {
		p.remove(known)
	}
}

// advance takes note of the time.
func (p *Planner) advance(now time.Time) {
	if now.After(p.now) {
		p.now = now
	}
	p.gone.expire(p.now)
}

// look makes sure that a node is judged before anything is decided. Many changes of one
// node make one judgement, when it is asked for.
func (p *Planner) look(n *nodeState) {
	if !n.stale {
		n.stale = true
		p.stale = append(p.stale, n)
	}
}

// settle judges all nodes of which something has changed, if only the time.
func (p *Planner) settle() {
	for n := p.due(); n != nil; n = p.due() {
		p.look(n)
	}
	for i, n := range p.stale {
		p.stale[i] = nil
		n.stale = false
		p.judge(n)
	}
	p.stale = p.stale[:0]
}

func (p *Planner) node(name string) *nodeState {
	n := p.nodes[name]
	if n == nil {
		n = newNodeState(name)
		p.nodes[name] = n
	}
	return n
}
