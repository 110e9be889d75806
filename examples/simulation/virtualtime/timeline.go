package virtualtime

import "time"

// Timeline is virtual time. What is planned happens in the order of its times,
// and of the plans for one time. The zero value is at its start, which is the
// zero time of day.
type Timeline struct {
	start   time.Time
	elapsed time.Duration
	planned uint64
	agenda  agenda
	soon    FIFO[func()] // what is planned for now
}

// NewTimeline returns a timeline without plans, at its start.
func NewTimeline(start time.Time) *Timeline { return &Timeline{start: start} }

// Elapsed returns how long it is since the start.
func (t *Timeline) Elapsed() time.Duration { return t.elapsed }

// Now returns the time of day.
func (t *Timeline) Now() time.Time { return t.start.Add(t.elapsed) }

// At plans something for a time since the start. What is planned for the past
// happens now.
func (t *Timeline) At(at time.Duration, do func()) {
	if at <= t.elapsed {
		t.soon.Push(do)
		return
	}
	t.planned++
	t.agenda.push(event{at, t.planned, do})
}

// After plans something for so much later.
func (t *Timeline) After(wait time.Duration, do func()) { t.At(t.elapsed+wait, do) }

// Step lets the next thing happen that is planned for until or before, and
// reports whether there was one. If not, it is until.
func (t *Timeline) Step(until time.Duration) bool {
	// What is planned for now was planned after all else of this time: that was
	// planned when it was later.
	first := t.agenda.first()
	if t.soon.Len() > 0 && t.elapsed <= until && (first == nil || first.at > t.elapsed) {
		t.soon.Pop()()
		return true
	}
	if first == nil || first.at > until {
		t.elapsed = max(t.elapsed, until)
		return false
	}
	next := t.agenda.pop()
	t.elapsed = next.at
	next.do()
	return true
}

// Advance lets everything happen that is planned up to a time since the start.
func (t *Timeline) Advance(until time.Duration) {
	for t.Step(until) {
	}
}

// Run lets everything happen that is planned up to a time since the start. It
// reports whether it has ended within so many events.
func (t *Timeline) Run(until time.Duration, most int) bool {
	for ; most > 0; most-- {
		if !t.Step(until) {
			return true
		}
	}
	return false
}
