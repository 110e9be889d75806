package apiserver

import "k8s.io/apimachinery/pkg/types"

// ring remembers the newest objects of a bounded resource.
type ring struct {
	slots []slot
	next  int
}

type slot struct {
	key Key
	uid types.UID
}

func newRing(n int) *ring {
	return &ring{slots: make([]slot, n)}
}

// push remembers one more object and returns the one that it displaces, the
// zero slot as long as there is room.
func (r *ring) push(k Key, id types.UID) slot {
	out := r.slots[r.next]
	r.slots[r.next] = slot{k, id}
	r.next = (r.next + 1) % len(r.slots)
	return out
}
