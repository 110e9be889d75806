package eviction

import "time"

// ObserveDate takes the time of day of the API server: date, from its answer to
// a request that was sent at a time. Sent and now must have the monotonic
// readings that time.Now gives.
//
// When the time of day of now agrees with date, it is believed from then on.
// They agree within two seconds and the time that the answer has taken. Then
// the deadlines that follow from times of API objects move by as much as the
// time of day has parted from monotonic time. That counts from the start or
// from the last move, and a second or less moves nothing. All else follows
// monotonic time: first sights, the waits after attempts, budgets and requests.
//
// So a machine that was suspended evicts on time as soon as the API server has
// answered. One whose clock is set wrong evicts nothing early. Before the first
// agreement the time of day of the start counts.
//
// A call is O(1), unless the time of day has parted. Then the pods on tainted
// nodes are decided again as after [Tracker.SuspendTaints], and ObserveDate
// reports true: what [Tracker.StartOf] has returned has changed, too.
func (t *Tracker) ObserveDate(now, sent, date time.Time) (parted bool) {
	if !t.clock.confirm(now, sent, date) {
		return false
	}
	now = t.advance(now)
	t.nodeWatch.resume(now)
	t.podWatch.resume(now)
	t.outdate(now)
	return true
}
