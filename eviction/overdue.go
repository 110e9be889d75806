package eviction

import "time"

// overdue are the pods for which nothing is done at their deadlines, by these:
// those that are held, and those that wait after an attempt.
type overdue struct {
	pods *aside
	// again are those that are to be decided again, because a hold has ended. It is
	// another queue, so that what is held again is not decided twice.
	again *aside
	more  bool // another round follows: a hold has ended since
}

func (o *overdue) add(e *entry, due time.Time) {
	o.again.Remove(e.Key())
	o.pods.Set(e.Key(), e, due)
}

func (o *overdue) remove(e *entry) {
	if o.pods.Len() > 0 && o.pods.Remove(e.Key()) {
		return
	}
	if o.again.Len() > 0 {
		o.again.Remove(e.Key())
	}
}

// reopen says that all of them are to be decided again.
func (o *overdue) reopen() { o.more = o.pods.Len() > 0 }

// take takes a pod that is to be decided again, the one first that should have
// left first. Another round begins once the former has ended. One that is not
// yet due is not held, and waits for no round.
func (o *overdue) take(now time.Time) (*entry, bool) {
	e, some := takeDue(o.again, now)
	if some || !o.more {
		return e, some
	}
	o.pods, o.again, o.more = o.again, o.pods, false
	return takeDue(o.again, now)
}
