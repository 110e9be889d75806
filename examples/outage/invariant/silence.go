package invariant

import (
	"cmp"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// A node counts as not ready from the moment its grace period ends, whether or
// not that was written. When a client knows is not seen from outside: it asks
// the API server first. So a silent node is in doubt, and counts as ready or
// not, whichever accuses less. The doubt ends when every client must know.

// heard is how a node is found to count.
type heard struct {
	node *seenNode
	is   citizen
	fell time.Duration
}

// listen looks at all nodes again. It is called every second.
func (v *view) listen(now time.Duration) {
	var changed []heard
	for _, n := range v.nodes {
		if n.object == nil {
			continue
		}
		if one, fell := v.citizenOf(now, n); one != n.citizen || n.fallen != (fell >= 0) {
			changed = append(changed, heard{n, one, fell})
		}
	}
	slices.SortFunc(changed, func(a, b heard) int {
		return cmp.Or(cmp.Compare(a.fell, b.fell), cmp.Compare(a.node.name, b.node.name))
	})
	for _, c := range changed {
		v.observeZone(now, c.node, c.is, false, c.fell)
	}
	v.listenedAt = now
}

// citizenOf returns how a node counts for a client, and since when it has
// fallen, -1 if it may be ready.
func (v *view) citizenOf(now time.Duration, n *seenNode) (one citizen, fell time.Duration) {
	one = citizenOf(n.object)
	// The clock of a machine that is suspended stands still.
	silent := n.heardLast + v.judge.settings.Grace + v.client.SuspendedFor(n.heardLast, now)
	switch {
	case now < silent && one.stands == standsReady:
		return one, -1
	case one.stands == standsNotReady:
		silent = min(now, silent)
	case v.mustKnow(now, n):
		one.stands = standsNotReady
	default:
		one.stands = standsDoubtful
	}
	if n.fallen {
		return one, n.fell
	}
	return one, silent
}

// hear records that a client has heard a node, or might have: it sees it
// first.
func (v *view) hear(now time.Duration, n *seenNode) {
	v.reconsider(now, n) // it may have fallen for a moment
	n.heardLast = now
	v.reconsider(now, n)
}

// reconsider has a node counted as it is now.
func (v *view) reconsider(now time.Duration, n *seenNode) {
	if n.object == nil {
		return
	}
	if one, fell := v.citizenOf(now, n); one != n.citizen {
		v.observeZone(now, n, one, false, fell)
	}
}

// sawLease takes what a watch has shown.
func (v *view) sawLease(before, after *coordinationv1.Lease) {
	if after == nil || before != nil && sameRenewal(before, after) {
		return
	}
	now := v.judge.world.Elapsed()
	if before != nil || v.synced {
		v.heardAPI(now, now)
	}
	if n := v.nodes[after.Name]; n != nil {
		v.hear(now, n)
	}
}

func sameRenewal(a, b *coordinationv1.Lease) bool {
	var had, has string
	if a.Spec.HolderIdentity != nil {
		had = *a.Spec.HolderIdentity
	}
	if b.Spec.HolderIdentity != nil {
		has = *b.Spec.HolderIdentity
	}
	return a.Spec.RenewTime.Equal(b.Spec.RenewTime) && had == has
}

// readLease takes what a live read has shown of a lease. To a client that holds
// the node to be silent, a version that it has not seen before is a sign of
// life.
func (v *view) readLease(now time.Duration, lease *coordinationv1.Lease) {
	n, cached := v.nodes[lease.Name], model.CachedLease(v.client, lease.Name)
	if n == nil || now < n.heardLast+v.judge.settings.Grace {
		return
	}
	if n.readLease == lease.ResourceVersion || cached != nil && cached.ResourceVersion == lease.ResourceVersion {
		return
	}
	n.readLease = lease.ResourceVersion
	v.hear(now, n)
}

// mustKnow reports whether a client that acts must know that a node is silent.
func (v *view) mustKnow(now time.Duration, n *seenNode) bool {
	s := &v.judge.settings
	since, calm := v.judge.subject.Calm()
	if !calm || v.judge.subject.Acting() != v.client {
		return false
	}
	asked := max(n.heardLast, v.syncedAt) + s.Grace
	if deaf := v.deaf(n.heardLast, now); deaf > 0 {
		asked += deaf + s.CalmBound
	}
	return now > max(asked, since+s.CalmBound, v.busy)+s.bound()
}

// deaf returns for how much of the time between two moments a client could not
// hear.
func (v *view) deaf(from, to time.Duration) time.Duration {
	if v.judge.settings.BlindAfter == 0 {
		return 0
	}
	return v.client.Deaf(from, to, v.judge.settings.BlindAfter)
}
