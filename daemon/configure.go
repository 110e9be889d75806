package daemon

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

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
		reads:     calls{burst: config.Burst, window: config.Burst, epoch: 1},
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
	p.surges = !p.invalid && spec.Rollout.surges()
	p.placement = Compile(spec.Template, p.config.Matcher)
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

// ObserveNode records a node as it is now, in the store and so for all planners
// of it. It keeps the pointer; the node must not be changed afterwards.
func (p *Planner) ObserveNode(now time.Time, node *corev1.Node) { p.store.Observe(now, node) }

// ForgetNode records that a node is gone, for all planners of the store.
func (p *Planner) ForgetNode(now time.Time, name string) { p.store.Forget(now, name) }
