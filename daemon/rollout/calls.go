package rollout

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// traffic is the calls under way, and what bounds them. It is told what is
// handed out, how that ends, and each change of a pod, and says whether one more
// call may be made.
type traffic struct {
	halted               bool // no pod is deleted
	creations, deletions calls
	created              int // pods that we created and neither the watch nor a read has shown
	unresolved           int // pods whose deletion is not resolved
}

func newTraffic(burst int) traffic {
	return traffic{
		creations: calls{burst: burst, window: 1, epoch: 1},
		deletions: calls{burst: burst, window: burst, epoch: 1},
	}
}

// count counts a pod in its phases.
func (t *traffic) count(s *podState, by int) {
	if s.seen == sightingCreated {
		t.created += by
	}
	if s.deletion.unresolved() {
		t.unresolved += by
	}
	if s.deletion.isUnderWay() {
		t.deletions.underWay += by
	}
}

func (t *traffic) mayCreate(now time.Time) bool { return t.creations.room(now, t.created) }

// mayDelete reports whether one more deletion may be handed out. One that is sent
// again is among the unresolved ones already.
func (t *traffic) mayDelete(now time.Time, again bool) bool {
	unseen := t.unresolved - t.deletions.underWay
	if again {
		unseen--
	}
	return !t.halted && t.deletions.room(now, unseen)
}

// next returns when a hold ends, or zero.
func (t *traffic) next(now time.Time) (next time.Time) {
	for _, calls := range []*calls{&t.creations, &t.deletions} {
		if hold := calls.refused.hold(); now.Before(hold) {
			next = earlier(next, hold)
		}
	}
	return next
}

// calls bounds the creations, or the deletions, that are under way. Creations
// start slowly: first one, and one more with each that succeeds, so that their
// number doubles while none fails. Deletions do so only after a failure. After
// a failure and a hold, one call is made alone again. If a quota is exhausted
// all calls fail, and one at a time is enough to find that.
type calls struct {
	burst    int
	window   int // how many may be under way
	underWay int
	refused  failures
	// epoch rises with each failure that counts. The result of a call from an
	// earlier epoch is ignored.
	epoch int32
}

// room reports whether one more may be handed out. Unseen is how many have
// succeeded and were not observed yet.
func (c *calls) room(now time.Time, unseen int) bool {
	return c.underWay < c.window && c.underWay+unseen < c.burst && !now.Before(c.refused.hold())
}

// resetWindow makes creations start slowly the next time, once none is left.
func (c *calls) resetWindow() {
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

// failed closes the window. The failures of one epoch count once.
func (c *calls) failed(epoch int32, now time.Time) {
	c.window = 1
	if epoch != c.epoch {
		return
	}
	c.epoch++
	c.refused.add(now)
}

func (c *calls) reset() {
	c.refused = failures{}
	c.epoch++
}

// failures counts how often something has failed in a row.
type failures struct {
	times int
	last  time.Time
}

func (f *failures) add(now time.Time) {
	f.times++
	f.last = now
}

// A refused call is retried after a quarter of a second, then half a second,
// and so on up to a minute. A refusal also pauses other nodes, for less
// time, because the cause may be specific to one node. The pause is a quarter
// of a second after each of the first eight refusals, and two seconds after
// each further one. So nine nodes are tried within two seconds. An exhausted
// quota or a missing right costs 30 calls a minute, however many nodes there
// are. kube-controller-manager begins with 5 ms for the whole set and goes up
// to 17 minutes. That is far too long once the quota has been raised.
const (
	firstRetry   = 250 * time.Millisecond
	longestRetry = time.Minute
	shortHolds   = 8
	shortHold    = 250 * time.Millisecond
	longHold     = 2 * time.Second
)

// retry returns when the refused call may be retried.
func (f *failures) retry() time.Time {
	if f.times == 0 {
		return time.Time{}
	}
	return f.last.Add(timedqueue.Backoff{Initial: firstRetry, Max: longestRetry}.Delay(f.times - 1))
}

// hold returns when another call of its kind may be made.
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
