package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// A kubelet that is back may report its status before it renews its lease. It
// is heard then.
func TestAStatusWithANewTimeIsAHeartbeat(t *testing.T) {
	w, _ := world(t)
	a := w.Machine("a")
	run(w, 45*time.Second)
	renewed := a.LastRenewal
	patch := func(body string) {
		t.Helper()
		_, err := a.PatchNodeStatus(types.StrategicMergePatchType, []byte(body))
		require.NoError(t, err)
		require.Equal(t, renewed, a.LastRenewal, "the lease is another thing")
	}
	patch(`{"status":{"phase":"Running"}}`)
	require.Equal(t, renewed, a.LastBeat, "it says nothing of the time")
	patch(`{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":"` +
		w.Now().UTC().Format(time.RFC3339) + `"}]}}`)
	require.Equal(t, w.Elapsed(), a.LastBeat)
	defer w.Down(false, true)()
	_, err := a.PatchNodeStatus(types.StrategicMergePatchType, []byte(`{}`))
	require.Error(t, err)
}
