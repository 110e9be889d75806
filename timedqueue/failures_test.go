package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresDelayWhatIsDueAndRememberIt(t *testing.T) {
	s := newFailures[string, int](Backoff{Initial: time.Second, Max: 4 * time.Second})
	e := new(Entry[string, int])
	require.Equal(t, 5*time.Second, s.schedule(e, 5*time.Second), "it has not failed")
	_, backedOff := s.end(e)
	require.False(t, backedOff)

	for i, want := range []int{11, 12, 14, 14} {
		until := s.add(e, 10*time.Second, 10*time.Second, 0)
		require.Equal(t, seconds(float64(want)), at(until))
		require.Equal(t, uint16(i+1), e.attempts)
	}
	require.Equal(t, 14*time.Second, s.schedule(e, 12*time.Second), "not before the end")
	require.Equal(t, 20*time.Second, s.schedule(e, 20*time.Second))
	s.shrink()
	due, backedOff := s.end(e)
	require.True(t, backedOff)
	require.Equal(t, 20*time.Second, due, "when it would be due without the backoff")
	require.Empty(t, s.of)

	require.Equal(t, 13*time.Second, s.add(e, 10*time.Second, 0, 3*time.Second), "as it says")
	require.Equal(t, time.Minute, s.add(e, 10*time.Second, time.Minute, 3*time.Second))
	e.attempts = math.MaxUint16
	s.add(e, 0, 0, 0)
	require.Equal(t, uint16(math.MaxUint16), e.attempts, "it does not wrap")
}
