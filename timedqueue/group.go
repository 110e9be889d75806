package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// A Group is queues with names under one roof, each with a rate of its own: one
// queue for each zone of a cluster. A key is in one of them at most.
//
// A queue comes into being when it is first named by Add, Move or SetLimit, with
// the group's Config. Start takes from whichever queue can hand something out
// first, so that one that is held back never delays another.
//
// Operations are O(log n) in the keys of a queue and in the number of queues,
// whatever the number of those that are idle. Like a [Queue], a Group is not
// safe for concurrent use.
type Group[G, K comparable, V any] struct {
	config   Config
	epoch    time.Time
	now      time.Time
	sequence uint64
	spare    spare[K, V]

	lanes map[G]*lane[G, K, V]
	// home is the lane in which a key waits or acts. A key that acts stays there
	// until its action ends; moving says where it goes then.
	home   map[K]*lane[G, K, V]
	moving map[K]*lane[G, K, V]
	keys   int // in the group
	peak   int // the most in home since it last gave its memory back
	// ready orders the lanes by when they can hand something out next; those that
	// cannot are not in it.
	ready heap[*lane[G, K, V]]
}

type lane[G, K comparable, V any] struct {
	name    G
	queue   *Queue[K, V]
	keys    int   // that are here to stay, or will come when their action ends
	index   int32 // in ready, or absent
	retired bool
}

const absent = -1

func (l *lane[G, K, V]) setIndex(i int32) { l.index = i }

// NewGroup returns a group without queues. Each one starts with config.
func NewGroup[G, K comparable, V any](config Config, now time.Time) (*Group[G, K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Group[G, K, V]{
		config: config,
		epoch:  now,
		now:    now,
		lanes:  make(map[G]*lane[G, K, V]),
		home:   make(map[K]*lane[G, K, V]),
		moving: make(map[K]*lane[G, K, V]),
	}, nil
}

// Add puts a key into a queue. When the key is in the group already, in this
// queue or another, waiting or acting, Add changes nothing and returns false.
func (g *Group[G, K, V]) Add(group G, key K, value V, due time.Time) bool {
	l, known := g.home[key]
	if known {
		if _, in := l.queue.member(key); in {
			return false
		}
	}
	to := g.lane(group)
	if !known {
		l = to
		g.home[key] = l
		g.peak = max(g.peak, len(g.home))
	}
	l.queue.Add(key, value, due)
	g.direct(key, l, to) // removed, it may still act in l; the new entry starts in to
	g.count(to, 1)
	g.settle(l)
	return true
}

// Move takes a key from its queue to another. It keeps its due time, its place
// by insertion and the failures counted. A key that is acting moves when its
// action ends, if it stays at all.
func (g *Group[G, K, V]) Move(key K, group G) bool {
	l, ok := g.home[key]
	if !ok {
		return false
	}
	e, ok := l.queue.member(key)
	if !ok {
		return false
	}
	from, to := g.target(key, l), g.lane(group)
	g.count(from, -1)
	g.count(to, 1)
	if e.acting() {
		g.direct(key, l, to)
		g.settle(from)
		return true
	}
	g.transfer(e, l, to)
	return true
}

// Refresh is [Queue.Refresh].
func (g *Group[G, K, V]) Refresh(key K, value V) bool {
	l, ok := g.home[key]
	return ok && l.queue.Refresh(key, value)
}

// Reschedule is [Queue.Reschedule].
func (g *Group[G, K, V]) Reschedule(key K, due time.Time) bool {
	l, ok := g.home[key]
	if !ok || !l.queue.Reschedule(key, due) {
		return false
	}
	g.settle(l)
	return true
}

// Remove is [Queue.Remove].
func (g *Group[G, K, V]) Remove(key K) bool {
	l, ok := g.home[key]
	if !ok || !l.queue.Remove(key) {
		return false
	}
	g.left(key, l)
	return true
}

// Get is [Queue.Get]; it also names the queue that the key is in.
func (g *Group[G, K, V]) Get(key K) (Item[K, V], G, bool) {
	var none G
	l, ok := g.home[key]
	if !ok {
		return Item[K, V]{}, none, false
	}
	item, ok := l.queue.Get(key)
	if !ok {
		return Item[K, V]{}, none, false
	}
	return item, g.target(key, l).name, true
}

// Len returns how many keys are in the group, waiting or acting.
func (g *Group[G, K, V]) Len() int { return g.keys }

// LenOf returns how many keys are in one queue, those included that will move
// there when their action ends.
func (g *Group[G, K, V]) LenOf(group G) int {
	l, ok := g.lanes[group]
	if !ok {
		return 0
	}
	return l.keys
}

// SetLimit is [Queue.SetLimit] for one queue.
func (g *Group[G, K, V]) SetLimit(now time.Time, group G, limit rate.Limit) {
	l := g.lane(group)
	l.queue.SetLimit(g.advance(now), limit)
	g.settle(l)
}

// Retire forgets a queue, its rate and its tokens: at once when it is empty,
// else when its last key leaves. Naming it in Add, Move or SetLimit before that
// keeps it.
func (g *Group[G, K, V]) Retire(group G) {
	l, ok := g.lanes[group]
	if !ok {
		return
	}
	l.retired = true
	g.settle(l)
}

// Start hands out the key that could start first among all queues, and of those
// that could start at the same time the one added first; see [Queue.Start].
func (g *Group[G, K, V]) Start(now time.Time) (Item[K, V], bool) {
	now = g.advance(now)
	for len(g.ready.places) > 0 {
		first := &g.ready.places[0]
		if time.Duration(first.due) > now.Sub(g.epoch) {
			break
		}
		l := first.element
		item, ok := l.queue.Start(now)
		g.settle(l)
		if ok {
			return item, true
		}
	}
	return Item[K, V]{}, false
}

// Finish is [Queue.Finish].
func (g *Group[G, K, V]) Finish(now time.Time, item Item[K, V], result Result) {
	l, ok := g.home[item.Key]
	if !ok {
		return
	}
	members := l.queue.Len()
	l.queue.Finish(g.advance(now), item, result)
	e, there := l.queue.entries[item.Key]
	switch {
	case l.queue.Len() < members:
		g.left(item.Key, l)
	case !there: // it had been removed during the action
		g.forget(item.Key, l)
	case !e.acting():
		g.transfer(e, l, g.target(item.Key, l))
	}
}

// Next is [Queue.Next] over all queues.
func (g *Group[G, K, V]) Next(now time.Time) (time.Time, bool) {
	g.advance(now)
	if len(g.ready.places) == 0 {
		return time.Time{}, false
	}
	return g.epoch.Add(time.Duration(g.ready.places[0].due)), true
}

// direct notes where a key that acts in l goes when its action ends.
func (g *Group[G, K, V]) direct(key K, l, to *lane[G, K, V]) {
	if to == l {
		delete(g.moving, key)
		return
	}
	g.moving[key] = to
}

// target returns the lane in which a key is, or will be when its action ends.
func (g *Group[G, K, V]) target(key K, l *lane[G, K, V]) *lane[G, K, V] {
	if to, moves := g.moving[key]; moves {
		return to
	}
	return l
}

// transfer brings a waiting entry to where it belongs.
func (g *Group[G, K, V]) transfer(e *entry[K, V], from, to *lane[G, K, V]) {
	if to != from {
		delete(g.moving, e.key)
		from.queue.detach(e)
		to.queue.attach(e)
		g.home[e.key] = to
		g.settle(to)
	}
	g.settle(from)
}

// left notes that a key that was in l is no longer in the group.
func (g *Group[G, K, V]) left(key K, l *lane[G, K, V]) {
	to := g.target(key, l)
	delete(g.moving, key)
	g.count(to, -1)
	g.settle(to)
	g.forget(key, l)
}

// forget drops a key that its lane has dropped: one that still acts it has not.
func (g *Group[G, K, V]) forget(key K, l *lane[G, K, V]) {
	g.settle(l)
	if _, acts := l.queue.entries[key]; acts {
		return
	}
	delete(g.home, key)
	if len(g.home) == 0 && g.peak > keptWhenEmpty {
		g.home = make(map[K]*lane[G, K, V])
		g.moving = make(map[K]*lane[G, K, V])
		g.spare = spare[K, V]{}
		g.peak = 0
	}
}

func (g *Group[G, K, V]) count(l *lane[G, K, V], keys int) {
	l.keys += keys
	g.keys += keys
}

func (g *Group[G, K, V]) lane(name G) *lane[G, K, V] {
	l, ok := g.lanes[name]
	if !ok {
		l = &lane[G, K, V]{
			name:  name,
			queue: newQueue(g.config, g.epoch, &g.sequence, &g.spare),
			index: absent,
		}
		g.lanes[name] = l
	}
	l.retired = false
	return l
}

// settle puts a lane where it belongs in ready after any change of its queue.
// Lanes that are ready at the same time are ordered by the insertion of their
// first keys.
func (g *Group[G, K, V]) settle(l *lane[G, K, V]) {
	at, ok := l.queue.next()
	switch {
	case ok && l.index == absent:
		g.ready.push(int64(at), l.queue.waiting.places[0].order, l)
	case ok:
		g.ready.move(int(l.index), int64(at), l.queue.waiting.places[0].order)
	case l.index != absent:
		g.ready.remove(int(l.index))
		l.index = absent
	}
	if l.retired && l.keys == 0 && len(l.queue.entries) == 0 {
		delete(g.lanes, l.name)
	}
}

// advance moves the group's now forward as [Queue] does, so that every lane sees
// the same one.
func (g *Group[G, K, V]) advance(now time.Time) time.Time {
	if last := g.epoch.Add(maxNow); now.After(last) {
		now = last
	}
	if now.After(g.now) {
		g.now = now
	}
	return g.now
}
