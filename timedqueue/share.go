package timedqueue

import (
	"maps"
	"time"
)

// A budget is a [Budget] with its shares. An overall budget has a single share,
// and no item waits in it.
type budget[K comparable, V any] struct {
	Budget[K, V]
	shares  map[string]*share[K, V]
	peak    int // the most shares since the map was last made
	delayed int // items in the lanes of its shares
}

func (b *budget[K, V]) remove(s *share[K, V]) {
	delete(b.shares, s.name)
	if b.peak > keptWhenEmpty && len(b.shares) < b.peak/8 {
		shares := make(map[string]*share[K, V], len(b.shares))
		maps.Copy(shares, b.shares)
		b.shares, b.peak = shares, len(shares)
	}
}

// A share is the part of a budget for the items of one name. The due items that
// wait for it are in its lanes, one for each holder.
type share[K comparable, V any] struct {
	budget *budget[K, V]
	name   string
	bucket bucket
	lane   *lane[K, V]            // without HolderOf, its only one, or nil
	lanes  map[string]*lane[K, V] // by holder
	// Lanes with items. A lane is in holding while an action of its holder is under
	// way: its items need no slot.
	holding, others heap[*lane[K, V]]
	items           int // in the lanes
	acting          int // actions under way that took a token here
	slots           int // holders of those; without HolderOf, the actions
	heap            *heap[*share[K, V]]
	index           int32
	ownLimit        bool // its limit was set; it stays until it is removed
	removed         bool // no more items are expected; see RemoveShare
}

// A lane is the items of one holder that wait for a share, in order.
type lane[K comparable, V any] struct {
	id     uint32
	share  *share[K, V]
	holder string
	items  heap[*Entry[K, V]]
	acting int // actions of the holder that took a token of the share
	heap   *heap[*lane[K, V]]
	index  int32
}

func (s *share[K, V]) setIndex(i int32) { s.index = i }
func (l *lane[K, V]) setIndex(i int32)  { l.index = i }

// laneOf returns the lane of a holder, or nil.
func (s *share[K, V]) laneOf(holder string) *lane[K, V] {
	if s.budget.HolderOf == nil {
		return s.lane
	}
	return s.lanes[holder]
}

func (s *share[K, V]) addLane(l *lane[K, V]) {
	switch {
	case s.budget.HolderOf == nil:
		s.lane = l
		return
	case s.lanes == nil:
		s.lanes = make(map[string]*lane[K, V])
	}
	s.lanes[l.holder] = l
}

func (s *share[K, V]) removeLane(l *lane[K, V]) {
	if s.lane = nil; s.budget.HolderOf != nil {
		delete(s.lanes, l.holder)
	}
}

// hasSlot reports whether a holder may act, as far as MaxActing says.
func (s *share[K, V]) hasSlot(holder string) bool {
	if s.slotsFree() {
		return true
	}
	l := s.lanes[holder]
	return l != nil && l.acting > 0
}

func (s *share[K, V]) slotsFree() bool {
	return s.budget.MaxActing == 0 || s.slots < s.budget.MaxActing
}

// first returns the lane whose first item is the first that has a slot, or nil.
func (s *share[K, V]) first() *lane[K, V] {
	var first *lane[K, V]
	if p := s.holding.first(); p != nil {
		first = p.element
	}
	if p := s.others.first(); p != nil && s.slotsFree() &&
		(first == nil || s.others.precedes(p, s.holding.first())) {
		first = p.element
	}
	return first
}

// admits returns how long after now the share has a token for a holder. It
// returns false when only a new limit or the end of an action lets it have one.
func (s *share[K, V]) admits(now time.Duration, holder string) (time.Duration, bool) {
	if !s.hasSlot(holder) {
		return 0, false
	}
	return s.bucket.until(now)
}

// forgettable reports whether a share is as a new one would be, except for its
// tokens.
func (s *share[K, V]) forgettable() bool {
	return s.budget.ShareOf != nil && s.items == 0 && s.acting == 0 && !s.ownLimit
}

// fileLane puts a lane into the heap where it belongs: none if it is empty.
func (s *share[K, V]) fileLane(l *lane[K, V]) {
	var in *heap[*lane[K, V]]
	first := l.items.first()
	switch {
	case first == nil:
	case l.acting > 0:
		in = &s.holding
	default:
		in = &s.others
	}
	switch {
	case in != nil && l.heap == in:
		in.move(int(l.index), first.due)
		return
	case l.heap != nil:
		l.heap.remove(int(l.index))
	}
	if l.heap = in; in != nil {
		in.push(first.due, l)
	}
}
