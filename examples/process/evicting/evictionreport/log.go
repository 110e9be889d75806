package evictionreport

import (
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
)

// Log tells the result of a task: failures always, and so what a dry run would
// evict; the rest at level 2.
func Log(logger klog.Logger, task eviction.Task, result eviction.Result) {
	logger = logger.WithValues("pod", klog.KRef(task.Pod.Namespace, task.Pod.Name), "podUID", task.Pod.UID, "node",
		task.Node)
	why := Why(task.Decision)
	switch result.Outcome {
	case eviction.OutcomeBlocked:
		logger.V(2).Info("A PodDisruptionBudget does not allow the eviction now, will ask again", "answer", result.Err, "why",
			why)
	case eviction.OutcomeNotDue:
		logger.Info("Pod need not leave after all: the API server has something newer than the cache had", "cause",
			cause(result))
	case eviction.OutcomeGone:
		logger.V(2).Info("Pod is gone already")
	case eviction.OutcomeEvicted:
		logger.V(2).Info("Evicted pod", "why", why, "due", task.Decision.Due)
	case eviction.OutcomeDryRun:
		logger.Info("Would evict pod", "why", why, "due", task.Decision.Due)
	default: // OutcomeFailed, and what counts as it
		logger.Error(result.Err, "Eviction failed, will try again", "cause", cause(result), "attempts", task.Attempts+1,
			"why", why)
	}
}
