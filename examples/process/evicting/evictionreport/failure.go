package evictionreport

import (
	"fmt"
	"math/bits"

	"github.com/kubelife/lifecycle/eviction"
)

// ReasonFailed is the reason of the Event that says of a pod that its eviction
// keeps failing.
const ReasonFailed = "FailedEviction"

// Failure returns what an Event about the pod says if its eviction keeps
// failing, as with a webhook that denies it. The second failed attempt is told
// of, and again each time that the attempts have doubled. So a pod whose
// eviction fails for days has a dozen Events, and one that failed once has none.
func Failure(task eviction.Task, result eviction.Result) (message string, tells bool) {
	switch result.Outcome {
	case eviction.OutcomeBlocked, eviction.OutcomeNotDue, eviction.OutcomeAlreadyGone, eviction.OutcomeConditionCleared,
		eviction.OutcomeEvicted, eviction.OutcomeDryRun:
		return "", false
	}
	attempts := task.Attempts + 1
	if task.ClearCondition || attempts < 2 || bits.OnesCount(uint(attempts)) != 1 {
		return "", false
	}
	return fmt.Sprintf("Eviction from node %s has failed %d times and is tried again: %v", task.Node, attempts, result.Err), true
}
