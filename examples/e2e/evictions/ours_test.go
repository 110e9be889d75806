package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOursEvictsExactlyThePodsThatMustLeave plays every scenario with our
// program: none early, none late, none lost, none wrong. Two at a time it takes
// about two minutes.
func TestOursEvictsExactlyThePodsThatMustLeave(t *testing.T) {
	ours := subjects()[0]
	require.Equal(t, "ours", ours.Name)
	program, err := ours.Build(t.Context(), t.TempDir(), t.Output())
	require.NoError(t, err)
	for _, s := range scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			counts, err := play{s, ours, program, t.TempDir(), t.Output()}.run(t.Context())
			require.NoError(t, err)
			require.True(t, counts.Clean(), "%+v", counts)
		})
	}
}
