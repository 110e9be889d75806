package kubelet

import (
	"time"

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
