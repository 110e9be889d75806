package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// A node counts as not ready from the moment its grace period ends, whether or not
// that was written. When a client knows is not seen from outside: it asks the API
// server first. So a silent node is in doubt, and counts as ready or not, whichever
// accuses less. The doubt ends when everybody must know.

// hearing is what a client can have heard of a node.
type hearing struct {
	machine *model.Machine
	// first is when the client saw the node first.
	first time.Duration
	// shown is when the client was last found to have been shown the node's latest
	// heartbeat.
	shown time.Duration
	// back is when the node was found to beat again after a silence, -1 if it was not.
	back time.Duration
}

func (v *view) newHearing(now time.Duration, name string) hearing {
	return hearing{machine: v.judge.world.Machine(name), first: now, shown: now, back: -1}
}

// heard is how a node is found to count.
type heard struct {
	node *seenNode
	is   citizen
	fell time.Duration
}

// listen looks at all nodes again. It is called every second.
func (v *view) listen(now time.Duration) {
	var changed []heard
	for _, n := range v.nodes {
		if n.object == nil {
			continue
		}
		if one, fell := v.citizenOf(now, n); one != n.citizen || n.fallen != (fell >= 0) {
			changed = append(changed, heard{n, one, fell})
		}
	}
	slices.SortFunc(changed, func(a, b heard) int {
		return cmp.Or(cmp.Compare(a.fell, b.fell), cmp.Compare(a.node.name, b.node.name))
	})
	for _, c := range changed {
		v.catchUp(now)
		v.observeZone(now, c.node, c.is, false, c.fell)
	}
}

// citizenOf returns how a node counts for a client, and since when it has fallen, -1
// if it may be ready.
func (v *view) citizenOf(now time.Duration, n *seenNode) (one citizen, fell time.Duration) {
	one = citizenOf(n.object)
	h := &n.hearing
	switch {
	case one.stands == standsNotReady && n.fallen:
		return one, n.fell
	case h.machine == nil && one.stands == standsNotReady:
		return one, now
	case h.machine == nil:
		return one, -1
	}
	silent := h.machine.LastBeat + v.judge.settings.Grace
	switch {
	case one.stands == standsNotReady:
		return one, min(now, silent)
	case now >= silent:
		h.back = -1
		one.stands = standsDoubtful
		if v.mustKnow(now, n) {
			one.stands = standsNotReady
		}
		if n.fallen {
			silent = n.fell // it was said not to be ready before
		}
		return one, silent
	case v.unshown(now, n):
		one.stands = standsDoubtful
	case n.citizen.stands != standsReady && n.zone != nil && h.back < 0:
		h.back = now
		fallthrough
	case h.back >= 0 && now < h.back+v.judge.settings.bound():
		one.stands = standsDoubtful
	}
	return one, -1
}

// unshown reports whether a client may not have been shown a heartbeat of a node for
// a grace period, because its watch is behind.
func (v *view) unshown(now time.Duration, n *seenNode) bool {
	h, grace := &n.hearing, v.judge.settings.Grace
	if now-h.shown < grace/2 {
		return false
	}
	if v.client.KnowsLease(n.name) {
		h.shown = now
		return false
	}
	return now-h.shown >= grace-time.Second
}

// mustKnow reports whether a client that acts must know that a node is silent.
func (v *view) mustKnow(now time.Duration, n *seenNode) bool {
	s := &v.judge.settings
	since, calm := v.judge.subject.Calm()
	if !calm || v.judge.subject.Acting() != v.client {
		return false
	}
	heard := max(n.hearing.machine.LastBeat, n.hearing.first, v.syncedAt)
	asked := heard + s.Grace
	if s.BlindAfter > 0 {
		if deaf := v.client.Deaf(heard, now, s.BlindAfter); deaf > 0 {
			asked += deaf + s.CalmBound
		}
	}
	return now > max(asked, since+s.CalmBound, v.busy)+s.bound()
}
