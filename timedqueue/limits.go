package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// limits are the budgets of a queue and the due items that wait for them.
type limits[K comparable, V any] struct {
	clock   *clock
	started bool // Start was called
	before  func(a, b *Entry[K, V]) bool
	byFirst func(a, b *lane[K, V]) bool

	overall   []*budget[K, V]
	shared    []*budget[K, V]
	open      heap[*share[K, V]] // that admit an item, by that item
	closed    heap[*share[K, V]] // with items and no token, by when they have one
	idle      heap[*share[K, V]] // that can be forgotten, by when they are full
	lanes     []*lane[K, V]      // by id
	freeLanes []*lane[K, V]      // in lanes, too: those of no share
	unused    []*grant[K, V]
}

// A grant is the tokens that an item was started with.
type grant[K comparable, V any] struct {
	tokens []token[K, V]
}

type token[K comparable, V any] struct {
	share  *share[K, V]
	lane   *lane[K, V] // of the holder, nil without HolderOf
	counts bool        // it was taken from a limited bucket
}

func newLimits[K comparable, V any](
	budgets []Budget[K, V], clock *clock, before func(a, b *Entry[K, V]) bool,
) *limits[K, V] {
	m := &limits[K, V]{clock: clock, before: before}
	m.byFirst = func(a, b *lane[K, V]) bool {
		return before(a.items.first().element, b.items.first().element)
	}
	m.open.before = func(a, b *share[K, V]) bool { return m.byFirst(a.first(), b.first()) }
	anyOrder := func(_, _ *share[K, V]) bool { return false }
	m.closed.before, m.idle.before = anyOrder, anyOrder
	for _, config := range budgets {
		b := &budget[K, V]{Budget: config, shares: make(map[string]*share[K, V])}
		if b.overall() {
			m.overall = append(m.overall, b)
		} else {
			m.shared = append(m.shared, b)
		}
		if b.ShareOf == nil {
			m.share(b, "")
		}
	}
	return m
}

// share returns the share of a name, and creates it if there is none. A share
// that begins while its budget is held has saved nothing.
func (m *limits[K, V]) share(b *budget[K, V], name string) *share[K, V] {
	if s, known := b.shares[name]; known {
		return s
	}
	s := &share[K, V]{budget: b, name: name, bucket: newBucket(b.Limit, b.Burst)}
	s.holding.before, s.others.before = m.byFirst, m.byFirst
	if b.Held && m.started {
		s.bucket.drain(m.clock.now)
	}
	b.shares[name] = s
	b.peak = max(b.peak, len(b.shares))
	m.file(s)
	return s
}

// shareWithoutTokens is share for one that must not allow a burst.
func (m *limits[K, V]) shareWithoutTokens(b *budget[K, V], name string) *share[K, V] {
	s, known := b.shares[name]
	if !known {
		s = m.share(b, name)
	}
	if !known || s.removed {
		s.bucket.drain(m.clock.now)
		s.removed = false
		m.file(s)
	}
	return s
}

// lane returns the lane of a holder, and creates it if there is none.
func (m *limits[K, V]) lane(s *share[K, V], holder string) *lane[K, V] {
	if l := s.laneOf(holder); l != nil {
		return l
	}
	l := m.freeLane()
	l.share, l.holder = s, holder
	s.addLane(l)
	return l
}

func (m *limits[K, V]) freeLane() *lane[K, V] {
	if n := len(m.freeLanes); n > 0 {
		l := m.freeLanes[n-1]
		m.freeLanes = m.freeLanes[:n-1]
		return l
	}
	l := &lane[K, V]{id: uint32(len(m.lanes))}
	l.items.before = m.before
	m.lanes = append(m.lanes, l)
	return l
}

// hashOfShares is a hash of the names of an entry's shares, which tells whether
// these have changed. To keep the names would take more than the entry. It is
// zero if there are none.
func (m *limits[K, V]) hashOfShares(e *Entry[K, V]) uint32 {
	if len(m.shared) == 0 {
		return 0
	}
	const offset, prime = 2166136261, 16777619 // FNV-1a
	hash := uint32(offset)
	for _, b := range m.shared {
		name := b.shareOf(e)
		for i := range len(name) {
			hash = (hash ^ uint32(name[i])) * prime
		}
		hash = (hash ^ '\n') * prime // ends the name
	}
	return max(hash, 1)
}

// moved says that a key that the queue knows belongs to other shares now. They
// begin empty if they are new, or were removed.
func (m *limits[K, V]) moved(e *Entry[K, V]) {
	for _, b := range m.shared {
		m.shareWithoutTokens(b, b.shareOf(e))
	}
}

// setLimit changes the limit of a share; see Queue.SetLimit.
func (m *limits[K, V]) setLimit(b *budget[K, V], name string, limit rate.Limit) {
	var s *share[K, V]
	if m.started && b.ShareOf != nil {
		s = m.shareWithoutTokens(b, name)
	} else {
		s = m.share(b, name)
	}
	s.ownLimit, s.removed = normalize(limit) != normalize(b.Limit), false
	s.bucket.setLimit(m.clock.now, limit)
	m.file(s)
}

// removeShare gives a share the limit of its budget and forgets it when it is
// empty and full.
func (m *limits[K, V]) removeShare(s *share[K, V]) {
	s.ownLimit, s.removed = false, true
	s.bucket.setLimit(m.clock.now, s.budget.Limit)
	m.file(s)
}

// laneOf returns the lane in which a due item must wait: of its share that
// admits it last. It returns nil if all admit it now.
func (m *limits[K, V]) laneOf(e *Entry[K, V]) *lane[K, V] {
	var scarcest *share[K, V]
	longest := time.Duration(0)
	for _, b := range m.shared {
		s := m.share(b, b.shareOf(e))
		wait, ok := s.admits(m.clock.now, b.holderOf(e))
		if !ok {
			return m.lane(s, b.holderOf(e))
		}
		if wait > longest {
			scarcest, longest = s, wait
		}
	}
	if scarcest == nil {
		return nil
	}
	return m.lane(scarcest, scarcest.budget.holderOf(e))
}

// enter makes a due item wait in a lane.
func (m *limits[K, V]) enter(e *Entry[K, V], l *lane[K, V]) {
	e.state, e.link = ready, l.id
	l.items.push(int64(e.due), e)
	l.share.items++
	l.share.budget.delayed++
	m.fileLane(l)
}

// leave takes an item out of its lane.
func (m *limits[K, V]) leave(e *Entry[K, V]) {
	l := m.lanes[e.link]
	l.items.remove(int(e.index))
	l.share.items--
	l.share.budget.delayed--
	if l.items.len() == 0 && cap(l.items.places) > keptWhenLaneEmpty {
		l.items.release() // most shares never have as many again
	}
	m.fileLane(l)
}

const (
	// keptWhenLaneEmpty is keptWhenEmpty for a lane.
	keptWhenLaneEmpty = 64
	// keptWhenLaneFree is that for a lane of no share.
	keptWhenLaneFree = 8
)

// first returns the first item that has waited and is admitted now by the share
// it waited for, or nil.
func (m *limits[K, V]) first() *Entry[K, V] {
	if p := m.open.first(); p != nil {
		return p.element.first().items.first().element
	}
	return nil
}

// earliest returns when the first of the items that wait here was due, or never.
func (m *limits[K, V]) earliest() time.Duration {
	due := never
	for _, l := range m.lanes {
		if first := l.items.first(); first != nil {
			due = min(due, first.element.due)
		}
	}
	return due
}

// all ranges over the items that wait here in no order, and reports whether it
// came to the end.
func (m *limits[K, V]) all(yield func(*Entry[K, V]) bool) bool {
	for _, l := range m.lanes {
		if !l.items.all(yield) {
			return false
		}
	}
	return true
}

// blocking returns a budget that delays an entry, as far as is known, or nil.
func (m *limits[K, V]) blocking(e *Entry[K, V]) *budget[K, V] {
	if e.state == ready {
		l := m.lanes[e.link]
		if wait, ok := l.share.admits(m.clock.now, l.holder); !ok || wait > 0 {
			return l.share.budget
		}
	}
	if e.state == ready || e.state == waiting && e.due <= m.clock.now {
		return m.shut()
	}
	return nil
}

// shut returns an overall budget that admits nothing now, or nil.
func (m *limits[K, V]) shut() *budget[K, V] {
	for _, b := range m.overall {
		if wait, ok := b.shares[""].admits(m.clock.now, ""); !ok || wait > 0 {
			return b
		}
	}
	return nil
}

// next returns when an item that waits can start, given when the first that
// does not wait here is due. It returns false when only a new limit, or the end
// of an action, lets one start.
func (m *limits[K, V]) next(at time.Duration) (time.Duration, bool) {
	if m.open.len() > 0 {
		at = min(at, m.clock.now)
	}
	if p := m.closed.first(); p != nil {
		at = min(at, time.Duration(p.due))
	}
	if at == never {
		return 0, false
	}
	for _, b := range m.overall {
		wait, ok := b.shares[""].admits(m.clock.now, "")
		if !ok {
			return 0, false
		}
		if wait > 0 {
			at = max(at, m.clock.now+wait)
		}
	}
	return at, true
}

// take takes the tokens that an item needs, all of which are at hand.
func (m *limits[K, V]) take(e *Entry[K, V]) *grant[K, V] {
	if len(m.overall)+len(m.shared) == 0 {
		return nil
	}
	g := m.newGrant()
	for _, b := range m.overall {
		g.tokens = append(g.tokens, m.takeToken(b.shares[""], nil))
	}
	for _, b := range m.shared {
		s := m.share(b, b.shareOf(e))
		if b.HolderOf == nil {
			g.tokens = append(g.tokens, m.takeToken(s, nil))
			continue
		}
		g.tokens = append(g.tokens, m.takeToken(s, m.lane(s, b.HolderOf(e.key, e.value))))
	}
	return g
}

// occupy takes the slots that an item needs, whether they are free or not, and
// no token.
func (m *limits[K, V]) occupy(e *Entry[K, V]) *grant[K, V] {
	g := m.newGrant()
	for _, b := range m.overall {
		if b.MaxActing > 0 {
			g.tokens = append(g.tokens, m.takeSlot(b.shares[""], nil))
		}
	}
	for _, b := range m.shared {
		if b.MaxActing == 0 {
			continue
		}
		s := m.share(b, b.shareOf(e))
		var holder *lane[K, V]
		if b.HolderOf != nil {
			holder = m.lane(s, b.HolderOf(e.key, e.value))
		}
		g.tokens = append(g.tokens, m.takeSlot(s, holder))
	}
	return g
}

func (m *limits[K, V]) takeToken(s *share[K, V], holder *lane[K, V]) token[K, V] {
	counts := s.bucket.take(m.clock.now)
	t := m.takeSlot(s, holder)
	t.counts = counts
	return t
}

func (m *limits[K, V]) takeSlot(s *share[K, V], holder *lane[K, V]) token[K, V] {
	t := token[K, V]{share: s, lane: holder}
	s.removed = false
	s.acting++
	if holder == nil {
		s.slots++
		m.file(s)
		return t
	}
	if holder.acting++; holder.acting == 1 {
		s.slots++
	}
	m.fileLane(holder)
	return t
}

// settle ends a grant: its tokens are spent, or put back. Its slots are free
// again.
func (m *limits[K, V]) settle(g *grant[K, V], returned bool) {
	if g == nil {
		return
	}
	for _, t := range g.tokens {
		if returned && t.counts {
			t.share.bucket.putBack(m.clock.now)
		}
		m.endToken(t)
	}
	clear(g.tokens)
	g.tokens = g.tokens[:0]
	m.unused = append(m.unused, g)
}

func (m *limits[K, V]) endToken(t token[K, V]) {
	t.share.acting--
	if t.lane == nil {
		t.share.slots--
		m.file(t.share)
		return
	}
	if t.lane.acting--; t.lane.acting == 0 {
		t.share.slots--
	}
	m.fileLane(t.lane)
}

func (m *limits[K, V]) newGrant() *grant[K, V] {
	n := len(m.unused)
	if n == 0 {
		return new(grant[K, V])
	}
	g := m.unused[n-1]
	m.unused = m.unused[:n-1]
	return g
}

// fileLane puts a lane and its share where they belong. A holder's lane that is
// not needed any more is dropped.
func (m *limits[K, V]) fileLane(l *lane[K, V]) {
	s := l.share
	s.fileLane(l)
	if s.budget.HolderOf != nil && l.items.len() == 0 && l.acting == 0 {
		m.dropLane(l)
	}
	m.file(s)
}

// file puts a share into the heap where it belongs: open, closed, or idle if it
// is, or will be, as a new one.
func (m *limits[K, V]) file(s *share[K, V]) {
	if s.budget.overall() {
		return
	}
	wait, ok := s.bucket.until(m.clock.now)
	first := s.first()
	switch {
	case first != nil && ok && wait == 0:
		m.put(s, &m.open, time.Duration(first.items.first().due))
	case first != nil && ok:
		m.put(s, &m.closed, m.clock.now+wait)
	case s.forgettable():
		// At a limit of zero the share is never full. But its budget is held then, and
		// a new share of that begins empty.
		full, _ := s.bucket.untilFull(m.clock.now)
		if s.removed && full == 0 {
			m.drop(s)
			return
		}
		m.put(s, &m.idle, m.clock.now+full)
	default:
		m.put(s, nil, 0)
	}
}

// put moves a share to a heap, or out of the one that it is in.
func (m *limits[K, V]) put(s *share[K, V], in *heap[*share[K, V]], at time.Duration) {
	if s.heap == in && in != nil {
		in.move(int(s.index), int64(at))
		return
	}
	if s.heap != nil {
		s.heap.remove(int(s.index))
	}
	if s.heap = in; in != nil {
		in.push(int64(at), s)
	}
}

// openShares opens the shares that have a token by now, at most as many as
// moves allows. It also drops some of those that are as new ones would be.
func (m *limits[K, V]) openShares(moves *int) {
	m.started = true
	for ; *moves > 0; *moves-- {
		p := m.closed.first()
		if p == nil || time.Duration(p.due) > m.clock.now {
			break
		}
		m.file(p.element)
	}
	for range mostDropped {
		p := m.idle.first()
		if m.idle.len() <= keptIdle || time.Duration(p.due) > m.clock.now {
			return
		}
		m.drop(p.element)
	}
}

const (
	// mostDropped bounds the shares that one Start drops.
	mostDropped = 1000
	// keptIdle is how many idle shares are kept, so that a share that is seldom
	// used is not made each time.
	keptIdle = 64
)

// drop forgets a share without items and actions.
func (m *limits[K, V]) drop(s *share[K, V]) {
	m.put(s, nil, 0)
	if s.lane != nil {
		m.dropLane(s.lane)
	}
	s.budget.remove(s) // the lanes of its holders went with their last action
}

// dropLane drops a lane without items. It is kept for another holder, or
// another share: with HolderOf each action may need a lane.
func (m *limits[K, V]) dropLane(l *lane[K, V]) {
	l.share.removeLane(l)
	l.share, l.holder = nil, ""
	if cap(l.items.places) > keptWhenLaneFree {
		l.items.release()
	}
	m.freeLanes = append(m.freeLanes, l)
	live := len(m.lanes) - len(m.freeLanes)
	if len(m.lanes) <= keptWhenEmpty || live >= len(m.lanes)/8 {
		return
	}
	lanes := make([]*lane[K, V], 0, live)
	for _, l := range m.lanes {
		if l.share == nil {
			continue
		}
		l.id = uint32(len(lanes))
		for i := range l.items.len() {
			l.items.at(i).element.link = l.id
		}
		lanes = append(lanes, l)
	}
	m.lanes, m.freeLanes = lanes, nil
}

func (m *limits[K, V]) budget(name string) *budget[K, V] {
	for _, budgets := range [...][]*budget[K, V]{m.overall, m.shared} {
		for _, b := range budgets {
			if b.Name == name {
				return b
			}
		}
	}
	return nil
}
