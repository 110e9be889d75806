package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What was not observed counts against Burst, and what is sent again counts
// already.
func TestBurstIsOfWhatIsUnderWayAndNotObserved(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	calls := newTraffic(2)
	calls.count(&podState{seen: sightingCreated}, 1)
	require.True(t, calls.mayCreate(now))
	calls.count(&podState{seen: sightingCreated, deletion: deletionUnanswered}, 1)
	require.False(t, calls.mayCreate(now))
	require.True(t, calls.mayDelete(now, false))
	calls.count(&podState{deletion: deletionUnderWay}, 1)
	require.False(t, calls.mayDelete(now, false))
	require.True(t, calls.mayDelete(now, true))
	calls.halted = true
	require.False(t, calls.mayDelete(now, true))
}

// Creations start slowly, and after a refusal each kind makes one call alone,
// after a hold.
func TestCallsBeginAloneAfterARefusal(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	calls := newTraffic(9)
	calls.creations.underWay = 1
	require.False(t, calls.mayCreate(now))
	calls.creations.succeeded(calls.creations.epoch)
	require.True(t, calls.mayCreate(now))
	calls.deletions.underWay = 1
	require.True(t, calls.mayDelete(now, false))
	calls.deletions.failed(calls.deletions.epoch, now)
	require.Equal(t, now.Add(shortHold), calls.next(now))
	now = now.Add(shortHold)
	require.False(t, calls.mayDelete(now, false), "the other one is still under way")
	calls.deletions.underWay = 0
	require.True(t, calls.mayDelete(now, false))
}
