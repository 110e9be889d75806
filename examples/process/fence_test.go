package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestFenceLetsWritesThroughOnlyWhileTheLeaseIsValid(t *testing.T) {
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent++ }))
	defer server.Close()
	f := &fence{duration: time.Minute}
	client := &http.Client{Transport: f.transport(http.DefaultTransport)}
	send := func(method string) error {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		if err == nil {
			require.NoError(t, response.Body.Close())
		}
		return err
	}

	require.ErrorIs(t, send(http.MethodPatch), errFenced, "no lease yet")
	f.renewed(time.Now())
	for _, method := range []string{http.MethodPatch, http.MethodDelete, http.MethodPost, http.MethodPut} {
		require.NoError(t, send(method))
	}
	require.Equal(t, 4, sent)
	f.renewed(time.Now().Add(-time.Minute))
	for _, method := range []string{http.MethodPatch, http.MethodDelete, http.MethodPost, http.MethodPut} {
		require.ErrorIs(t, send(method), errFenced, method)
	}
	require.Equal(t, 4, sent, "not one was sent")
	require.NoError(t, send(http.MethodGet), "reads go on")
}

// The lease counts from when its renewal was sent, and only if that succeeded.
func TestFenceCountsRenewals(t *testing.T) {
	inner := &lock{}
	f := &fence{duration: time.Hour}
	wrapped := f.lock(inner)
	ours := resourcelock.LeaderElectionRecord{HolderIdentity: "us"}

	inner.err = errors.New("conflict")
	require.Error(t, wrapped.Create(t.Context(), ours))
	require.False(t, f.valid(time.Now()))
	require.False(t, f.won.Load())

	inner.err = nil
	before := time.Now()
	require.NoError(t, wrapped.Update(t.Context(), ours))
	require.True(t, f.valid(before.Add(time.Hour-time.Second)))
	require.False(t, f.valid(time.Now().Add(time.Hour)))
	require.True(t, f.won.Load())

	require.NoError(t, wrapped.Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	require.False(t, f.valid(time.Now()), "released")
}

type lock struct {
	resourcelock.Interface
	err    error
	raw    []byte
	writes int
}

func (l *lock) Identity() string { return "us" }
func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{}, l.raw, l.err
}
func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	l.writes++
	return l.err
}
func (l *lock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.writes++
	return l.err
}

// E2: a lease that has ended is not renewed. While the machine was suspended,
// the election's own clock stood still.
func TestE2AnEndedLeaseIsNotRenewed(t *testing.T) {
	inner, ended := &lock{}, 0
	f := &fence{duration: time.Minute, ended: func() { ended++ }}
	wrapped := f.lock(inner)
	ours := resourcelock.LeaderElectionRecord{HolderIdentity: "us"}
	require.NoError(t, wrapped.Create(t.Context(), ours))
	require.NoError(t, wrapped.Update(t.Context(), ours))
	require.Equal(t, 2, inner.writes)
	f.renewed(time.Now().Add(-time.Minute))
	require.ErrorIs(t, wrapped.Update(t.Context(), ours), errFenced)
	require.Equal(t, 2, inner.writes, "it was not sent")
	require.Equal(t, 1, ended)
	require.NoError(t, wrapped.Update(t.Context(), resourcelock.LeaderElectionRecord{}), "a release is sent")
}
