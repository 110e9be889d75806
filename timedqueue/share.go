package timedqueue

import (
	"maps"
	"time"
)

func newBudget[K comparable, V any](config Budget[K, V]) *budget[K, V] {
	return &budget[K, V]{Budget: config, shares: make(map[string]*share[K, V])}
}

// reserve divides the tokens of a budget between kinds of work.
func (q *Queue[K, V]) reserve(b *budget[K, V]) {
	part := make([]float64, len(q.kinds))
	for i, name := range q.names {
		part[i] = b.Reserved[name]
	}
	q.parts = newParts(part)
}

// origin returns the share that the tokens of a share came from, unless it is
// dropped.
func (s *share[K, V]) origin() *share[K, V] {
	for s.from != nil && s.from.dropped {
		s.from = s.from.from
	}
	return s.from
}

// share returns the share of a name, and creates it if there is none.
func (q *Queue[K, V]) share(b *budget[K, V], name string) *share[K, V] {
	if s, known := b.shares[name]; known {
		return s
	}
	s := &share[K, V]{budget: b, name: name, bucket: newBucket(b.Limit, b.Burst)}
	if b.ShareOf != nil {
		s.lanes = make([]*lane[K, V], len(q.kinds))
		for i := range s.lanes {
			s.lanes[i] = q.newLane(s, i)
		}
	}
	b.shares[name] = s
	b.peak = max(b.peak, len(b.shares))
	q.file(s)
	return s
}

func (q *Queue[K, V]) newLane(s *share[K, V], kind int) *lane[K, V] {
	l := &lane[K, V]{share: s, kind: kind}
	l.heap.before = q.before
	if n := len(q.freeLanes); n > 0 {
		l.id = q.freeLanes[n-1]
		q.freeLanes = q.freeLanes[:n-1]
		q.lanes[l.id] = l
		return l
	}
	l.id = uint32(len(q.lanes))
	q.lanes = append(q.lanes, l)
	return l
}

// dropShare drops a share without items and without tokens that are out.
func (q *Queue[K, V]) dropShare(s *share[K, V]) {
	q.takeFromHeap(s)
	s.dropped = true
	s.from = s.origin() // so that shares that came from s keep no chain
	for _, l := range s.lanes {
		q.lanes[l.id] = nil
		q.freeLanes = append(q.freeLanes, l.id)
	}
	if live := len(q.lanes) - len(q.freeLanes); len(q.lanes) > keptWhenEmpty && live < len(q.lanes)/8 {
		q.renumberLanes(live)
	}
	b := s.budget
	delete(b.shares, s.name)
	if b.peak > keptWhenEmpty && len(b.shares) < b.peak/8 {
		shares := make(map[string]*share[K, V], len(b.shares))
		maps.Copy(shares, b.shares)
		b.shares, b.peak = shares, len(shares)
	}
}

// renumberLanes makes the list of lanes short again.
func (q *Queue[K, V]) renumberLanes(live int) {
	lanes := make([]*lane[K, V], 0, live)
	for _, l := range q.lanes {
		if l == nil {
			continue
		}
		l.id = uint32(len(lanes))
		for i := range l.heap.len() {
			l.heap.at(i).element.link = l.id
		}
		lanes = append(lanes, l)
	}
	q.lanes, q.freeLanes = lanes, nil
}

// dropRemoved drops a share that was removed and is empty. If its tokens came
// from another share, that share then has no more tokens than this one had.
func (q *Queue[K, V]) dropRemoved(s *share[K, V]) {
	if !s.removed || s.dropped || s.items > 0 || len(s.bucket.out) > 0 {
		return
	}
	if origin := s.origin(); origin != nil {
		origin.bucket.lower(q.now, &s.bucket)
		q.file(origin)
		q.dropShare(s)
		return
	}
	if s.bucket.full(q.now) {
		q.dropShare(s)
	}
}

// file puts a share and its lanes into the heaps where they belong. With a
// token, its lanes with items are open. Without one, a share with items is
// closed. A share that is, or will be, like a new one is idle.
func (q *Queue[K, V]) file(s *share[K, V]) {
	if s.budget.ShareOf == nil || s.dropped {
		return
	}
	q.takeFromHeap(s)
	wait, ok := s.bucket.until(q.now)
	for _, l := range s.lanes {
		q.fileLane(l, ok && wait == 0)
	}
	switch {
	case s.items > 0 && !ok:
		q.putInHeap(s, &q.closed, never)
	case s.items > 0 && wait > 0:
		q.putInHeap(s, &q.closed, q.now+wait)
	case s.items == 0 && !s.ownLimit && len(s.bucket.out) == 0:
		if wait, ok := s.bucket.untilFull(q.now); ok {
			q.putInHeap(s, &q.idle, q.now+wait)
		}
	}
}

// fileLane opens or closes a lane, or moves an open one.
func (q *Queue[K, V]) fileLane(l *lane[K, V], hasToken bool) {
	open := &q.kinds[l.kind].open
	first := l.heap.first()
	switch {
	case hasToken && first != nil && l.open:
		open.move(int(l.index), first.due)
	case hasToken && first != nil:
		l.open = true
		open.push(first.due, l)
	case l.open:
		l.open = false
		open.remove(int(l.index))
	}
}

func (q *Queue[K, V]) putInHeap(s *share[K, V], h *heap[*share[K, V]], at time.Duration) {
	s.heap = h
	h.push(int64(at), s)
}

func (q *Queue[K, V]) takeFromHeap(s *share[K, V]) {
	if s.heap != nil {
		s.heap.remove(int(s.index))
		s.heap = nil
	}
}
