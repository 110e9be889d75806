package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Times of the kubelet when its runtime does not answer. Source: pkg/kubelet,
// v1.37.1.
const (
	// checkPeriod is how often it asks for the state of the runtime.
	checkPeriod = 5 * time.Second
	// checkThreshold is for how long a good answer counts.
	checkThreshold = 30 * time.Second
	// firstRetry and longestRetry bound the waits of a loop that has stopped.
	firstRetry   = 100 * time.Millisecond
	longestRetry = 5 * time.Second
)

// loopState is the loop of a kubelet:
//
//	running ──runtime down──► failing ──30 s without a good check──► stopped
//	   ▲ ◄─────────up───────────┘                                     │
//	   └────────────up, a check has seen it, and a retry is due────────┘
//
// A kubelet that starts without a runtime is stopped.
type loopState uint8

const (
	loopRunning loopState = iota
	loopFailing
	loopStopped
)

// String returns the name of the state.
func (s loopState) String() string { return [...]string{"running", "failing", "stopped"}[s] }

// NodeStates returns how many of the observed nodes are in each state: silent;
// failing or stopped without a runtime; else running. Each state is there.
// O(nodes).
func (f *Fleet) NodeStates() map[string]int {
	const silent = "silent"
	states := map[string]int{
		silent: 0, loopRunning.String(): 0, loopFailing.String(): 0, loopStopped.String(): 0,
	}
	for _, n := range f.nodes {
		switch {
		case n.node == nil:
		case !n.hears():
			states[silent]++
		default:
			states[n.loop.String()]++
		}
	}
	return states
}

// nextRetry returns the first retry of a stopped loop that is not before now.
// Its waits double.
func nextRetry(stopped, now time.Time) time.Time {
	at := stopped
	waits := timedqueue.Backoff{Initial: firstRetry, Max: longestRetry}
	for n := 0; at.Before(now) && waits.Delay(n) < longestRetry; n++ {
		at = at.Add(waits.Delay(n))
	}
	if late := now.Sub(at); late > 0 {
		at = at.Add((late + longestRetry - 1).Truncate(longestRetry))
	}
	return at
}

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

// beginStopped stops a kubelet that starts without a runtime, because it has
// never had an answer.
func (f *Fleet) beginStopped(now time.Time, n *nodeRecord) {
	n.lastGood, n.lastRelist = time.Time{}, time.Time{}
	f.stopLoop(now, n)
}

func (f *Fleet) scheduleCheck(n *nodeRecord, due time.Time) { f.scheduleNode(n, dueCheck, due) }

// check is the kubelet's check at its runtime, and a retry of its loop.
func (f *Fleet) check(now time.Time, n *nodeRecord) {
	if n.faults.RuntimeDown {
		if n.loop == loopFailing {
			f.stopLoop(now, n)
		}
		return
	}
	hadNetwork := !n.networkDown
	n.networkDown = n.faults.NetworkDown
	n.lastGood = now
	f.foundReady(now, n)
	if n.loop == loopStopped {
		if retry := nextRetry(n.stoppedAt, now); now.Before(retry) {
			f.scheduleCheck(n, retry)
			return
		}
		n.loop = loopRunning
		if n.compares.Before(now) {
			// What came meanwhile has waited for the loop, for up to 10 s. In a kubelet
			// it would wait for the next comparison as well.
			n.compares = f.spread(now, reconcilePeriod/10)
		}
		f.beginRound(now, n)
		return
	}
	if !hadNetwork && !n.networkDown {
		f.beginRound(now, n)
	}
}

// foundReady reports at once that a node is Ready for the first time. Later its
// sender does.
func (f *Fleet) foundReady(now time.Time, n *nodeRecord) {
	if n.networkDown || !n.searching {
		return
	}
	n.searching = false
	if now.Sub(n.started) < firstReports {
		f.scheduleNode(n, dueReport, now)
	}
}

// stopLoop stops the loop of a kubelet. Pods that come wait for the round with
// which it goes on.
func (f *Fleet) stopLoop(now time.Time, n *nodeRecord) {
	n.loop, n.stoppedAt, n.visited = loopStopped, now, 0
}
