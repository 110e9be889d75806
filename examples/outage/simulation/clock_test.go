package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadingHasTwoHands(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)
	before := reading(noon, time.Hour)
	after := reading(noon.Add(-time.Minute), time.Hour+10*time.Second) // set back in between

	require.Equal(t, 10*time.Second, after.Sub(before), "durations follow the even hand")
	require.True(t, before.Before(after))
	require.Equal(t, noon.UnixNano(), before.UnixNano(), "the time of day is what is written")
	require.Equal(t, -time.Minute, after.Round(0).Sub(before.Round(0)))
	require.Equal(t, noon.Format(time.RFC3339Nano), before.Format(time.RFC3339Nano))
	require.True(t, after.Before(noon), "compared with a time from an object, the time of day counts")
	require.Equal(t, time.Second, before.Add(time.Second).Sub(before))
}
