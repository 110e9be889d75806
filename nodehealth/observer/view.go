package observer

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/kubelife/lifecycle/zone"
)

// A View is what a [Tracker] knows now. Its methods are safe for concurrent use.
// They take no lock and allocate nothing.
//
// Two answers may be from two moments. Each is as new as the call.
type View struct {
	// The maps are read far more often than written, and a change costs no copy.
	silent sync.Map // names of silent nodes, without values
	zones  sync.Map // *zoneView by the name of the zone
	zoneOf sync.Map // *zoneView by the name of the node
	phase  atomic.Pointer[zone.Phase]
	synced atomic.Bool
}

// zoneView is a zone as it was published last.
type zoneView struct{ status atomic.Pointer[zone.Status] }

func newView(phase zone.Phase) *View {
	v := &View{}
	v.phase.Store(&phase)
	return v
}

// Synced reports whether all nodes and leases that existed at the start were
// observed. It stays true.
func (v *View) Synced() bool { return v.synced.Load() }

// Silent reports whether a node is silent. It is false for an unknown node.
func (v *View) Silent(node string) bool {
	_, silent := v.silent.Load(node)
	return silent
}

// SilentNodes iterates over the names of the silent nodes, in no order. It costs
// their number, not that of all nodes.
func (v *View) SilentNodes() iter.Seq[string] {
	return func(yield func(string) bool) {
		v.silent.Range(func(node, _ any) bool { return yield(node.(string)) }) //nolint:errcheck // nothing else is stored
	}
}

// Zone returns how disrupted the zone of a name is, and false for one without a
// node.
func (v *View) Zone(name string) (zone.Status, bool) { return statusIn(&v.zones, name) }

// ZoneOf returns how disrupted the zone of a node is, and false for an unknown
// node.
func (v *View) ZoneOf(node string) (zone.Status, bool) { return statusIn(&v.zoneOf, node) }

// Phase returns how disrupted the cluster as a whole is.
func (v *View) Phase() zone.Phase { return *v.phase.Load() }

func statusIn(zones *sync.Map, key string) (zone.Status, bool) {
	found, ok := zones.Load(key)
	if !ok {
		return zone.Status{}, false
	}
	return *found.(*zoneView).status.Load(), true //nolint:errcheck // nothing else is stored
}

// setSilent publishes whether a node is silent.
func (v *View) setSilent(node string, silent bool) {
	if silent {
		v.silent.Store(node, nil)
	} else {
		v.silent.Delete(node)
	}
}

// place publishes the zone of a node.
func (v *View) place(node, name string) {
	found, known := v.zones.Load(name)
	if !known {
		added := &zoneView{}
		added.status.Store(&zone.Status{Zone: name, State: zone.Initial})
		v.zones.Store(name, added)
		found = added
	}
	v.zoneOf.Store(node, found)
}

// remove forgets a node.
func (v *View) remove(node string) {
	v.silent.Delete(node)
	v.zoneOf.Delete(node)
}

// setZone publishes a zone.
func (v *View) setZone(status zone.Status) {
	if found, known := v.zones.Load(status.Zone); known {
		found.(*zoneView).status.Store(&status) //nolint:errcheck // nothing else is stored
	}
}

// removeZone forgets a zone that has lost its last node.
func (v *View) removeZone(name string) { v.zones.Delete(name) }

func (v *View) setPhase(phase zone.Phase) { v.phase.Store(&phase) }
