package versus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

func TestAwaitAsksAgainAfterAnErrorButNotAfterTheEndOfTheSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		refuse := errors.New("refused")
		ask := func(answers ...error) func(context.Context) (bool, error) {
			asked = 0
			return func(context.Context) (bool, error) {
				asked++
				answer := answers[min(asked, len(answers))-1]
				return answer == nil, answer
			}
		}
		require.NoError(t, Await(t.Context(), "it", ask(refuse, refuse, nil)))
		require.Equal(t, 3, asked)
		require.ErrorIs(t, Await(t.Context(), "it", ask(refuse, ErrEnded, nil)), ErrEnded)
		require.Equal(t, 2, asked)
		begun := time.Now()
		require.ErrorIs(t, Await(t.Context(), "it", ask(refuse)), refuse)
		require.Equal(t, Patience, time.Since(begun))
	})
}
