package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ten pods are read at once, and then one each two seconds.
func TestReadsHaveALimit(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	timers, err := newTimers(time.Minute, now)
	require.NoError(t, err)
	for i := range 12 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
		s := &podState{pod: pod, seen: sightingCreated, readAt: now.Add(time.Minute)}
		timers.keep(now, s, false)
	}
	require.Nil(t, timers.unseen(now))
	now = now.Add(time.Minute)
	for range 10 {
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
