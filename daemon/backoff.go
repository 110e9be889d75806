package daemon

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// failures counts how often something has failed in a row.
type failures struct {
	times int
	last  time.Time
}

func (f *failures) add(now time.Time) {
	f.times++
	f.last = now
}

// What was refused is tried again after a quarter of a second, then half a
// second, and so on up to a minute. A refusal also pauses other nodes, but
// less, because the cause may be specific to one. The pause is a quarter of a
// second after each of the first eight refusals, so that nine nodes are tried
// within two seconds, and two seconds after each further one. An exhausted
// quota or a missing right then costs 30 calls a minute, however many nodes
// there are. kube-controller-manager begins with 5 ms for the whole set and
// goes up to 17 minutes, which is far too long once the quota has been raised.
const (
	firstRetry   = 250 * time.Millisecond
	longestRetry = time.Minute
	shortHolds   = 8
	shortHold    = 250 * time.Millisecond
	longHold     = 2 * time.Second
)

// retry returns when what was refused may be tried again.
func (f *failures) retry() time.Time {
	if f.times == 0 {
		return time.Time{}
	}
	return f.last.Add(timedqueue.Backoff{Initial: firstRetry, Max: longestRetry}.Delay(f.times - 1))
}

// hold returns when something else of its kind may be tried.
func (f *failures) hold() time.Time {
	switch {
	case f.times == 0:
		return time.Time{}
	case f.times <= shortHolds:
		return f.last.Add(shortHold)
	}
	return f.last.Add(longHold)
}

// The waits of kube-controller-manager v1.37 between two replacements of failed
// pods on a node. After twice the longest without any it starts over.
const (
	firstBackoff   = time.Second
	longestBackoff = 15 * time.Minute
)

// replaceFrom returns from when on the next failed pod may be replaced.
func (f *failures) replaceFrom(now time.Time) time.Time {
	if f.times == 0 || now.Sub(f.last) > 2*longestBackoff {
		return time.Time{}
	}
	backoff := timedqueue.Backoff{Initial: firstBackoff, Max: longestBackoff}
	return f.last.Add(backoff.Delay(f.times - 1))
}

// replaced counts a failed pod that was replaced.
func (f *failures) replaced(now time.Time) {
	if now.Sub(f.last) > 2*longestBackoff {
		f.times = 0
	}
	f.add(now)
}

// calls bounds the creations, or the deletions, that are under way. Creations
// start slowly: first one, and with each that succeeds one more, so that their
// number doubles while all goes well. Deletions do so only after a failure.
// After a failure the next one is alone again, after a hold: an exhausted quota
// makes all fail, and one call at a time is enough to find that out.
type calls struct {
	burst    int
	window   int // how many may be under way
	underWay int
	refused  failures
	// epoch ends with each failure that counts. A call that was handed out in an
	// earlier one says nothing new.
	epoch int32
}

// room reports whether one more may be handed out. Unseen are those that have
// succeeded and were not observed.
func (c *calls) room(now time.Time, unseen int) bool {
	return c.underWay < c.window && c.underWay+unseen < c.burst && !now.Before(c.refused.hold())
}

// rest makes creations start slowly the next time, once none is left.
func (c *calls) rest() {
	if c.underWay == 0 {
		c.window = 1
	}
}

// succeeded widens the window.
func (c *calls) succeeded(epoch int32) {
	if epoch != c.epoch {
		return
	}
	c.refused = failures{}
	c.window = min(c.window+1, c.burst)
}

// fails closes the window. The failures of one epoch count once.
func (c *calls) fails(epoch int32, now time.Time) {
	c.window = 1
	if epoch != c.epoch {
		return
	}
	c.epoch++
	c.refused.add(now)
}

func (c *calls) forgive() {
	c.refused = failures{}
	c.epoch++
}
