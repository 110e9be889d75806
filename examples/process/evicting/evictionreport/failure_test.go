package evictionreport

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
)

func TestAnEvictionThatKeepsFailingIsToldNowAndThen(t *testing.T) {
	denied := errors.New("admission webhook \"guard\" denied the request")
	var told []int
	for attempts := range 100 {
		message, tells := failure(eviction.Task{Node: "n", Attempts: attempts}, eviction.Result{Err: denied})
		if tells {
			told = append(told, attempts+1)
		}
		if attempts == 3 {
			require.Equal(t, `Eviction from node n has failed 4 times and is tried again: `+
				`admission webhook "guard" denied the request`, message)
		}
	}
	require.Equal(t, []int{2, 4, 8, 16, 32, 64}, told)

	second := eviction.Task{Attempts: 1}
	for _, outcome := range []eviction.Outcome{
		eviction.OutcomeBlocked, eviction.OutcomeNotDue, eviction.OutcomeGone, eviction.OutcomeEvicted,
		eviction.OutcomeDryRun,
	} {
		_, tells := failure(second, eviction.Result{Outcome: outcome, Err: denied})
		require.False(t, tells, outcome)
	}
}
