package show

import (
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
)

// Log tells what came of work: failures always, the rest at level 2.
func Log(logger klog.Logger, work eviction.Work, report eviction.Report) {
	logger = logger.WithValues("pod", klog.KRef(work.Pod.Namespace, work.Pod.Name), "podUID", work.Pod.UID, "node", work.Node)
	why := Why(work.Verdict)
	switch report.Outcome {
	case eviction.Failed:
		logger.Error(report.Err, "Eviction failed, will try again", "cause", cause(report), "tries", work.Tries+1, "why", why)
	case eviction.Blocked:
		logger.V(2).Info("A PodDisruptionBudget does not allow the eviction now, will ask again", "answer", report.Err, "why", why)
	case eviction.NotDue:
		logger.Info("Pod need not leave after all: the API server has something newer than the cache had", "cause", cause(report))
	case eviction.AlreadyGone:
		logger.V(2).Info("Pod is gone already")
	case eviction.Unmarked:
		logger.V(2).Info("Took back that the pod is about to be evicted", "why", why)
	case eviction.Evicted:
		logger.V(2).Info("Evicted pod", "why", why, "due", work.Verdict.Due)
	}
}

// LogDryRun tells of a pod that would have been evicted now. That is what a dry run
// is for, so it does so at level 0.
func LogDryRun(logger klog.Logger, work eviction.Work) {
	logger.Info("Would evict pod", "pod", klog.KRef(work.Pod.Namespace, work.Pod.Name), "podUID", work.Pod.UID,
		"node", work.Node, "why", Why(work.Verdict), "due", work.Verdict.Due)
}
