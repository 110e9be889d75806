package eviction

import "time"

// ObserveDate takes the time of day of the API server: date, from its answer to
// a request that was sent at a time. Sent and now must have the monotonic
// readings that time.Now gives.
//
// When the time of day of now agrees with it, that time of day is believed from
// then on: the deadlines that follow from times of API objects move by as much
// as it has parted from monotonic time since the last agreement, if that is
// more than a second. They agree within two seconds, and the time that the
// answer has taken. All else follows monotonic time: first sights, the waits
// after attempts, budgets and requests.
//
// So a machine that was suspended evicts on time as soon as the API server has
// answered, and one whose clock is set wrong evicts nothing early. From the
// first agreement on, only what the API server has confirmed is believed;
// without one, the time of day at which each object is observed.
//
// A call is O(1), unless the time of day has parted. Then all pods on tainted
// nodes are decided again in slices by the next calls of Start, which hands out
// nothing until they are.
func (t *Tracker) ObserveDate(now, sent, date time.Time) {
	if !t.clock.confirm(now, sent, date) {
		return
	}
	now = t.advance(now)
	t.nodeWatch.resume(now)
	t.podWatch.resume(now)
	t.unvisited = len(t.ordered)
	for _, a := range t.running {
		if a.entry != nil {
			t.decide(now, a.entry)
		}
	}
}

// revisit decides again about some of the pods whose deadlines are of a clock
// that counts no more. It reports whether none is left.
func (t *Tracker) revisit(now time.Time) bool {
	for left := slice; left > 0 && t.unvisited > 0; left-- {
		t.unvisited--
		n := t.ordered[t.unvisited]
		if len(n.taints) == 0 {
			continue
		}
		left -= len(n.pods)
		t.date(n)
		for _, e := range n.pods {
			t.decide(now, e)
		}
	}
	return t.unvisited == 0
}

// slice is how many nodes and pods one Start may visit, but for the last node's
// pods.
const slice = 2000

// enlist puts a new node into ordered. What it gets is decided by the clock that
// counts.
func (t *Tracker) enlist(n *node) {
	n.shift, n.slot = t.clock.shift, len(t.ordered)
	t.ordered = append(t.ordered, n)
}

// delist takes a node out of ordered. The last node takes its place, where it may
// be visited again.
func (t *Tracker) delist(n *node) {
	last := len(t.ordered) - 1
	moved := t.ordered[last]
	t.ordered[n.slot], moved.slot = moved, n.slot
	t.ordered[last] = nil
	t.ordered = t.ordered[:last]
	t.unvisited = min(t.unvisited, last)
}
