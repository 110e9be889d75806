package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// longestStatusWait is how long counts that go on changing wait at most. A
// rollout that lasts for hours still shows its progress twice a minute.
const longestStatusWait = 30 * time.Second

// burstOfStatuses is how many statuses that last are written at once.
const burstOfStatuses = 5

// Statuses in the middle of a change have a budget that all sets share, and those
// that last have none. Fifty sets that are created at once would otherwise write
// three times as many as kube-controller-manager does.
const (
	byProgress                  = "progress" // the budget, whose shares are these two
	shareChanging, shareLasting = "changing", "lasting"
	progressPerSecond           = 1
	progressAtOnce              = 5
)

func progressBudget() timedqueue.Budget[types.UID, *record] {
	return timedqueue.Budget[types.UID, *record]{
		Name: byProgress, Limit: progressPerSecond, Burst: progressAtOnce,
		ShareOf: func(_ types.UID, r *record) string {
			if r.pace.lasts {
				return shareLasting
			}
			return shareChanging
		},
	}
}

// pace is when the next status of a set is due. A status that lasts is due at
// once, a few times, and then once in each interval. Others are due an interval
// after the last one. While counts go on changing, that wait doubles with each
// status. It begins again with a status that lasts, with another spec, and when
// the counts have rested for the longest wait. With 20 requests a second, the
// statuses of fifty sets would otherwise need more requests than their pods.
type pace struct {
	interval  time.Duration
	changed   time.Time // when the counts became others than those that are shown
	written   time.Time // the last status
	used      time.Time // until when the statuses that last have used their intervals
	doublings int       // of the interval
	lasts     bool      // the status that is to be written; a share follows from it
}

// newPace returns a pace with which the first status is due now.
func newPace(interval time.Duration, now time.Time) pace {
	return pace{interval: interval, written: now.Add(-interval), used: now}
}

// due returns when counts are due that are to replace those that are shown.
func (p *pace) due(shown, counts rollout.Status) time.Time {
	p.lasts = lasts(shown, counts)
	switch {
	case p.lasts:
		return p.used.Add(-(burstOfStatuses - 1) * p.interval)
	case goesOn(shown, counts):
		return p.written.Add(p.wait())
	}
	return p.written.Add(p.interval)
}

// begin counts a status that is about to be written.
func (p *pace) begin(now time.Time, shown, counts rollout.Status) {
	if lasts(shown, counts) {
		if p.used.Before(now) {
			p.used = now
		}
		p.used = p.used.Add(p.interval)
	}
	if rested := p.changed.Sub(p.written) >= p.longest(); rested || !goesOn(shown, counts) {
		p.doublings = 0
		return
	}
	p.doublings++
}

// wait returns how long counts that go on changing wait after the last status.
func (p *pace) wait() time.Duration {
	return timedqueue.Backoff{Initial: p.interval, Max: p.longest()}.Delay(p.doublings)
}

func (p *pace) longest() time.Duration { return max(p.interval, longestStatusWait) }

// lasts reports whether counts are not those of the middle of a change: the
// rollout is complete, or no pod is left where none should be. Clients wait for
// that.
func lasts(shown, counts rollout.Status) bool {
	return isComplete(counts) || counts.Misscheduled == 0 && shown.Misscheduled > 0
}

// goesOn reports whether counts are those in the middle of a change whose
// beginning was shown.
func goesOn(shown, counts rollout.Status) bool {
	return !isComplete(counts) && shown.Observed == counts.Observed
}

// isComplete reports whether counts are what kubectl rollout status waits for.
func isComplete(s rollout.Status) bool {
	return s.Current == s.Desired && s.Updated == s.Desired && s.Available == s.Desired
}
