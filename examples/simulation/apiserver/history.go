package apiserver

import (
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Record is one change as watches show it. Its objects must not be modified.
type Record struct {
	// Version is the resourceVersion that the change was given.
	Version uint64
	// At is when it was stored.
	At time.Time
	// Object is the state after the change; of a deletion the last state.
	Object runtime.Object
	// Previous is the state before it; nil for a creation.
	Previous runtime.Object
	// Deleted says that the change removed the object.
	Deleted bool
}

// history is the newest changes of one resource, in order. Every watch reads it
// at its own pace from its own position. So writers wait for no watch, and a
// burst is stored once, not once per watch. The alternative, a queue per
// watch, has no bound; a bounded channel would block the writer or lose.
type history struct {
	limit   int
	records []Record
	// first is the position of records[0]. Positions count changes from zero and
	// stay valid when older records are forgotten.
	first uint64
	// forgotten is the version of the newest change that is no longer kept: a
	// watch that has seen less cannot be continued.
	forgotten uint64
}

// append adds a change. It is O(1) amortized: old records are forgotten a
// quarter of the limit at a time.
func (h *history) append(r Record) {
	h.records = append(h.records, r)
	if len(h.records) > h.limit+h.limit/4 {
		h.forget(len(h.records) - h.limit)
	}
}

func (h *history) forget(n int) {
	h.forgotten = h.records[n-1].Version
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
	i := sort.Search(len(h.records), func(i int) bool { return h.records[i].Version > version })
	return h.first + uint64(i), true
}

// read copies changes from a position on into buffer and returns how many, or
// false when the change at that position is forgotten.
func (h *history) read(position uint64, buffer []Record) (int, bool) {
	if position < h.first {
		return 0, false
	}
	return copy(buffer, h.records[position-h.first:]), true
}
