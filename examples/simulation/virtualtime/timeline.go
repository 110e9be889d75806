package virtualtime

import (
	"container/heap"
	"time"
)

// Timeline is virtual time: what is planned happens in the order of its times,
// and of the plans for one time.
type Timeline struct {
	start   time.Time
	elapsed time.Duration
	planned uint64
	agenda  agenda
}

// NewTimeline returns a timeline without plans, at its start.
func NewTimeline(start time.Time) *Timeline { return &Timeline{start: start} }

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type agenda []event

// Len, Less, Swap, Push and Pop are for package heap.
func (a agenda) Len() int { return len(a) }

func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].order < a[j].order
}

func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

func (a *agenda) Push(x any) {
	if e, ok := x.(event); ok {
		*a = append(*a, e)
	}
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = event{}
	*a = (*a)[:last]
	return e
}

// Elapsed returns how long it is since the start.
func (t *Timeline) Elapsed() time.Duration { return t.elapsed }

// Now returns the time of day.
func (t *Timeline) Now() time.Time { return t.start.Add(t.elapsed) }

// After plans something. A wait below zero is none.
func (t *Timeline) After(wait time.Duration, do func()) {
	t.planned++
	heap.Push(&t.agenda, event{t.elapsed + max(wait, 0), t.planned, do})
}

// Run lets everything happen that is planned up to a time since the start. It
// reports whether it has ended within so many events.
func (t *Timeline) Run(until time.Duration, most int) bool {
	for ; most > 0; most-- {
		if len(t.agenda) == 0 || t.agenda[0].at > until {
			t.elapsed = until
			return true
		}
		next, _ := heap.Pop(&t.agenda).(event)
		t.elapsed = next.at
		next.do()
	}
	return false
}
