package heartbeat

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// runLease sends heartbeats of one node that has only a lease. There is a beat
// at the start, one 5 s later, and then one every 10.2 s.
func runLease(t *testing.T, api *fleetAPI) {
	t.Helper()
	h := runFleet(t, Config{Leases: fleetLeases{api}, Rand: func() float64 { return 0.5 }})
	require.NoError(t, h.Add(Node{Name: "a", UID: "a-uid"}))
}

func TestH7ALeaseThatIsNotThereIsCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		runLease(t, api)
		synctest.Wait()
		require.Equal(t, map[string]int{"get lease": 1, "create lease": 1}, api.count())
		lease := api.lease("a")
		require.Equal(t, "kube-node-lease", lease.Namespace)
		require.Equal(t, ptr.To("a"), lease.Spec.HolderIdentity)
		require.Equal(t, ptr.To(int32(40)), lease.Spec.LeaseDurationSeconds)
		require.Equal(t, time.Now(), lease.Spec.RenewTime.Time)
		require.Equal(t, []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: "a", UID: "a-uid"},
		}, lease.OwnerReferences)

		// When it is deleted, the next beat brings it back.
		api.mu.Lock()
		delete(api.leases, "a")
		api.mu.Unlock()
		api.forgetCalls()
		time.Sleep(6 * time.Second)
		require.Equal(
			t, map[string]int{"update lease": 1, "get lease": 1, "create lease": 1}, api.count(),
		)
	})
}

func TestH7ALeaseThatAnotherClientHasCreatedIsRenewedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		api.setMeddle(func(verb, name string) (time.Duration, error) {
			if verb == "create lease" {
				api.setLease(name, func(*coordinationv1.Lease) {})
			}
			return 0, nil
		})
		runLease(t, api)
		time.Sleep(time.Second)
		require.Equal(t, ptr.To("a"), api.lease("a").Spec.HolderIdentity)
	})
}

func TestH7AfterAConflictTheLeaseIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		runLease(t, api)
		time.Sleep(time.Minute)
		api.setLease("a", func(lease *coordinationv1.Lease) {
			lease.Labels = map[string]string{"by": "another"}
			lease.Spec.HolderIdentity = ptr.To("another")
		})
		api.forgetCalls()
		time.Sleep(10 * time.Second)
		require.Equal(t, map[string]int{"update lease": 2, "get lease": 1}, api.count())
		lease := api.lease("a")
		require.Equal(t, ptr.To("a"), lease.Spec.HolderIdentity, "the node is the holder")
		require.Equal(t, map[string]string{"by": "another"}, lease.Labels, "what is not ours stays")
		require.NotEmpty(t, lease.Spec.RenewTime)

		api.forgetCalls()
		time.Sleep(time.Minute)
		require.Len(t, api.count(), 1, "from then on one call again")
	})
}

func TestH7ARenewalWhoseAnswerWasLostIsNoFailureForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		runLease(t, api)
		time.Sleep(time.Minute)
		lost := false
		api.setMeddle(func(verb, name string) (time.Duration, error) {
			if verb == "update lease" && !lost {
				lost = true
				api.setLease(name, func(*coordinationv1.Lease) {}) // it was done
				return hang, nil                                   // and the answer is lost
			}
			return 0, nil
		})
		api.forgetCalls()
		time.Sleep(25 * time.Second)
		require.Equal(t, 1, api.count()["get lease"])
		require.WithinDuration(t, time.Now(), api.lease("a").Spec.RenewTime.Time, 11*time.Second)
	})
}

func TestRenewedLeaseChangesOnlyWhatABeatChanges(t *testing.T) {
	now := time.Date(2026, time.May, 1, 10, 0, 0, 0, time.UTC)
	node := Node{Name: "a", UID: "new"}
	keeper := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Keeper", Name: "k", UID: "k"}
	ours := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "a", UID: "new"}
	former := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "a", UID: "old"}
	last := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: corev1.NamespaceNodeLease, UID: "lease", ResourceVersion: "7",
			Labels:          map[string]string{"l": "1"},
			OwnerReferences: []metav1.OwnerReference{former, keeper},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("else"), LeaseDurationSeconds: ptr.To(int32(7)),
			LeaseTransitions: ptr.To(int32(3)),
			RenewTime:        &metav1.MicroTime{Time: now.Add(time.Hour)}, // a clock that was ahead
		},
	}
	before := last.DeepCopy()
	renewed := renewedLease(last, node, 1500*time.Millisecond, now)
	require.Equal(t, before, last, "the argument is left as it was")

	want := before.DeepCopy()
	want.OwnerReferences = []metav1.OwnerReference{keeper, ours}
	want.Spec.HolderIdentity = ptr.To("a")
	want.Spec.LeaseDurationSeconds = ptr.To(int32(2)) // rounded up
	want.Spec.RenewTime = &metav1.MicroTime{Time: now}
	require.Equal(t, want, renewed)

	// With nothing to put right, only the time changes, and nothing is copied.
	again := renewedLease(renewed, node, 2*time.Second, now.Add(time.Second))
	require.Same(t, renewed.Spec.HolderIdentity, again.Spec.HolderIdentity)
	require.Same(t, &renewed.OwnerReferences[0], &again.OwnerReferences[0])
	again.Spec.RenewTime = renewed.Spec.RenewTime
	require.Equal(t, renewed, again)

	require.Nil(t, keptLease(last).ManagedFields)
	require.NotNil(t, last.ManagedFields)
}

// The API server's store was restored from a backup: the lease has an older
// version, or it is from before the lease was made. The next beat renews it.
func TestH7ALeaseOfARestoredBackupIsRenewed(t *testing.T) {
	for name, restore := range map[string]func(api *fleetAPI, backup *coordinationv1.Lease){
		"older": func(api *fleetAPI, backup *coordinationv1.Lease) { api.leases["a"] = backup },
		"gone":  func(api *fleetAPI, _ *coordinationv1.Lease) { delete(api.leases, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFleetAPI()
				runLease(t, api)
				time.Sleep(time.Minute)
				backup := api.lease("a")
				api.mu.Lock()
				version := api.version
				api.mu.Unlock()
				time.Sleep(time.Minute)
				api.mu.Lock()
				restore(api, backup)
				api.version = version // so later writes have versions that were there before
				api.mu.Unlock()
				restored := time.Now()
				for range 6 {
					time.Sleep(longestGap)
					renewed := api.lease("a")
					require.NotNil(t, renewed)
					require.WithinDuration(t, time.Now(), renewed.Spec.RenewTime.Time, longestGap)
					require.True(t, renewed.Spec.RenewTime.After(restored))
				}
			})
		})
	}
}
