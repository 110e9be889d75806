package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage kills the API server
// for two grace periods. Silence counts only while it could have been heard
// (H4).
func TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage(t *testing.T) {
	if os.Getenv("LIFECYCLE_E2E") != "full" {
		t.Skip("long tier: set LIFECYCLE_E2E=full")
	}
	// A beat every two seconds and a grace of six leave room for busy machines.
	times := times{beat: 2 * time.Second, grace: 12 * time.Second}
	short := outage("outage", "two grace periods", 2*times.grace, 1)
	short.Zones = map[string]int{"a": 12, "b": 12, "c": 12}
	ours := subjects()[0]
	require.Equal(t, "ours", ours.Name)
	program, err := ours.Build(t.Context(), t.TempDir(), t.Output())
	require.NoError(t, err)
	counts, err := play{short, ours, program, times, "", t.Output()}.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 33, counts.Living)
	require.Equal(t, 3, counts.Dead)
	require.True(t, counts.Clean(), "%+v", counts)
}
