package daemon

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
var ErrInvalidConfig = errors.New("invalid daemon config")

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
	placement *Placement
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

	// reads are those of unclear creations.
	creations, deletions, reads calls
}

// nodeState is a planner's record of a node that should have a pod, or has
// pods, a creation or failures. The node may be gone.
type nodeState struct {
	name    string
	planner *Planner
	stored  *storedNode // nil: the node is gone
	machine types.UID   // of the node, or of the last one with the name
	pods    *podState   // the first one for this node

	attempt int              // part of the name of the next pod
	unclear *unclearCreation // nil unless it is inDoubt
	refused failures         // creations
	failed  failures         // pods that had failed and were deleted

	situation situation
	order     order
	slots     [numberOfQueues]int32 // where it is in the queues; zero: not in it
	index     int32                 // in Planner.states; dropped: it left them
	revision  int32                 // Planner.revision that its failures are of
	ranking   int32                 // Planner.ranking that its slots are of
	epoch     int32                 // calls.epoch of the creation, or its read, under way

	creation creationPhase
	decision placed
	stale    bool // it is in Planner.stale
	// taken says that the rollout has deleted its available pod and it has had no
	// other one since.
	taken bool
}

// podState is a planner's record of a pod.
type podState struct {
	pod  *corev1.Pod
	node *nodeState // nil: nothing says for which node it is
	next *podState  // of the same node

	leave   StepReason // why it is to be deleted; empty: it stays
	refused failures   // deletions
	written time.Time  // of the latest write that the watch must show
	epoch   int32      // calls.epoch of its deletion

	phase podPhase
	// former is the phase that it returns to when its deletion was not done. It is
	// phase itself unless a deletion is under way.
	former podPhase
	// reading is the phase in which the refresh that is under way began; podGone:
	// none is.
	reading podPhase
	// answered says that the object comes from an answer of the API server. Older
	// versions from the watch are then ignored.
	answered bool
	// counted says that the pod has terminated and its replacement is counted with
	// that of another pod of the node. It is deleted without a further wait.
	counted bool
}

// Nodes holds the nodes of a cluster for any number of planners, so that each
// node is stored once and observed once. [Config] names it. The zero value is a
// store without nodes. It must not be copied.
//
// A planner keeps a record only of a node that should have its pod or still has
// one. A change of a node costs those planners one evaluation. The others
// evaluate only the placement, and only if the labels or taints have changed.
//
// Nodes is not safe for concurrent use. It and all its planners belong under
// one lock: that of one [timedqueue.Dispatcher], whose core composes the
// planners, for example with [timedqueue.RoundRobin].
type Nodes struct {
	byName   map[string]*storedNode
	all      []*storedNode
	planners []*Planner
	changed  []*Planner // that Changed returns
	leaving  []*Planner // those that were closed and have records left
	joined   int        // how many planners have joined

	slab []storedNode  // memory for nodes that come
	free []*storedNode // that of nodes that are gone
}

// storedNode is a node and the records that planners keep of it.
type storedNode struct {
	object *corev1.Node
	index  int           // in Nodes.all
	states []*nodeState  // in the order of their planners' ids
	one    [1]*nodeState // memory for states; most stores have one planner
}

// nodeHeap is a heap of nodes that record their own index, so that any of them
// can leave it in O(log n). Call set after each change of what before compares:
// only one node may be out of place at a time.
type nodeHeap struct {
	nodes  []*nodeState
	before func(a, b *nodeState) bool
	slot   func(*nodeState) *int32 // the index, from one on; zero: it is not in it
}

// expectations are our writes that the watch has not shown. A watch delivers
// our own writes late and occasionally drops an event. Until a write is shown,
// the answer of the API server counts. After the timeout the pod is read.
//
// kube-controller-manager counts the expectations of a set, and stops the set
// for five minutes when one is lost. Here a lost event delays only its own
// node.
type expectations struct {
	timeout time.Duration
	created int         // pods in podCreated, or with that as their former phase
	writes  []write     // in their order; some may be shown already
	unclear []*podState // to be read at once; some may be resolved
}

// write is when we wrote something of a pod.
type write struct {
	pod *podState
	at  time.Time
}

// scan is the rest of an evaluation of all nodes. Both lists are visited from
// their ends: a removal moves the last element, which has been visited then. A
// node that is added meanwhile is evaluated on its own.
type scan struct {
	states int // of Planner.states, from the first one on
	nodes  int // of Nodes.all, from the first one on
}

// fifo is nodes in the order in which they came.
type fifo struct {
	nodes []*nodeState
	first int
}
