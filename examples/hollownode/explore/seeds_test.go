package explore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
)

// A seed that is printed is of use only if it gives the same history again.
func TestSeedsReplay(t *testing.T) {
	for seed := range uint64(8) {
		once, again := Generate(seed), Generate(seed)
		require.Equal(t, once, again)
		first, second := historyOf(t, seed), historyOf(t, seed)
		require.Equal(t, first, second, "seed %d", seed)
	}
}

func historyOf(t *testing.T, seed uint64) string {
	t.Helper()
	history, err := simulation.Run(Generate(seed))
	require.NoError(t, err)
	var text strings.Builder
	for _, change := range history.Changes {
		object, err := json.Marshal([]any{change.Version, change.At, change.After})
		require.NoError(t, err)
		text.Write(object)
	}
	for _, run := range history.Runs {
		fmt.Fprintln(&text, *run)
	}
	return text.String()
}
