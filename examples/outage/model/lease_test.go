package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A handler is shown the version of a lease before and the one after, and finds
// an object that it has kept empty. So a core that keeps one fails the same in
// each run.
func TestLeasesAreShownUntilTheHandlerReturns(t *testing.T) {
	w, _ := world(t)
	var kept *coordinationv1.Lease
	last := make(map[string]*coordinationv1.Lease)
	updates := 0
	client := w.NewClient("reader", 1, func() {})
	client.Inform(network.Leases, cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			lease := shownLease(t, object)
			last[lease.Name] = lease.DeepCopy()
		},
		UpdateFunc: func(before, after any) {
			had, has := shownLease(t, before), shownLease(t, after)
			require.Equal(t, last[has.Name], had)
			require.True(t, had.Spec.RenewTime.Before(has.Spec.RenewTime))
			require.Equal(t, has.Name, *has.Spec.HolderIdentity)
			kept, last[has.Name] = has, has.DeepCopy()
			updates++
		},
		DeleteFunc: func(object any) {
			lease := shownLease(t, object)
			require.Equal(t, last[lease.Name].Spec, lease.Spec)
			require.NotEqual(t, last[lease.Name].ResourceVersion, lease.ResourceVersion, "a deletion has one of its own")
			delete(last, lease.Name)
		},
	})
	run(w, time.Minute)
	require.Greater(t, updates, 8)
	require.Equal(t, coordinationv1.Lease{}, *kept)
	a := w.Machine("a")
	require.Equal(t, last["a"].Spec.RenewTime, a.Lease().Spec.RenewTime)
	require.Equal(t, last["a"], CachedLease(client, "a"))
	a.Unregister()
	run(w, w.Elapsed()+time.Second)
	require.NotContains(t, last, "a")
	require.Nil(t, a.Lease())
	require.Nil(t, CachedLease(client, "a"))
}

func shownLease(t *testing.T, shown any) *coordinationv1.Lease {
	t.Helper()
	lease, ok := shown.(*coordinationv1.Lease)
	require.True(t, ok)
	return lease
}
