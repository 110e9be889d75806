package failover

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrNoTarget means that the binding is on each living cluster that has only
// taints which it tolerates for ever. It stays where it is and is tried again.
var ErrNoTarget = errors.New("no cluster that the binding could move to")

// A Declaration records in the status of a cluster that it is silent.
type Declaration struct {
	// Before and After are the cluster as the core has observed it, and as it must
	// become. Neither may be changed.
	Before, After *federation.Cluster

	task nodehealth.Task[string]
}

// A Marking adds our taint to a cluster, replaces it by the other one, or removes
// it.
type Marking struct {
	// Before and After are as those of a Declaration.
	Before, After *federation.Cluster

	item timedqueue.Item[string, mark]
}

// Adds reports whether the cluster gets a taint and has none of ours.
func (m Marking) Adds() bool { return m.item.Value.adds }

// A Move moves a binding from one of its clusters to another one. It stays on
// the others.
type Move struct {
	// Before and After are the binding as the core has observed it, and as it must
	// become. Neither may be changed.
	Before, After *federation.Binding
	// From and To are the names of the clusters.
	From, To string

	task eviction.Task
}

// Canceled reports whether the move has become moot since it was handed out. It
// may be called from any goroutine.
func (m Move) Canceled() bool { return m.task.Canceled() }

// Actions send the patches that a core hands out. All are required.
type Actions struct {
	Declare func(context.Context, Declaration) nodehealth.Result
	Taint   func(context.Context, Marking) timedqueue.Result
	// Move reports eviction.OutcomeEvicted for a binding that has moved, and
	// eviction.OutcomeNotDue for a move that was canceled.
	Move func(context.Context, Move) eviction.Result
}

// Jobs returns what the core hands out: declarations first, then taints, then
// moves.
func (c *Core) Jobs(actions Actions) timedqueue.Source[timedqueue.Job] {
	regions := timedqueue.SourceOf(c.evaluate, c.regions.Next)
	jobs := timedqueue.InOrder(
		timedqueue.Jobs(declarer{c}, actions.Declare),
		regions,
		c.whileHearing(timedqueue.Jobs(marker{c}, actions.Taint)),
		c.whileHearing(timedqueue.Jobs(mover{c}, actions.Move)),
	)
	return timedqueue.SourceOf(
		func(now time.Time) (timedqueue.Job, bool) {
			if !c.leads {
				return timedqueue.Job{}, false
			}
			return jobs.Start(now)
		},
		func(now time.Time) (time.Time, bool) {
			if !c.leads {
				return time.Time{}, false
			}
			return jobs.Next(now)
		})
}

// A declarer hands out clusters whose silence the API server must record. The
// agent of a cluster that is heard again records that itself.
type declarer struct{ *Core }

func (c declarer) Start(now time.Time) (Declaration, bool) {
	for {
		found, ok := c.monitor.Start(now)
		if !ok {
			return Declaration{}, false
		}
		r := c.clusters[found.Key]
		c.assess(now, r)
		if found.State == nodehealth.StateSilent && !c.recorded(r) {
			return Declaration{Before: r, After: declared(r, found.Since, now), task: found}, true
		}
		c.monitor.Finish(now, found, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	}
}

// Finish takes a result. That the cluster is declared the cache shows later.
func (c declarer) Finish(now time.Time, d Declaration, result nodehealth.Result) {
	c.monitor.Finish(now, d.task, result)
}

func (c declarer) Next(now time.Time) (time.Time, bool) { return c.monitor.Next(now) }

// A marker hands out clusters that get a taint of ours or lose it.
type marker struct{ *Core }

func (c marker) Start(now time.Time) (Marking, bool) {
	item, ok := c.marks.Start(now)
	if !ok {
		return Marking{}, false
	}
	r := c.clusters[item.Key]
	after := r.DeepCopy()
	after.Spec.Taints, _ = marked(r, item.Value.taint, now)
	return Marking{Before: r, After: after, item: item}, true
}

func (c marker) Finish(now time.Time, m Marking, result timedqueue.Result) {
	c.marks.Finish(now, m.item, result)
}

func (c marker) Next(now time.Time) (time.Time, bool) { return c.marks.Next(now) }

// A mover hands out bindings that must leave, with the clusters that they go
// to.
type mover struct{ *Core }

func (c mover) Start(now time.Time) (Move, bool) {
	found, ok := c.moves.Start(now)
	if !ok {
		return Move{}, false
	}
	b := c.bindings[types.NamespacedName{Namespace: found.Pod.Namespace, Name: found.Pod.Name}]
	to, ok := c.target(b)
	if !ok {
		c.moves.Finish(now, found, eviction.Result{Outcome: eviction.OutcomeBlocked, Err: ErrNoTarget})
		return Move{}, false // Next says now if there are others
	}
	p := c.placements[found.Pod.UID]
	p.moving = true
	c.count(p, to)
	return Move{
		Before: b, After: moved(b, found.Node, to, now), From: found.Node, To: to, task: found,
	}, true
}

func (c mover) Finish(now time.Time, m Move, result eviction.Result) {
	if p := c.placements[m.task.Pod.UID]; p != nil {
		p.moving = false
		if result.Outcome != eviction.OutcomeEvicted || result.Err != nil {
			c.count(p, m.From)
		}
	}
	c.moves.Finish(now, m.task, result)
}

func (c mover) Next(now time.Time) (time.Time, bool) { return c.moves.Next(now) }

// target returns the cluster with the fewest bindings that a binding may go to
// and is not on. Equals go by name.
func (c *Core) target(b *federation.Binding) (string, bool) {
	best, found := "", false
	for name, r := range c.clusters {
		if !isOn(b, name) && c.accepts(r, b.Spec.Tolerations) && (!found || c.load[name] < c.load[best] ||
			c.load[name] == c.load[best] && name < best) {
			best, found = name, true
		}
	}
	return best, found
}

// accepts reports whether a binding with such tolerations may come to a cluster
// and would not have to leave it again.
func (c *Core) accepts(r *federation.Cluster, tolerations []corev1.Toleration) bool {
	if c.monitor.Silent(r.Name) || !c.monitor.HeardSinceBlindness(r.Name) ||
		!readyIs(r, "True") || r.DeletionTimestamp != nil {
		return false
	}
	matcher := taints.Matcher{}
	if matcher.Untolerated(r.Spec.Taints, tolerations, corev1.TaintEffectNoSchedule) != nil {
		return false
	}
	var leave []eviction.Taint
	for _, taint := range r.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			leave = append(leave, eviction.Taint{Taint: taint})
		}
	}
	return !eviction.Decide(leave, eviction.Pod{Tolerations: tolerations}, matcher).Leaves()
}
