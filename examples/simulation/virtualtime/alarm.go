package virtualtime

import "time"

// breather is how long a process waits that is promised work for now and then
// gets none, as in timedqueue.Dispatcher. Otherwise time would stand still.
const breather = time.Millisecond

// An Alarm wakes a process when it has something to do next. The zero value
// waits for nothing.
type Alarm struct {
	at time.Duration // the earliest that is planned, zero: none
}

// Set plans wake for a time of day, unless an alarm comes first. It comes a
// millisecond later if that time is over.
func (a *Alarm) Set(t *Timeline, next time.Time, wake func()) {
	wait := next.Sub(t.Now())
	if wait <= 0 {
		wait = breather
	}
	at := t.Elapsed() + wait
	if a.at != 0 && a.at <= at {
		return
	}
	a.at = at
	t.After(wait, func() {
		if a.at == at {
			a.at = 0
		}
		wake()
	})
}
