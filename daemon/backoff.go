package daemon

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// failures is how often something has failed, one time after the other.
type failures struct {
	times int
	last  time.Time
}

func (f *failures) add(now time.Time) {
	f.times++
	f.last = now
}

// What was refused is tried again after a quarter of a second, then half a second, and
// so on up to a minute. A refusal also pauses other nodes, but less, because the cause may
// be specific to some: a quarter of a second after each of the first eight, so that nine
// nodes are tried within two seconds, and two seconds after each further one. A quota that
// is exhausted, or a right that is missing, costs 30 calls a minute then, however many
// nodes there are.
// kube-controller-manager begins with 5 ms, for the whole set, and goes up to 17
// minutes: far too long once the quota has been raised.
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

// The waits of kube-controller-manager v1.37 between two failed pods of a node that are
// replaced. After twice the longest without any it begins anew.
const (
	firstBackoff   = time.Second
	longestBackoff = 15 * time.Minute
)

// replaceFrom returns from when on the next failed pod may be replaced.
func (f *failures) replaceFrom(now time.Time) time.Time {
	if f.times == 0 || now.Sub(f.last) > 2*longestBackoff {
		return time.Time{}
	}
	return f.last.Add(timedqueue.Backoff{Initial: firstBackoff, Max: longestBackoff}.Delay(f.times - 1))
}

// replaced counts a failed pod that was replaced.
func (f *failures) replaced(now time.Time) {
	switch {
	case now.Sub(f.last) > 2*longestBackoff:
		f.times = 0
	case f.times > 0 && f.last.Equal(now):
		return // several of a node at once are one
	}
	f.add(now)
}

// flight bounds the creations, or the deletions, that are under way. Creations start
// slowly: first one, and with each that succeeds one more, so that their number doubles as
// long as all goes well. Deletions do so only after a failure. When one fails, the next is
// alone again, after a while: a quota that is exhausted makes all fail, and whatever is
// wrong, it is not for thousands of calls to find out.
type flight struct {
	burst    int
	window   int // that may be under way
	underWay int
	number   int // of the latest that were handed out together
	failed   int // number of the latest that a failure was counted of
	refused  failures
}

// room reports whether another one may be handed out. Unseen are those that have succeeded
// and were not observed.
func (f *flight) room(now time.Time, unseen int) bool {
	return f.underWay < f.window && f.underWay+unseen < f.burst && !now.Before(f.refused.hold())
}

// rest begins slowly again the next time, once there is nothing left to create.
func (f *flight) rest() {
	if f.underWay == 0 {
		f.window = 1
	}
}

// succeeded widens the window. What was handed out together with a failure does not: it
// says nothing new.
func (f *flight) succeeded(number int) {
	if number <= f.failed {
		return
	}
	f.refused = failures{}
	f.window = min(f.window+1, f.burst)
}

// fails closes the window, and counts what was handed out together as one failure.
func (f *flight) fails(number int, now time.Time) {
	f.window = 1
	if number <= f.failed {
		return
	}
	f.failed = f.number
	f.refused.add(now)
}

func (f *flight) forgive() { f.refused, f.failed = failures{}, f.number }
