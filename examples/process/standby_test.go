package process

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubelife/lifecycle/examples/process/sight"
)

// heard counts what a sight tells.
type heard struct {
	sight.Sight
	answers, failures int
	at, sent          time.Time // of the last answer
}

func newHeard() *heard {
	h := &heard{}
	h.Answered = func(now, sent time.Time) { h.answers, h.at, h.sent = h.answers+1, now, sent }
	h.Unanswered = func() { h.failures++ }
	return h
}

// A replica that waits for the lease reads it. That it can says nothing, unless
// it sees that the leader could write.
func TestH4AStandbyHearsTheLeader(t *testing.T) {
	synctest.Test(t, hearsTheLeader)
}

func hearsTheLeader(t *testing.T) {
	h, inner := newHeard(), &lock{}
	f := &fence{duration: time.Hour, sight: h.Sight}
	wrapped := f.lock(inner)
	read := func(raw string, err error) {
		inner.raw, inner.err = []byte(raw), err
		_, _, got := wrapped.Get(t.Context())
		require.Equal(t, err, got)
	}
	gone := apierrors.NewNotFound(coordinationv1.Resource("leases"), "x")
	read("", gone)
	read("renewed at 1", nil)
	require.Zero(t, h.answers, "it may have been so for long")
	read("renewed at 1", nil)
	require.Zero(t, h.answers)
	last := time.Now()
	time.Sleep(2 * time.Second)
	read("renewed at 2", nil)
	require.Equal(t, 1, h.answers)
	require.Equal(t, []time.Time{last, last}, []time.Time{h.at, h.sent}, "it was written at some time since then")
	require.Zero(t, h.failures)
	read("", errors.New("connection refused"))
	require.Equal(t, 1, h.failures)

	inner.err = nil
	require.NoError(t, wrapped.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}))
	require.Equal(t, 2, h.answers)
	inner.err = errors.New("database space exceeded")
	require.Error(t, wrapped.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}))
	require.Equal(t, 2, h.failures)
}
