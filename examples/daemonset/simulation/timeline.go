package simulation

import (
	"container/heap"
	"time"
)

// timeline is virtual time: what is planned happens in the order of its times,
// and of the plans for one time.
type timeline struct {
	start   time.Time
	now     time.Duration
	planned uint64
	agenda  agenda
}

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

// wall is the time of day.
func (t *timeline) wall() time.Time { return t.start.Add(t.now) }

// after plans something.
func (t *timeline) after(wait time.Duration, do func()) {
	t.planned++
	heap.Push(&t.agenda, event{t.now + max(wait, 0), t.planned, do})
}

// run lets everything happen that is planned up to a time. It reports whether
// it has ended within so many events.
func (t *timeline) run(until time.Duration, most int) bool {
	for ; most > 0; most-- {
		if len(t.agenda) == 0 || t.agenda[0].at > until {
			t.now = until
			return true
		}
		next, _ := heap.Pop(&t.agenda).(event)
		t.now = next.at
		next.do()
	}
	return false
}
