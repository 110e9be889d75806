package seeds

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShrinkLeavesOnlyWhatIsNeeded(t *testing.T) {
	tried := 0
	fails := func(steps []int) bool {
		tried++
		return slices.Contains(steps, 3) && slices.Contains(steps, 7)
	}
	failing := []int{1, 2, 3, 4, 5, 6, 7, 8}
	require.Equal(t, []int{3, 7}, Shrink(failing, fails, 300))
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, failing)
	tried = 0
	require.Equal(t, []int{3, 4, 5, 6, 7, 8}, Shrink(failing, fails, 2))
	require.Equal(t, 2, tried)
}
