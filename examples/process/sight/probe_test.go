package sight

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// heard counts what a sight tells.
type heard struct {
	Sight
	answers, failures int
	at, sent          time.Time // of the last answer
}

func newHeard() *heard {
	h := &heard{}
	h.Answered = func(now, sent time.Time) { h.answers, h.at, h.sent = h.answers+1, now, sent }
	h.Unanswered = func() { h.failures++ }
	return h
}

// A probe writes: a store that can only be read takes no heartbeats.
func TestH4ProbeShowsWhetherTheStoreTakesWrites(t *testing.T) {
	leases := coordinationv1.Resource("leases")
	for name, c := range map[string]struct {
		err               error
		answers, failures int
	}{
		"written":       {nil, 10, 0},
		"changed":       {apierrors.NewConflict(leases, "x", errors.New("changed")), 10, 0},
		"no right":      {apierrors.NewForbidden(leases, "x", errors.New("no role")), 0, 0},
		"out of space":  {apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")), 0, 10},
		"busy":          {apierrors.NewTooManyRequests("busy", 1), 0, 10},
		"no connection": {errors.New("connection refused"), 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}})
				client.PrependReactor("patch", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
					time.Sleep(100 * time.Millisecond)
					return c.err != nil, nil, c.err
				})
				h := newHeard()
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Second+200*time.Millisecond)
				defer stop()
				p := Probe{Client: client, Namespace: "n", Name: "p", Period: time.Second, Sight: &h.Sight}
				require.NoError(t, p.Run(ctx))
				require.Equal(t, c.answers, h.answers)
				require.Equal(t, c.failures, h.failures)
				if c.answers > 0 {
					require.Equal(t, 100*time.Millisecond, h.at.Sub(h.sent), "it counts from when it was sent")
				}
			})
		})
	}
}

// The first write makes the lease, and an API server that hangs is a failure
// once.
func TestH4ProbeMakesItsLeaseAndGivesUpAWriteThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, cluster := newHeard(), memory.NewCluster()
		ctx, stop := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer stop()
		p := Probe{Client: cluster, Namespace: "n", Name: "p", Period: time.Second, Sight: &h.Sight}
		require.NoError(t, p.Run(ctx))
		require.Equal(t, 5, h.answers)
		lease, err := cluster.CoordinationV1().Leases("n").Get(t.Context(), "p", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, 500*time.Millisecond, time.Since(lease.Spec.RenewTime.Time).Round(time.Millisecond))
	})
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("patch", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(probeTimeout)
			return true, nil, context.DeadlineExceeded
		})
		h := newHeard()
		ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
		defer stop()
		p := Probe{Client: client, Namespace: "n", Name: "p", Period: time.Second, Sight: &h.Sight}
		require.NoError(t, p.Run(ctx))
		require.Zero(t, h.answers)
		require.Equal(t, 1, h.failures)
	})
}
