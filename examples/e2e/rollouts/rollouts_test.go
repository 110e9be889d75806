package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBothComeToTheSameStates plays the script with both controllers, which are
// killed in the middle of each step. Pods, status, revisions and what kubectl
// says are the same after each. On another cluster the controllers take turns,
// and no pod or revision is touched. The long tier also plays the script
// without a kill.
func TestBothComeToTheSameStates(t *testing.T) {
	const nodes = 30
	o := options{nodes: nodes, modes: []mode{killed}}
	if os.Getenv("LIFECYCLE_E2E") == "full" {
		o.modes = []mode{calm, killed}
	}
	programs, err := build(t.Context(), t.TempDir(), t.Output())
	require.NoError(t, err)

	t.Run("script", func(t *testing.T) {
		t.Parallel()
		both := o.playAll(t.Context(), programs, t.Output())
		require.NoError(t, both.problem(), "%q", both.differences)
		require.Len(t, both.columns, 2*len(o.modes))
		for _, c := range both.columns {
			require.Len(t, c.result.steps, len(script(nodes)))
			for _, s := range c.result.steps {
				require.Greater(t, len(s.facts), 30*nodes, "%s: %s", c.name(), s.name)
			}
			// Each template was rolled out: a creation for each node is the least.
			require.GreaterOrEqual(t, c.result.calls["create"], 4*nodes, c.name())
		}
	})
	t.Run("handover", func(t *testing.T) {
		t.Parallel()
		p := play{mode: handover, nodes: nodes, programs: programs, progress: t.Output()}
		disturbed, err := p.handOver(t.Context())
		require.NoError(t, err)
		require.Empty(t, disturbed)
	})
}
