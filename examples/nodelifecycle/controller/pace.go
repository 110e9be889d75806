package controller

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// pace damps the writes to one node or to its pods. The first ones go at once.
// A node that goes on to need writes waits for longer and longer after each,
// behind the nodes that do not. What it wants at the end of the wait is
// written; a change that is taken back meanwhile costs no write. After a quiet
// period the node is as new.
//
// Only writes that succeed count. What fails has a backoff of its own.
type pace struct {
	writes uint8 // since the node was last quiet
	last   time.Time
}

const (
	// calmWrites are the writes that never wait. A node that falls, is released by
	// its zone, and recovers needs three.
	calmWrites = 4
	// quietPeriod is after which time without a write a node is calm again. It is
	// longer than the longest wait: waiting is no quiet.
	quietPeriod = time.Minute
	longestWait = 30 * time.Second
	// longestProtectiveWait bounds the wait of a write that protects pods.
	longestProtectiveWait = 5 * time.Second
)

// damping returns how long a node waits after a write, given how many waited
// before.
func damping(waited int) time.Duration {
	return timedqueue.Backoff{Initial: time.Second, Max: longestWait}.Delay(waited)
}

// count counts a write.
func (p *pace) count(now time.Time) {
	p.writes, p.last = min(p.writes, 254)+1, now
}

// damped reports whether the next write waits. Time alone does not end that, so
// that it can tell kinds of writes apart; see calmDown.
func (p *pace) damped() bool { return p.writes >= calmWrites }

// calmDown makes a node calm that was quiet for long enough.
func (p *pace) calmDown(now time.Time) {
	if now.Sub(p.last) >= quietPeriod {
		*p = pace{}
	}
}

// next returns when the node may be written to next, and the zero time if that
// needs no wait.
func (p *pace) next(protects bool) time.Time {
	if !p.damped() {
		return time.Time{}
	}
	wait := damping(int(p.writes) - calmWrites)
	if protects {
		wait = min(wait, longestProtectiveWait)
	}
	return p.last.Add(wait)
}
