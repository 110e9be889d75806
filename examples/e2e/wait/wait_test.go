package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUntilAsksAgainAfterAnErrorButNotAfterTheEndOfTheSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		refuse := errors.New("refused")
		ask := func(answers ...error) func(context.Context) error {
			asked = 0
			return func(context.Context) error {
				asked++
				return answers[min(asked, len(answers))-1]
			}
		}
		require.NoError(t, Until(t.Context(), "it", ask(refuse, refuse, nil)))
		require.Equal(t, 3, asked)
		require.ErrorIs(t, Until(t.Context(), "it", ask(refuse, ErrEnded, nil)), ErrEnded)
		require.Equal(t, 2, asked)
		begun := time.Now()
		require.ErrorIs(t, Until(t.Context(), "it", ask(refuse)), refuse)
		require.Equal(t, Patience, time.Since(begun))
	})
}
