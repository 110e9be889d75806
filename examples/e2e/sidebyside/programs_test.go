package sidebyside

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type flavor string

func (f flavor) FlagName() string { return string(f) }

func TestSelectKeepsTheOrderAndNamesWhatIsUnknown(t *testing.T) {
	all := []flavor{"sweet", "sour", "salty"}
	some, err := Select(all, "salty,sweet")
	require.NoError(t, err)
	require.Equal(t, []flavor{"sweet", "salty"}, some)
	require.Equal(t, "sweet, sour, salty", Names(all), "all stays as it was")

	some, err = Select(all, "")
	require.NoError(t, err)
	require.Equal(t, all, some)

	_, err = Select(all, "sweet,hot")
	require.EqualError(t, err, `there is no "hot", only sweet, sour, salty`)
}
