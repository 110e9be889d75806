package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage kills the API server
// for two grace periods. Silence counts only while it could have been heard
// (H4). The test fails when all silence counts and no lease is read before a
// declaration; each of the two alone saves the living here.
func TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage(t *testing.T) {
	if os.Getenv("LIFECYCLE_E2E") != "full" {
		t.Skip("long tier: set LIFECYCLE_E2E=full")
	}
	// With shorter periods all nodes are back before any of them is declared.
	short := outage("outage", "two grace periods", 2*usual.grace, 1)
	short.Zones = map[string]int{"a": 12, "b": 12, "c": 12}
	ours := subjects()[0]
	require.Equal(t, "ours", ours.Name)
	program, err := ours.Build(t.Context(), t.TempDir(), t.Output())
	require.NoError(t, err)
	counts, err := play{short, ours, program, usual, "", t.Output()}.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 33, counts.Living)
	require.Equal(t, 3, counts.Dead)
	require.True(t, counts.Clean(), "%+v", counts)
}
