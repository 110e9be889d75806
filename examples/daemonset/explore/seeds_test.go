package explore

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
)

// A seed that is printed is of use only if it gives the same history again.
func TestSeedsReplay(t *testing.T) {
	for seed := range uint64(10) {
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
		object, err := json.Marshal(change.Object())
		require.NoError(t, err)
		text.Write(object)
		if change.By != nil {
			decision, err := json.Marshal(change.By.Decision)
			require.NoError(t, err)
			text.Write(decision)
		}
	}
	return text.String()
}

// What few worlds have is in enough of them: each action is drawn, and the
// controller creates, deletes, adopts, releases and takes over.
func TestWorldsHaveTheirPartOfEverything(t *testing.T) {
	const worlds = 60
	drawn, done := map[simulation.Action]int{}, map[string]int{}
	for seed := range uint64(worlds) {
		scenario := Generate(seed)
		for _, step := range scenario.Steps {
			drawn[step.Do]++
		}
		history, err := simulation.Run(scenario)
		require.NoError(t, err)
		done["takeover"] += len(history.Lives) - 1
		for _, call := range history.Calls {
			if call.Ended > 0 && !call.Answered {
				done["no answer"]++
			}
		}
		for _, change := range history.Changes {
			if change.By != nil {
				done[whatIs(change)]++
			}
		}
	}
	for _, action := range append(clientActions(), faultActions()...) {
		require.Positive(t, drawn[action], action)
	}
	for _, what := range []string{
		"takeover", "no answer", "pods created", "pods deleted", "pods adopted", "pods released",
		"controllerrevisions created", "controllerrevisions deleted", "controllerrevisions adopted",
		"daemonsets changed",
	} {
		require.Greater(t, done[what], 4, "%s: %v", what, done)
	}
}

func whatIs(change *invariant.Change) string {
	kind := change.Kind.String()
	switch {
	case change.Before == nil:
		return kind + " created"
	case change.After == nil, change.After.GetDeletionTimestamp() != nil:
		return kind + " deleted"
	case len(change.After.GetOwnerReferences()) > len(change.Before.GetOwnerReferences()):
		return kind + " adopted"
	case len(change.After.GetOwnerReferences()) < len(change.Before.GetOwnerReferences()):
		return kind + " released"
	}
	return kind + " changed"
}
