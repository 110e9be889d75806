package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// replica is one of several that want to lead.
type replica struct {
	election
	acts, idles atomic.Bool
	acted       time.Duration // how long acting goes on after its context has ended
	fails       chan error    // an error ends acting
	ended       chan error
}

func newReplica(client kubernetes.Interface) *replica {
	timing := commandline.LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
		RetryPeriod: 2 * time.Second}
	return &replica{
		election: election{
			namespace: "kube-system", name: "tester", timing: timing, client: client, recorder: &record.FakeRecorder{},
			fence:    &fence{duration: timing.LeaseDuration},
			resigned: make(chan struct{}), released: make(chan struct{}),
		},
		fails: make(chan error, 1),
		ended: make(chan error, 1),
	}
}

func (r *replica) start(ctx context.Context) {
	act := func(ctx context.Context) (err error) {
		r.acts.Store(true)
		defer r.acts.Store(false)
		select {
		case err = <-r.fails:
		case <-ctx.Done():
		}
		time.Sleep(r.acted)
		return err
	}
	idle := func(ctx context.Context) {
		r.idles.Store(true)
		<-ctx.Done()
		r.idles.Store(false)
	}
	go func() { r.ended <- r.run(ctx, act, idle) }()
}

// wait lets time pass, and all of them do what they then do.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOneReplicaActsAndTheOthersIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		first, second := newReplica(cluster), newReplica(cluster)
		firstContext, stopFirst := context.WithCancel(t.Context())
		secondContext, stopSecond := context.WithCancel(t.Context())
		first.acted = 3 * time.Second
		first.start(firstContext)
		wait(time.Second)
		second.start(secondContext)
		wait(time.Minute)
		require.True(t, first.acts.Load())
		require.False(t, first.idles.Load())
		require.True(t, first.fence.valid(time.Now()))
		require.False(t, second.acts.Load())
		require.True(t, second.idles.Load())
		require.False(t, second.fence.valid(time.Now()))

		// It is not released before what acts has stopped.
		stopFirst()
		wait(2 * time.Second)
		require.True(t, first.acts.Load())
		require.True(t, first.fence.valid(time.Now()), "what is under way may still be sent")
		require.False(t, second.acts.Load())
		require.Empty(t, first.ended)
		// client-go tries again after up to 2.2 retry periods.
		wait(6 * time.Second)
		require.NoError(t, <-first.ended)
		require.False(t, first.fence.valid(time.Now()))
		require.True(t, second.acts.Load(), "at the next try, not after the lease's duration")
		require.False(t, second.idles.Load())

		stopSecond()
		wait(0)
		require.NoError(t, <-second.ended)
	})
}

// A leader whose acting fails releases the lease, and ends with the error.
func TestLeaderThatFailsMakesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		first, second := newReplica(cluster), newReplica(cluster)
		first.start(t.Context())
		wait(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		second.start(ctx)
		wait(time.Minute)
		failed := errors.New("failed")
		first.fails <- failed
		wait(5 * time.Second)
		require.ErrorIs(t, <-first.ended, failed)
		require.False(t, first.idles.Load())
		require.False(t, first.fence.valid(time.Now()))
		require.True(t, second.acts.Load(), "at the next try, not after the lease's duration")
		stop()
		require.NoError(t, <-second.ended)
	})
}

// One that never led ends at once.
func TestReplicaThatWaitsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		first, second := newReplica(cluster), newReplica(cluster)
		first.start(t.Context())
		wait(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		second.start(ctx)
		wait(time.Minute)
		stop()
		wait(0)
		require.NoError(t, <-second.ended)
		require.False(t, second.idles.Load())
		require.True(t, first.acts.Load())
	})
}

// refusing is a client whose updates of leases fail while it is told so.
type refusing struct {
	kubernetes.Interface
	now *atomic.Bool
}

type refusingGroup struct {
	coordinationclient.CoordinationV1Interface
	now *atomic.Bool
}

type refusingLeases struct {
	coordinationclient.LeaseInterface
	now *atomic.Bool
}

func (r refusing) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return refusingGroup{r.Interface.CoordinationV1(), r.now}
}

func (r refusingGroup) Leases(namespace string) coordinationclient.LeaseInterface {
	return refusingLeases{r.CoordinationV1Interface.Leases(namespace), r.now}
}

func (r refusingLeases) Update(ctx context.Context, lease *coordinationv1.Lease,
	options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if r.now.Load() {
		return nil, errors.New("refused")
	}
	return r.LeaseInterface.Update(ctx, lease, options)
}

// A leader that cannot renew stops to act before others may begin, and ends
// with an error. If what acts does not return, the process says that it is ill,
// so that the kubelet ends it.
func TestLeaderThatCannotRenewEndsOrSaysThatItIsIll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		cluster := memory.NewCluster()
		first, second := newReplica(refusing{cluster, &broken}), newReplica(cluster)
		first.acted = time.Hour
		first.start(t.Context())
		wait(10 * time.Second)
		second.start(t.Context())
		broken.Store(true)
		wait(13 * time.Second)
		require.NoError(t, first.fenceErr())
		require.False(t, second.acts.Load())
		wait(5 * time.Second)
		require.ErrorIs(t, first.fenceErr(), errFenced)
		wait(15 * time.Second)
		require.True(t, second.acts.Load())
		require.Empty(t, first.ended, "what acts has not returned")
		require.Error(t, first.fence.check(time.Now()))
		require.NoError(t, second.fence.check(time.Now()))
		wait(time.Hour)
		require.ErrorIs(t, <-first.ended, ErrLost)
		require.False(t, first.acts.Load())
	})
}

// fenceErr is what a write of the replica gets.
func (r *replica) fenceErr() error {
	request := httptest.NewRequest(http.MethodPatch, "/", nil)
	inner := roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })
	_, err := r.fence.transport(inner).RoundTrip(request) //nolint:bodyclose // there is none
	return err
}

func TestLeaderWhoseLeaseIsTakenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		first := newReplica(cluster)
		first.acted = time.Second
		first.start(t.Context())
		wait(10 * time.Second)
		require.True(t, first.acts.Load())

		// Another process takes the lease.
		leases := cluster.CoordinationV1().Leases("kube-system")
		lease, err := leases.Get(t.Context(), "tester", metav1.GetOptions{})
		require.NoError(t, err)
		other := "other"
		lease.Spec.HolderIdentity = &other
		now := metav1.NewMicroTime(time.Now())
		lease.Spec.RenewTime = &now
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		wait(13 * time.Second)
		require.ErrorIs(t, <-first.ended, ErrLost)
		require.False(t, first.acts.Load(), "it has returned")
	})
}
