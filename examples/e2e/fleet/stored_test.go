package fleet

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A heartbeat counts as stored when the API server has acknowledged it, and not
// when it was only sent. No other request is one.
func TestOnlyAcknowledgedHeartbeatsAreStored(t *testing.T) {
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	var beats []Beat
	client, err := newClient(sidebyside.Protobuf(&rest.Config{Host: server.URL}),
		func(beat Beat) { beats = append(beats, beat) })
	require.NoError(t, err)
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	create := func() error {
		_, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
		return err
	}
	renew := func() error {
		_, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	}
	patch := []byte(`{"status":{"phase":"Running"}}`)
	report := func() error {
		_, err := client.CoreV1().Nodes().
			Patch(t.Context(), "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	sends := []func() error{create, renew, report}
	before := time.Now()
	for _, send := range sends {
		require.NoError(t, send())
	}
	require.Len(t, beats, len(sends))
	for _, beat := range beats {
		require.Equal(t, "a", beat.Node)
		require.False(t, beat.Sent.Before(before))
		require.False(t, beat.Acknowledged.Before(beat.Sent))
	}

	_, err = leases.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().Pods(Namespace).
		Patch(t.Context(), "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Len(t, beats, len(sends))

	broken.Store(true)
	for _, send := range sends {
		require.Error(t, send())
	}
	require.Len(t, beats, len(sends))
}
