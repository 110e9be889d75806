package seeds

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheEnvironmentSaysHowLongTestsAre(t *testing.T) {
	t.Setenv("LIFECYCLE_TESTS", "")
	require.Equal(t, 3, Sized(3, 20))
	t.Setenv("LIFECYCLE_TESTS", "all")
	require.Equal(t, 20, Sized(3, 20))
	t.Setenv("LIFECYCLE_TESTS", "some")
	require.Panics(t, func() { Sized(3, 20) })
}
