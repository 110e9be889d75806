package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachIsMeasured plays a small script with each subject. The figures are
// all there, and those that a machine does not change are right. It takes about
// half a minute.
func TestEachIsMeasured(t *testing.T) {
	programs, err := workshop{dir: t.TempDir(), progress: t.Output()}.build(t.Context(), subjects())
	require.NoError(t, err)
	for i, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			o := options{nodes: 20, pods: 60, rest: 2 * time.Second, churn: shortestChurn, subjects: []subject{s}}
			measured := o.compare(t.Context(), programs[i:i+1], t.Output())
			require.NoError(t, measured.problem())
			figures := measured.columns[0].figures
			for _, r := range o.rows() {
				if s.argsOf == nil || r.figure.isCalls() {
					require.Contains(t, figures, r.figure, r.title)
				}
			}
			require.GreaterOrEqual(t, figures[upCalls], 1.0, "each pod is reported ready")
			require.Less(t, figures[upCalls], 4.0)
			require.GreaterOrEqual(t, figures[endCalls], 1.0, "each pod is removed")
			require.Less(t, figures[endCalls], 6.0)
			if s.argsOf != nil {
				require.Len(t, figures, 3, "many processes have only calls in common with one")
				return
			}
			require.Positive(t, figures[churnPods])
			require.Greater(t, figures[peakMemory], 10.0)
			require.Greater(t, figures[goroutines], 10.0)
		})
	}
}
