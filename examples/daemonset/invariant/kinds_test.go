package invariant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNotDoneNowIsTriedLater(t *testing.T) {
	one, other := &Life{}, &Life{}
	at := func(ms int) time.Time { return time.Date(2031, 2, 3, 0, 0, 0, ms*1e6, time.UTC) }
	h := &History{Deferrals: []Deferral{
		{one, at(0), "pod"}, {one, at(10), "another pod"}, {other, at(20), "pod"}, {one, at(250), "pod"},
	}}
	require.Empty(t, Check(h, at(0)))
	h.Deferrals = append(h.Deferrals, Deferral{one, at(499), "pod"})
	violations := Check(h, at(0))
	require.Len(t, violations, 1)
	require.Equal(t, Patient, violations[0].Invariant)
}
