package kubelet

import (
	"fmt"
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

// runtimeState is what a kubelet knows of its runtime.
type runtimeState struct {
	node *kubelet
	loop loopState
	// networkDown tells that the last check has found no network.
	networkDown bool
	// lastGood is the last good check and stoppedAt when the loop has stopped,
	// when the loop does not run.
	lastGood, stoppedAt time.Time
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
func (s *runtimeState) checkPeriodAt(now time.Time) time.Duration {
	if s.node.nodeStatus.searching && now.Sub(s.node.started) < firstReports {
		return searchPeriod
	}
	return checkPeriod
}

// lastCheck returns when a kubelet has checked its runtime last. It checks when
// it starts and once a period from then on.
func (s *runtimeState) lastCheck(now time.Time) time.Time {
	return s.node.started.Add(now.Sub(s.node.started).Truncate(s.checkPeriodAt(now)))
}

// nextCheck returns the first check that is not before now.
func (s *runtimeState) nextCheck(now time.Time) time.Time {
	last := s.lastCheck(now)
	if last.Before(now) {
		last = last.Add(s.checkPeriodAt(now))
	}
	return last
}

// isReady reports whether the last check has found nothing that is wrong.
func (s *runtimeState) isReady() bool { return s.loop == loopRunning && !s.networkDown }

// showsReady reports whether the object of a node shows Ready.
func showsReady(node *corev1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// beginStopped stops a kubelet that starts without a runtime, because it has
// never had an answer.
func (s *runtimeState) beginStopped(now time.Time) {
	s.lastGood, s.node.pleg.lastRelist = time.Time{}, time.Time{}
	s.stop(now)
}

// check is the kubelet's check at its runtime, and a retry of its loop.
func (s *runtimeState) check(now time.Time) {
	if s.node.faults.RuntimeDown {
		if s.loop == loopFailing {
			s.stop(now)
		}
		return
	}
	hadNetwork := !s.networkDown
	s.networkDown = s.node.faults.NetworkDown
	s.lastGood = now
	s.node.nodeStatus.foundReady(now)
	if s.loop == loopStopped {
		if retry := nextRetry(s.stoppedAt, now); now.Before(retry) {
			s.node.schedule(dueCheck, retry)
			return
		}
		s.loop = loopRunning
		if s.node.compares.Before(now) {
			// What came meanwhile has waited for the loop, for up to 10 s. In a kubelet
			// it would wait for the next comparison as well.
			s.node.compares = s.node.fleet.spread(now, reconcilePeriod/10)
		}
		s.node.housekeeping.begin(now)
		return
	}
	if !hadNetwork && !s.networkDown {
		s.node.housekeeping.begin(now)
	}
}

// stop stops the loop of a kubelet. Pods that come wait for the round with
// which it goes on.
func (s *runtimeState) stop(now time.Time) {
	s.loop, s.stoppedAt, s.node.housekeeping.visited = loopStopped, now, 0
}

// problems returns what keeps a node from being ready, in the kubelet's order:
// the check of the runtime, the relist, the network.
func (s *runtimeState) problems(now time.Time) []error {
	var problems []error
	checked := s.loop == loopRunning || !s.lastGood.IsZero()
	switch {
	case !checked:
		problems = append(problems, errNotChecked)
	case s.loop != loopRunning && now.Sub(s.lastGood) >= checkThreshold:
		problems = append(problems, errRuntimeDown)
	}
	if s.node.faults.RuntimeDown {
		switch silence := now.Sub(s.node.pleg.lastRelist); {
		case s.node.pleg.lastRelist.IsZero():
			problems = append(problems, errNoRelist)
		case silence > relistThreshold:
			problems = append(problems, fmt.Errorf(
				"PLEG is not healthy: pleg was last seen active %v ago; threshold is %v", silence, relistThreshold))
		}
	}
	switch {
	case !checked:
		problems = append(problems, errNetworkUnknown)
	case s.networkDown:
		problems = append(problems, errNoNetwork)
	}
	return problems
}
