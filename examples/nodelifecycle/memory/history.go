package memory

import (
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// record is one change as watchers are told of it.
type record struct {
	version  uint64
	at       time.Time      // when it was stored
	object   runtime.Object // the state after the change; of a deletion the last state
	previous runtime.Object // the state before it; nil for a creation
	deleted  bool
}

// history is the newest changes of one resource, in order. Every watcher reads
// it at its own pace from its own position, so that writers never wait and
// a burst is stored once, not once per watcher. The alternative, a queue per
// watcher, has no bound; a bounded channel would block the writer or lose.
//
// The store's lock guards it.
type history struct {
	limit   int
	records []record
	// first is the position of records[0]. Positions count changes from zero and
	// stay valid when older records are forgotten.
	first uint64
	// forgotten is the version of the newest change that is no longer kept: a
	// watch that has seen less cannot be continued.
	forgotten uint64
	// changed is closed by the next append. It is nil when no watcher waits.
	changed chan struct{}
}

// append adds a change. It is O(1) amortized: old records are forgotten a
// quarter of the limit at a time.
func (h *history) append(r record) {
	h.records = append(h.records, r)
	if len(h.records) > h.limit+h.limit/4 {
		h.forget(len(h.records) - h.limit)
	}
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

func (h *history) forget(n int) {
	h.forgotten = h.records[n-1].version
	kept := copy(h.records, h.records[n:])
	clear(h.records[kept:])
	h.records = h.records[:kept]
	h.first += uint64(n)
}

// end is the position of the next change.
func (h *history) end() uint64 {
	return h.first + uint64(len(h.records))
}

// after returns the position of the first change that is newer than version,
// and false when changes newer than that are forgotten.
func (h *history) after(version uint64) (uint64, bool) {
	if version < h.forgotten {
		return 0, false
	}
	i := sort.Search(len(h.records), func(i int) bool { return h.records[i].version > version })
	return h.first + uint64(i), true
}

// read copies changes from a position on into buffer and returns how many, or
// false when the change at that position is forgotten.
func (h *history) read(position uint64, buffer []record) (int, bool) {
	if position < h.first {
		return 0, false
	}
	return copy(buffer, h.records[position-h.first:]), true
}

// wait returns a channel that is closed by the next append.
func (h *history) wait() <-chan struct{} {
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}
