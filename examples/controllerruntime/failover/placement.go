package failover

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

// placement is the record of a binding on one of its clusters.
type placement struct {
	counted string // the cluster whose load it is part of: its own, or where it goes
	moving  bool
}

// idOf returns what identifies a binding on one of its clusters. A binding that
// is recreated under its name has another UID. One that leaves the cluster and
// comes back has another BoundAt, so it has arrived again, also when its
// absence was not observed.
func idOf(b *federation.Binding, on federation.TargetCluster) types.UID {
	id := string(b.UID) + "/" + on.Name
	if on.BoundAt != nil {
		id += "/" + on.BoundAt.UTC().Format(time.RFC3339)
	}
	return types.UID(id)
}

// byBinding names the budget by which a binding leaves one cluster at a time.
// Two moves that are computed from the same binding conflict.
const byBinding = "binding"

// subjectOf returns a binding as what leaves one of its clusters.
func subjectOf(b *federation.Binding, on federation.TargetCluster) eviction.Subject {
	return eviction.Subject{
		Key:         eviction.Key{Namespace: b.Namespace, Name: b.Name, UID: idOf(b, on)},
		On:          on.Name,
		Tolerations: b.Spec.Tolerations,
		Since:       on.BoundAt,
		Leaving:     b.DeletionTimestamp != nil,
		Shares:      map[string]string{byBinding: string(b.UID)},
	}
}

// isOn reports whether a binding is on a cluster.
func isOn(b *federation.Binding, cluster string) bool {
	return slices.ContainsFunc(b.Spec.Clusters, func(on federation.TargetCluster) bool { return on.Name == cluster })
}

// moved returns a binding with another cluster in the place of one.
func moved(b *federation.Binding, from, to string, now time.Time) *federation.Binding {
	after, at := b.DeepCopy(), metav1.NewTime(now)
	for i := range after.Spec.Clusters {
		if on := &after.Spec.Clusters[i]; on.Name == from {
			on.Name, on.BoundAt = to, &at
		}
	}
	return after
}

// ObserveBinding takes a binding as it is now. It must not be changed
// afterwards.
func (c *Core) ObserveBinding(now time.Time, observed *federation.Binding) {
	name := types.NamespacedName{Namespace: observed.Namespace, Name: observed.Name}
	c.replaceBinding(now, name, observed)
	for _, on := range observed.Spec.Clusters {
		s := subjectOf(observed, on)
		p, known := c.placements[s.UID]
		if !known {
			p = new(placement)
			c.placements[s.UID] = p
		}
		if !p.moving {
			c.count(p, on.Name)
		}
		c.moves.Observe(now, s)
	}
}

// ForgetBinding drops a binding that was deleted.
func (c *Core) ForgetBinding(now time.Time, name types.NamespacedName) {
	c.replaceBinding(now, name, new(federation.Binding))
	delete(c.bindings, name)
}

// replaceBinding records a binding and drops the placements that it has no more.
func (c *Core) replaceBinding(now time.Time, name types.NamespacedName, next *federation.Binding) {
	before := c.bindings[name]
	c.bindings[name] = next
	if before == nil {
		return
	}
	for _, on := range before.Spec.Clusters {
		id := idOf(before, on)
		stays := func(still federation.TargetCluster) bool { return idOf(next, still) == id }
		if p, known := c.placements[id]; known && !slices.ContainsFunc(next.Spec.Clusters, stays) {
			c.count(p, "")
			delete(c.placements, id)
			c.moves.ForgetPod(now, id)
		}
	}
}

// count makes a placement part of the load of a cluster, or of none.
func (c *Core) count(p *placement, name string) {
	if c.load[p.counted]--; c.load[p.counted] <= 0 {
		delete(c.load, p.counted)
	}
	if p.counted = name; name != "" {
		c.load[name]++
	}
}
