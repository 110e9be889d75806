package failover

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A Controller connects a Core to an API server.
type Controller struct {
	core       *Core
	dispatcher *timedqueue.Dispatcher
	metrics    *metrics
	clusters   reconcile.Func
	bindings   reconcile.Func

	stop     Stop
	recorder events.EventRecorder
	leads    atomic.Bool
	halted   atomic.Bool // as the core is, for actions
	renewed  time.Time   // in the leader's Lease, as observed last

	filled []func() bool // whether an informer is
	cache  client.Reader // answers from memory
	writer client.Client
}

const (
	component   = "controllerruntime" // the source of Events
	callTimeout = 10 * time.Second
	workers     = 16 // of patches at a time
)

// NewController returns a controller that counts in a registry. It starts
// nothing before its manager starts; see SetupWithManager.
func NewController(config Config, registry prometheus.Registerer) (*Controller, error) {
	core, err := NewCore(config, time.Now())
	if err != nil {
		return nil, err
	}
	c := &Controller{core: core}
	jobs := core.Jobs(Actions{Declare: c.declare, Taint: c.taint, Move: c.move})
	c.dispatcher, err = timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{Workers: workers})
	if err != nil {
		return nil, err
	}
	c.clusters = reconcilerOf(c, core.ObserveCluster,
		func(now time.Time, key types.NamespacedName) { core.ForgetCluster(now, key.Name) })
	c.bindings = reconcilerOf(c, core.ObserveBinding, core.ForgetBinding)
	c.metrics, err = newMetrics(registry, c.read)
	return c, err
}

// SetupWithManager adds three reconcilers that observe, a runnable that acts
// while it leads, and the health checks. The manager's cache must hold
// stop.ByObject, and its scheme Leases.
func (c *Controller) SetupWithManager(ctx context.Context, mgr ctrl.Manager, stop Stop) error {
	c.cache, c.writer = mgr.GetCache(), mgr.GetClient()
	c.stop, c.recorder = stop, mgr.GetEventRecorder(component)
	observing := controller.Options{NeedLeaderElection: new(bool)} // no
	for _, observed := range []struct {
		object     client.Object
		reconciler reconcile.Func
	}{
		{&federation.Cluster{}, c.clusters}, {&federation.Binding{}, c.bindings},
		{&coordinationv1.Lease{}, c.reconcileLease},
	} {
		// The informer exists before the manager starts, so that it is filled before
		// anything runs.
		informer, err := mgr.GetCache().GetInformer(ctx, observed.object)
		if err != nil {
			return err
		}
		c.filled = append(c.filled, informer.HasSynced)
		err = ctrl.NewControllerManagedBy(mgr).For(observed.object).WithOptions(observing).
			Complete(observed.reconciler)
		if err != nil {
			return err
		}
	}
	return errors.Join(
		mgr.Add(manager.RunnableFunc(c.lead)),
		mgr.AddHealthzCheck("dispatcher", func(*http.Request) error { return c.answer() }),
		mgr.AddReadyzCheck("cache", func(*http.Request) error {
			if !c.Filled() {
				return errors.New("the caches are not filled yet")
			}
			return nil
		}),
	)
}

// Filled reports whether the caches hold all that exists. Nothing acts before.
func (c *Controller) Filled() bool {
	return !slices.ContainsFunc(c.filled, func(is func() bool) bool { return !is() })
}

// reconcilerOf returns a reconciler that only observes. It reads the cache with
// the core locked, so that the core sees no older version after a newer one.
func reconcilerOf[T any, P interface {
	*T
	client.Object
}](
	c *Controller, observe func(time.Time, P), forget func(time.Time, types.NamespacedName),
) reconcile.Func {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var err error
		c.dispatcher.Update(func() {
			object := P(new(T))
			err = c.cache.Get(ctx, request.NamespacedName, object)
			switch {
			case apierrors.IsNotFound(err):
				forget(time.Now(), request.NamespacedName)
				err = nil
			case err == nil:
				observe(time.Now(), object)
			}
		})
		return reconcile.Result{}, err
	}
}

// lead acts until ctx ends. First it observes all that the cache has, which the
// reconcilers may still be busy with: also whether it is halted.
func (c *Controller) lead(ctx context.Context) error {
	var err error
	c.dispatcher.Update(func() { err = c.observeAll(ctx) })
	if err != nil {
		return err
	}
	c.leads.Store(true)
	return c.dispatcher.Run(ctx)
}

func (c *Controller) observeAll(ctx context.Context) error {
	var clusters federation.ClusterList
	var bindings federation.BindingList
	if err := errors.Join(c.cache.List(ctx, &clusters), c.cache.List(ctx, &bindings)); err != nil {
		return err
	}
	now := time.Now()
	if _, err := c.observeLease(ctx, now); err != nil {
		return err
	}
	for i := range clusters.Items {
		c.core.ObserveCluster(now, &clusters.Items[i])
	}
	for i := range bindings.Items {
		c.core.ObserveBinding(now, &bindings.Items[i])
	}
	c.core.Lead(now)
	return nil
}

// errCanceled is why a patch was not sent: it has become moot.
var errCanceled = errors.New("canceled")

func (c *Controller) declare(ctx context.Context, d Declaration) nodehealth.Result {
	err := c.attempt(ctx, "Declare", func(ctx context.Context) error {
		return c.writer.Status().Patch(ctx, d.After.DeepCopy(), guardedBy(d.Before))
	}, "cluster", d.Before.Name)
	if err != nil {
		return nodehealth.Result{Outcome: nodehealth.OutcomeFailed, Err: err}
	}
	c.recordSilence(d)
	return nodehealth.Result{Outcome: nodehealth.OutcomeDone}
}

func (c *Controller) taint(ctx context.Context, m Marking) timedqueue.Result {
	err := c.attempt(ctx, "Taint", func(ctx context.Context) error {
		if m.Adds() && c.halted.Load() {
			return errCanceled
		}
		return c.writer.Patch(ctx, m.After.DeepCopy(), guardedBy(m.Before))
	}, "cluster", m.Before.Name)
	if err != nil {
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, Err: err}
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
}

func (c *Controller) move(ctx context.Context, m Move) eviction.Result {
	err := c.attempt(ctx, "Move", func(ctx context.Context) error {
		if m.Canceled() {
			return errCanceled
		}
		return c.writer.Patch(ctx, m.After.DeepCopy(), guardedBy(m.Before))
	}, "binding", client.ObjectKeyFromObject(m.Before).String(),
		"from", m.From, "to", m.To)
	switch {
	case errors.Is(err, errCanceled):
		return eviction.Result{Outcome: eviction.OutcomeNotDue}
	case err != nil:
		return eviction.Result{Outcome: eviction.OutcomeFailed, Err: err}
	}
	c.recordMove(m)
	return eviction.Result{Outcome: eviction.OutcomeEvicted}
}

// guardedBy returns a patch that the API server refuses if the object has
// changed since. The client writes the answer into the object that it is given
// with the patch, so that must be a copy.
func guardedBy(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// attempt sends one patch in bounded time. It counts and logs the outcome.
func (c *Controller) attempt(
	ctx context.Context, kind string, send func(context.Context) error, about ...any,
) error {
	sending, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := send(sending)
	outcome := "Done"
	logger := log.FromContext(ctx).WithValues(about...)
	switch {
	case errors.Is(err, errCanceled):
		outcome = "Canceled"
	case err != nil:
		outcome = "Failed"
		logger = logger.WithValues("cause", eviction.CauseOf(err), "error", err.Error())
	}
	c.metrics.acted(kind, outcome)
	logger.Info("Acted", "task", kind, "outcome", outcome)
	return err
}

// read gives a function the core, locked.
func (c *Controller) read(look func(*Core)) { c.dispatcher.View(func() { look(c.core) }) }

// answer returns when the core is not locked. A probe that waits for it fails.
func (c *Controller) answer() error {
	c.dispatcher.View(func() {})
	return nil
}
