package sidebyside

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARecordThatIsNotCleanIsAtFaultWithAllThatItSays(t *testing.T) {
	faults := FaultsUnless(func(n *int) bool { return *n == 0 }, func(*int) string { return "all, **one wrong**" })
	require.NoError(t, faults(new(0), true))
	require.EqualError(t, faults(new(1), true), "all, one wrong")
	require.EqualError(t, faults(new(1), false), "all, one wrong")
}
