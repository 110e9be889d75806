package judge

import "time"

// pace is how often something has happened to a node lately: clients have
// written its taints or labels, or it has become Unknown. What does so again
// and again may be written about late, so that it costs other nodes nothing.
type pace struct {
	times int
	last  time.Duration
}

const (
	// calmTimes is how often it happens before anything may be late.
	calmTimes = 4
	// quietPeriod is how long after the last time it begins again. A controller
	// counts a minute from the answer to its write to its next decision, and a
	// decision may wait for a call to spare.
	quietPeriod = 2 * time.Minute
	// longestWait is how long after the last time a write may wait, and
	// longestProtectiveWait one that protects pods.
	longestWait           = 30 * time.Second
	longestProtectiveWait = 5 * time.Second
)

func (p *pace) count(now time.Duration) {
	if now-p.last > quietPeriod {
		p.times = 0
	}
	p.times, p.last = p.times+1, now
}

// asked returns from when on something may be expected that is asked for since
// a moment.
func (p *pace) asked(since, wait time.Duration) time.Duration {
	if p.times < calmTimes {
		return since
	}
	return max(since, p.last+wait)
}
