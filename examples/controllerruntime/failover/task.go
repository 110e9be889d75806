package failover

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrNoTarget means that no living cluster has only taints that the binding
// tolerates for ever. The binding stays and is tried again.
var ErrNoTarget = errors.New("no cluster that the binding could move to")

// A Task is one patch: of a cluster or of a binding.
type Task struct {
	Kind Kind
	// Before and After are the object as the core has observed it, and as it must
	// become. Those of the other type are nil. Neither may be changed.
	BeforeCluster, AfterCluster *federation.Cluster
	BeforeBinding, AfterBinding *federation.Binding

	silence nodehealth.Task[string]
	mark    timedqueue.Item[string, mark]
	move    eviction.Task
}

// Kind is what a task does.
type Kind string

const (
	// KindDeclare: record in the status of a cluster that it is silent.
	KindDeclare Kind = "Declare"
	// KindTaint: add the taint to a cluster, or remove it.
	KindTaint Kind = "Taint"
	// KindMove: move a binding to another cluster.
	KindMove Kind = "Move"
)

// Canceled reports whether a move has become moot since Start handed it out. It
// may be called from any goroutine.
func (t Task) Canceled() bool { return t.Kind == KindMove && t.move.Canceled() }

// Outcome is how a task ended. The zero value counts as OutcomeFailed, as does
// any other string.
type Outcome string

const (
	// OutcomeDone: the API server has accepted the patch.
	OutcomeDone Outcome = "Done"
	// OutcomeCanceled: the task was canceled, and nothing was done.
	OutcomeCanceled Outcome = "Canceled"
	// OutcomeFailed: the task is decided again after a backoff.
	OutcomeFailed Outcome = "Failed"
)

// Result is what an action reports. The zero value is a failure.
type Result struct {
	Outcome Outcome
	// Err is the cause of a failure. With an error no outcome counts as success.
	Err error
}

// Start hands out a task that may start now: declarations first, then taints,
// then moves.
func (c *Core) Start(now time.Time) (Task, bool) {
	if !c.leads {
		return Task{}, false
	}
	return c.tasks.Start(now)
}

// Next returns when Start can next hand something out, and false when only a
// change of the core makes a difference.
func (c *Core) Next(now time.Time) (time.Time, bool) {
	if !c.leads {
		return time.Time{}, false
	}
	return c.tasks.Next(now)
}

// startSilence hands out a cluster whose silence the API server must record.
// The agent of a cluster that is heard again records that itself.
func (c *Core) startSilence(now time.Time) (Task, bool) {
	for {
		found, ok := c.monitor.Start(now)
		if !ok {
			return Task{}, false
		}
		r := c.clusters[found.Key]
		c.assess(now, r)
		if found.State == nodehealth.StateSilent && !c.recorded(r) {
			return Task{
				Kind: KindDeclare, BeforeCluster: r, AfterCluster: declared(r, found.Since, now),
				silence: found,
			}, true
		}
		c.monitor.Finish(now, found, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	}
}

func (c *Core) startMark(now time.Time) (Task, bool) {
	item, ok := c.marks.Start(now)
	if !ok {
		return Task{}, false
	}
	r := c.clusters[item.Key]
	var desired []corev1.Taint
	if item.Value.add {
		desired = []corev1.Taint{{Key: TaintUnreachable, Effect: corev1.TaintEffectNoExecute}}
	}
	after := r.DeepCopy()
	after.Spec.Taints, _ = taints.Reconcile(r.Spec.Taints, desired, isOurs, now)
	return Task{Kind: KindTaint, BeforeCluster: r, AfterCluster: after, mark: item}, true
}

// startMove hands out a binding that must leave, with the cluster that it goes
// to.
func (c *Core) startMove(now time.Time) (Task, bool) {
	found, ok := c.moves.Start(now)
	if !ok {
		return Task{}, false
	}
	b := c.bindings[found.Pod.UID]
	to, ok := c.target(b.Spec.Tolerations)
	if !ok {
		c.moves.Finish(now, found, eviction.Result{Outcome: eviction.OutcomeBlocked, Err: ErrNoTarget})
		return Task{}, false // Next says now if there are others
	}
	b.moving = true
	c.count(b, to)
	return Task{
		Kind: KindMove, BeforeBinding: b.Binding, AfterBinding: moved(b.Binding, to, now), move: found,
	}, true
}

// target returns the cluster with the fewest bindings that a binding with such
// tolerations may go to. Equals go by name.
func (c *Core) target(tolerations []corev1.Toleration) (string, bool) {
	best, found := "", false
	for name, r := range c.clusters {
		if c.accepts(r, tolerations) && (!found || c.load[name] < c.load[best] ||
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

// Finish takes the result of a task.
func (c *Core) Finish(now time.Time, task Task, result Result) {
	done := result.Outcome == OutcomeDone && result.Err == nil
	switch task.Kind {
	case KindDeclare:
		outcome := nodehealth.OutcomeRetry
		if done {
			outcome = nodehealth.OutcomeDone // the cache shows it later
		}
		c.monitor.Finish(now, task.silence, nodehealth.Result{Outcome: outcome})
	case KindTaint:
		outcome := timedqueue.OutcomeFailed
		if done {
			outcome = timedqueue.OutcomeDone
		}
		c.marks.Finish(now, task.mark, timedqueue.Result{Outcome: outcome})
	case KindMove:
		c.finishMove(now, task, result, done)
	}
}

func (c *Core) finishMove(now time.Time, task Task, result Result, done bool) {
	outcome := eviction.OutcomeFailed
	switch {
	case done:
		outcome = eviction.OutcomeEvicted
	case result.Outcome == OutcomeCanceled:
		outcome = eviction.OutcomeNotDue
	}
	if b := c.bindings[task.BeforeBinding.UID]; b != nil {
		if b.moving = false; !done {
			c.count(b, b.Spec.Cluster)
		}
	}
	c.moves.Finish(now, task.move, eviction.Result{Outcome: outcome, Err: result.Err})
}
