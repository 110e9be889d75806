package evictionreport

import (
	"fmt"
	"math/bits"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/eviction"
)

// ReasonFailed is the reason of the Event that says of a pod that its eviction
// keeps failing.
const ReasonFailed = "FailedEviction"

// RecordFailure records an Event about the pod if its eviction keeps failing, as
// with a webhook that denies it. The second failed attempt is told of, and again
// each time that the attempts have doubled. So a pod whose eviction fails for
// days has a dozen Events, and one that failed once has none.
func RecordFailure(recorder record.EventRecorder, task eviction.Task, result eviction.Result) {
	if message, tells := failure(task, result); tells {
		recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: task.Pod.Namespace, Name: task.Pod.Name, UID: task.Pod.UID,
		}, corev1.EventTypeWarning, ReasonFailed, message)
	}
}

// failure returns what the Event says, and whether there is one.
func failure(task eviction.Task, result eviction.Result) (message string, tells bool) {
	switch result.Outcome {
	case eviction.OutcomeBlocked, eviction.OutcomeNotDue, eviction.OutcomeGone, eviction.OutcomeEvicted,
		eviction.OutcomeDryRun:
		return "", false
	}
	attempts := task.Attempts + 1
	if attempts < 2 || bits.OnesCount(uint(attempts)) != 1 {
		return "", false
	}
	return fmt.Sprintf("Eviction from node %s has failed %d times and is tried again: %v",
		task.Node, attempts, result.Err), true
}
