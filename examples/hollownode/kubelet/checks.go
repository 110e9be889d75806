package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// searchPeriod is how often a kubelet checks its runtime while it searches for
	// its first Ready, and firstReports for how long. Source: pkg/kubelet,
	// fastStatusUpdateOnce and nodeReadyGracePeriod, v1.37.1.
	searchPeriod = 100 * time.Millisecond
	firstReports = 120 * time.Second
)

// checkPeriodAt returns how often a kubelet checks its runtime. It does so more
// often until its node is first Ready.
func (n *nodeRecord) checkPeriodAt(now time.Time) time.Duration {
	if n.searching && now.Sub(n.started) < firstReports {
		return searchPeriod
	}
	return checkPeriod
}

// lastCheck returns when a kubelet has checked its runtime last. It checks when
// it starts and once a period from then on.
func (n *nodeRecord) lastCheck(now time.Time) time.Time {
	return n.started.Add(now.Sub(n.started).Truncate(n.checkPeriodAt(now)))
}

// nextCheck returns the first check that is not before now.
func (n *nodeRecord) nextCheck(now time.Time) time.Time {
	last := n.lastCheck(now)
	if last.Before(now) {
		last = last.Add(n.checkPeriodAt(now))
	}
	return last
}

// isReady reports whether the last check has found nothing that is wrong.
func (n *nodeRecord) isReady() bool { return n.loop == loopRunning && !n.networkDown }

// showsReady reports whether the object of a node shows Ready.
func showsReady(node *corev1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
