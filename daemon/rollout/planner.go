package rollout

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

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
	config     Config // of which the Spec is in the goal
	known      knowledge
	goal       goal
	candidates candidates
	calls      traffic
	timers     timers
	scan       scan // to be evaluated after a change for all nodes
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
	if config.ExpectationTimeout == 0 {
		config.ExpectationTimeout = defaultExpectationTimeout
	}
	if config.Nodes == nil {
		config.Nodes = new(Nodes)
	}
	timers, err := newTimers(config.ExpectationTimeout, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	p := &Planner{
		config: config, goal: newGoal(&config), calls: newTraffic(config.Burst), timers: timers,
	}
	p.candidates = newCandidates(&p.goal)
	p.known = knowledge{
		set: config.Owner, store: config.Nodes, now: now, gone: make(map[string]*nodeState),
		goal: &p.goal, candidates: &p.candidates, calls: &p.calls, timers: &p.timers,
	}
	config.Nodes.join(&p.known)
	p.scan.nodes = config.Nodes.Len()
	return p, nil
}

// Close removes the planner from its store of nodes, which other planners may
// use. The planner must not be used afterwards. The memory of the first
// thousand records is free at once. That of the others is when nodes have
// changed, a hundred with each change.
func (p *Planner) Close() { p.known.store.leave(&p.known) }

// SetSpec changes what is wanted. All nodes are evaluated again, in the turns
// of [Planner.Start], and what has failed with another revision no longer
// counts. The same spec again, with a [Policy] of the same data, changes nothing
// and costs a comparison.
//
// After an error, see [Spec.Validate], the planner keeps the former spec, but
// hands out only refreshes until a valid spec is set. Pods of an unwanted
// revision would be replaced again. An invalid rollout is no error here. It
// stops, and the pods are managed. [Planner.Problems] returns both.
//
// A longer MinReady can make many pods unavailable at once. If the revision
// changes with it, they are replaced at once, unless the rollout is Strict, as
// in kube-controller-manager.
func (p *Planner) SetSpec(now time.Time, spec Spec) error {
	p.known.advance(now)
	former := p.goal.spec
	if err := p.goal.set(spec); err != nil || p.goal.spec == former {
		return err
	}
	if spec.Revision != former.Revision {
		p.calls.creations.reset()
	}
	p.candidates.rank()
	p.scan = scan{states: len(p.known.states), nodes: p.known.store.Len()}
	return nil
}

// Problems returns why the latest spec was refused, and the [Spec.Problems] of
// the spec in use. It returns nil if there are none.
func (p *Planner) Problems() error { return errors.Join(p.goal.refusal, p.goal.spec.Problems()) }

// Stopped returns why the rollout stands still until the spec is corrected: the
// latest spec was refused, or else its Strategy is invalid. It is nil if it goes
// on, also if terms of the node affinity are ignored.
func (p *Planner) Stopped() error {
	if p.goal.refusal != nil {
		return p.goal.refusal
	}
	return p.goal.spec.rolloutProblems()
}

// ObserveNode records a node as it is now, in the store and so for all planners
// of it. It keeps the pointer; the node must not be changed afterwards.
func (p *Planner) ObserveNode(now time.Time, node *corev1.Node) { p.known.store.Observe(now, node) }

// ForgetNode records that a node is gone, for all planners of the store.
func (p *Planner) ForgetNode(now time.Time, name string) { p.known.store.Forget(now, name) }

// ObservePod records a pod as it is now. Pass only pods that the set owns, all
// of one namespace, and call ForgetPod for a pod that it no longer owns.
// Observations of a pod must come in order but may be late: one that is older
// than a reported answer changes nothing. It keeps the pointer; the pod must
// not be changed afterwards.
func (p *Planner) ObservePod(now time.Time, pod *corev1.Pod) {
	p.known.advance(now)
	p.known.observePod(pod)
}

// ForgetPod records that a pod is gone, or that the set no longer owns it. The
// pod is found by name and UID: another one with its name stays.
func (p *Planner) ForgetPod(now time.Time, pod *corev1.Pod) {
	p.known.advance(now)
	p.known.forgetPod(pod)
}

// ReplacePods records all pods of the set as they are now, for a caller that
// lists them from a cache and has no events. Pods that are not among them are
// gone, except those that the cache may lack yet because only an answer to a
// creation has shown them. For what ObservePod asks of pods, see there.
func (p *Planner) ReplacePods(now time.Time, pods []*corev1.Pod) {
	p.known.advance(now)
	p.known.replacePods(pods)
}

// Halt holds all deletions until Resume, whatever they are for. With it an
// operator stops a controller at once, without ending it. Creations go on, and
// so do reads. A rollout goes on as far as it deletes nothing. A task that is
// under way is not recalled. Halt costs O(1). A second Halt changes nothing.
func (p *Planner) Halt(now time.Time) {
	p.known.advance(now)
	p.calls.halted = true
}

// Resume ends what Halt began. What was held is handed out as if it had become
// due now: no back-off has begun meanwhile.
func (p *Planner) Resume(now time.Time) {
	p.known.advance(now)
	p.calls.halted = false
}

// scan is the rest of an evaluation of all nodes. Both lists are visited from
// their ends: a removal moves the last element, which has been visited then. A
// node that is added meanwhile is evaluated on its own.
type scan struct {
	states int // of knowledge.states, from the first one on
	nodes  int // of Nodes.all, from the first one on
}

// nodesPerTurn is how many nodes are visited in one turn, for example one call
// of Start or Waits. A visit takes about a microsecond.
const nodesPerTurn = 1000

// Evaluate visits the nodes that have changed or are due, at most so many, and
// returns how many it has visited. If they are fewer than most, the planner is
// up to date until something changes or [Planner.Next] is due.
//
// Start and Waits evaluate as well, each with a limit of its own. A caller
// with many planners under one lock divides one limit between those of a turn.
// It calls Start only of those that are up to date. A visit takes about a
// microsecond.
func (p *Planner) Evaluate(now time.Time, most int) int {
	p.known.advance(now)
	return p.evaluateUpTo(most)
}

func (p *Planner) evaluateUpTo(most int) int {
	for visited := range max(most, 0) {
		if !p.visit() {
			return visited
		}
	}
	return max(most, 0)
}

// evaluateChanges evaluates the nodes that have changed or are due, at most
// nodesPerTurn. It reports whether that was all. Until then the counts are
// incomplete, and no decision may use them.
func (p *Planner) evaluateChanges() bool {
	return p.evaluateUpTo(nodesPerTurn) < nodesPerTurn || p.upToDate(p.known.now)
}

// upToDate reports whether there is nothing to evaluate at a time. It changes
// nothing.
func (p *Planner) upToDate(now time.Time) bool {
	if p.known.stale.any() != nil || p.scan != (scan{}) {
		return false
	}
	next, waits := p.timers.nodes.Earliest()
	return !waits || next.After(now) && next.After(p.known.now)
}

// visit evaluates one node, and reports whether there was one.
func (p *Planner) visit() bool {
	if n := p.known.stale.any(); n != nil {
		p.evaluate(n)
		return true
	}
	if n := p.timers.due(p.known.now); n != nil {
		p.evaluate(n)
		return true
	}
	return p.visitState() || p.visitNode()
}

func (p *Planner) visitState() bool {
	p.scan.states = min(p.scan.states, len(p.known.states))
	if p.scan.states == 0 {
		return false
	}
	p.scan.states--
	n := p.known.states[p.scan.states]
	n.decision = p.goal.place(n.stored)
	p.evaluate(n)
	return true
}

// visitNode makes a record of a node if a pod should run there. Nodes with a
// record have been visited by visitState.
func (p *Planner) visitNode() bool {
	p.scan.nodes = min(p.scan.nodes, p.known.store.Len())
	if p.scan.nodes == 0 {
		return false
	}
	p.scan.nodes--
	stored := p.known.store.all[p.scan.nodes]
	if stored.stateOf(&p.known) != nil {
		return true
	}
	if where := p.goal.place(stored); where.shouldRun {
		n := p.known.keep(stored.object.Name, stored)
		n.decision = where
		p.evaluate(n)
	}
	return true
}

// evaluate assesses one node and says so to the parts that need its situation.
// It drops the record of a node once that holds nothing.
func (p *Planner) evaluate(n *nodeState) {
	now := p.known.now
	p.known.stale.remove(n)
	if n.forgettable(now) {
		p.known.drop(n)
		return
	}
	a := assess(n, &p.goal, now)
	n.taken = n.taken && n.decision.shouldContinue && !n.serves(p.goal.spec, now)
	if n.forgettable(now) {
		p.known.drop(n)
		return
	}
	p.candidates.put(n, a.situation)
	p.timers.wake(now, n, a.until)
}
