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

// origin returns the share that the tokens of a share came from, if it is
// there.
func (s *share[K, V]) origin() *share[K, V] {
	for s.from != nil && s.from.gone {
		s.from = s.from.from
	}
	return s.from
}

// share returns a share of a budget, a new one if there is none.
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

// dropShare drops a share without items, of which no token is out.
func (q *Queue[K, V]) dropShare(s *share[K, V]) {
	q.takeFromHeap(s)
	s.gone = true
	s.from = s.origin() // not the whole chain, for those that came from s
	for _, l := range s.lanes {
		q.lanes[l.id] = nil
		q.freeLanes = append(q.freeLanes, l.id)
	}
	if live := len(q.lanes) - len(q.freeLanes); len(q.lanes) > keptWhenEmpty && live < len(q.lanes)/8 {
		q.renumberLanes(live)
	}
	b := s.budget
	delete(b.shares, s.name)
	if b.peak > keptWhenEmpty && len(b.shares) < b.peak/8 { // a map does not shrink
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
// from another share, that has no more tokens than it had.
func (q *Queue[K, V]) dropRemoved(s *share[K, V]) {
	if !s.left || s.gone || s.items > 0 || len(s.bucket.out) > 0 {
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

// file puts a share and its lanes where they belong: the lanes with items among
// the open ones when there is a token, else the share among the closed ones;
// and a share that is as good as a new one, or will be, among the idle ones.
func (q *Queue[K, V]) file(s *share[K, V]) {
	if s.budget.ShareOf == nil || s.gone {
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
	case s.items == 0 && !s.own && len(s.bucket.out) == 0:
		if wait, ok := s.bucket.untilFull(q.now); ok {
			q.putInHeap(s, &q.idle, q.now+wait)
		}
	}
}

// fileLane puts a lane among the open ones of its kind, or takes it away.
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
	s.in = h
	h.push(int64(at), s)
}

func (q *Queue[K, V]) takeFromHeap(s *share[K, V]) {
	if s.in != nil {
		s.in.remove(int(s.index))
		s.in = nil
	}
}
