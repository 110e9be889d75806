package rollout

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node is due when the wall clock says so, though it was set back since the
// planner began, and is asked no more often until then.
func TestAWallClockThatIsSetMakesNoNodeDueEarlyOrLate(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		began := time.Now()
		timers, err := newTimers(time.Minute, began)
		require.NoError(t, err)
		now := wallSetBy(began.Add(10*time.Second), by)
		require.Equal(t, by+10*time.Second, now.Round(0).Sub(began.Round(0)))
		require.Equal(t, 10*time.Second, now.Sub(began))
		ready := metav1.NewTime(now.Round(0)) // as in a condition
		timers.wake(now, &nodeState{name: "a"}, ready.Add(30*time.Second))
		next, waits := timers.next(now)
		require.True(t, waits)
		require.Equal(t, 30*time.Second, next.Sub(now))
		require.Nil(t, timers.due(now.Add(29*time.Second)))
		require.NotNil(t, timers.due(now.Add(30*time.Second)))
	}
}

// wallSetBy returns a time with a monotonic reading as a wall clock shows it that
// was set meanwhile. Package time keeps the seconds of the wall clock above 30 bits
// of nanoseconds in its first word.
func wallSetBy(now time.Time, by time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&now))
	*wall += uint64(by/time.Second) << 30
	return now
}
