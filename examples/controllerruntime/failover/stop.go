package failover

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Stop names the annotation of a Lease that halts a Controller for as long as
// it is there. The Lease is the leader's, so the annotation outlives the
// process and holds for each replica. Both fields are required.
type Stop struct {
	Lease      types.NamespacedName
	Annotation string
}

// ByObject makes a manager's cache hold this Lease and no other. Pass it to the
// manager's cache.Options.
func (s Stop) ByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {
		Namespaces: map[string]cache.Config{s.Lease.Namespace: {}},
		Field:      fields.OneTermEqualSelector("metadata.name", s.Lease.Name),
	}}
}

// reconcileLease halts the core, or lets it go on, as the Lease says. Each
// replica does, and the one that leads tells.
func (c *Controller) reconcileLease(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var lease *coordinationv1.Lease
	var changed, halted bool
	var err error
	c.dispatcher.Update(func() {
		was := c.core.Halted()
		lease, err = c.observeLease(ctx, time.Now())
		halted = c.core.Halted()
		changed = was != halted
	})
	if err != nil || !changed {
		return reconcile.Result{}, err
	}
	if c.leads.Load() {
		c.recordHalt(lease, halted)
	}
	return reconcile.Result{}, nil
}

// observeRenewal tells the core that the leader could write, as it does every
// two seconds, and that this was heard: so would be a heartbeat of a cluster.
// Without an election only the clusters' own show that.
func (c *Controller) observeRenewal(now time.Time, lease *coordinationv1.Lease) {
	if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Equal(c.renewed) {
		return
	}
	if !c.renewed.IsZero() {
		c.core.Answered(now, now)
	}
	c.renewed = lease.Spec.RenewTime.Time
}

// observeLease reads the Lease from the cache, with the core locked. That there
// is none says nothing: the one that a leader then creates does.
func (c *Controller) observeLease(ctx context.Context, now time.Time) (*coordinationv1.Lease, error) {
	lease := new(coordinationv1.Lease)
	if err := c.cache.Get(ctx, c.stop.Lease, lease); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	c.observeRenewal(now, lease)
	_, halted := lease.Annotations[c.stop.Annotation]
	if c.halted.Store(halted); halted {
		c.core.Halt(now)
	} else {
		c.core.Resume(now)
	}
	return lease, nil
}
