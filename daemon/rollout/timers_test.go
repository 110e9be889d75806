package rollout

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each pod is read once. Ten are read again at once, and then one each two
// seconds.
func TestRepeatedReadsHaveALimit(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	timers, err := newTimers(time.Minute, now)
	require.NoError(t, err)
	for i := range 40 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%02d", i)}}
		s := &podState{pod: pod, seen: sightingCreated, readAt: now.Add(time.Minute)}
		if i >= 28 {
			s.reads = 1
		}
		timers.keep(now, s, false)
	}
	require.Nil(t, timers.unseen(now))
	now = now.Add(time.Minute)
	for range 28 + 10 {
		require.NotNil(t, timers.unseen(now))
	}
	require.Nil(t, timers.unseen(now))
	next, waits := timers.next(now)
	require.True(t, waits)
	require.Equal(t, now.Add(2*time.Second), next)
	require.NotNil(t, timers.unseen(next))
}

// The wait for the watch doubles up to a quarter of an hour, or is the timeout if
// that is longer.
func TestWaitForTheWatchDoubles(t *testing.T) {
	short, long := timers{timeout: 30 * time.Second}, timers{timeout: time.Hour}
	require.Equal(t, 30*time.Second, short.wait(0))
	require.Equal(t, 4*time.Minute, short.wait(3))
	require.Equal(t, 15*time.Minute, short.wait(mostReads))
	require.Equal(t, time.Hour, long.wait(mostReads))
}

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
