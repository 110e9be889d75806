package virtualtime

import "time"

// agenda is what is planned. Nearly all of it is a heartbeat in ten seconds or
// a message in some milliseconds. So only the events of the next few
// milliseconds are in order. Those of the next seconds lie in the slots of a
// wheel, unsorted, until their slot comes. One heap of a hundred thousand
// events would miss the cache on each of its levels.
type agenda struct {
	// next are the events of the slot that has come, and earlier ones.
	next eventHeap
	slot int64
	// wheel has the events of the slots after that, by slot modulo slots: each a
	// list in pool. A slice for each slot would keep the length of its worst
	// moment, and a large cluster would pay for that.
	wheel   [slots]link
	onWheel int
	pool    []linked
	free    link // the first of pool that is not in use
	// far are those that were too far off for the wheel when they were planned.
	far eventHeap
}

// link is a place in the pool, counted from 1; 0 is none.
type link int32

// linked is an event in a list.
type linked struct {
	event event
	next  link
}

const (
	// slotBits says how long a slot is: 2^24 ns, 17 ms.
	slotBits = 24
	// slots make the wheel 17 s long. That is more than the default interval of
	// heartbeats with its jitter.
	slots = 1 << 10
)

func slotOf(at time.Duration) int64 { return int64(at) >> slotBits }

func (a *agenda) push(e event) {
	switch slot := slotOf(e.at); {
	case slot <= a.slot:
		a.next.push(e)
	case slot < a.slot+slots:
		a.add(&a.wheel[slot%slots], e)
		a.onWheel++
	default:
		a.far.push(e)
	}
}

// add puts an event into a list.
func (a *agenda) add(list *link, e event) {
	if a.free == 0 {
		a.pool = append(a.pool, linked{})
		a.free = link(len(a.pool))
	}
	place := a.free
	at := &a.pool[place-1]
	a.free = at.next
	*at = linked{e, *list}
	*list = place
}

// first returns the event that comes next, nil if there is none. It is valid
// until the next call of push or pop.
func (a *agenda) first() *event {
	for len(a.next) == 0 {
		switch {
		case a.onWheel > 0:
			a.slot++
		case len(a.far) > 0:
			a.slot = slotOf(a.far[0].at)
		default:
			return nil
		}
		a.open()
	}
	return &a.next[0]
}

// open takes the events of the slot that has come.
func (a *agenda) open() {
	list := &a.wheel[a.slot%slots]
	for *list != 0 {
		place := *list
		at := &a.pool[place-1]
		a.next.push(at.event)
		*list = at.next
		*at = linked{next: a.free} // it holds no closure longer than needed
		a.free = place
		a.onWheel--
	}
	for len(a.far) > 0 && slotOf(a.far[0].at) <= a.slot {
		a.next.push(a.far.pop())
	}
}

// pop removes the event that first has returned.
func (a *agenda) pop() event { return a.next.pop() }
