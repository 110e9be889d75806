package controller

import "github.com/kubelife/lifecycle/zone"

// phase is what the cluster as a whole allows. It is one value: zones.enter is
// the one function that writes it, and all else reads it.
type phase struct {
	// zones is what the zones called for when they were evaluated last.
	zones zone.Phase
	// obeyed is what our own NoExecute taints obey. That is not always what the
	// zones call for: it may be known before they are evaluated, and what holds
	// them must last until nodes may be acted against again.
	//
	//	       the last ready node falls         all zones are disrupted
	//	Active ────────────────────────► Holding ────────────────► Suspended
	//	  ▲ ▲                              │  │                        ▲ │
	//	  │ └─ they are not, and evaluated ┘  └───────► Paused ────────┘ │
	//	  │                                               │              │
	//	  └──────── nodes may be acted against again ─────┴──────────────┘
	//
	// Active also goes to Paused and to Suspended directly. Active: they act.
	// Holding: they are suspended until it is known whether all zones are
	// disrupted. That depends on unconfirmed nodes, or nodes that live had no time
	// to be heard since a blindness, or no node is ready and the zones were not
	// evaluated since. All workers may be busy with evictions: then nothing asks
	// for the next action, and no evaluation comes in between. Paused: they are
	// suspended and stay. Suspended: they are suspended and removed.
	obeyed zone.Phase
}

// firstPhase is the one before anything was evaluated.
var firstPhase = phase{zones: zone.PhaseRecovering, obeyed: zone.PhaseActive}

// next returns the phase after the zones were evaluated. Settled reports whether
// each node had time to be heard since the last blindness. A pause or a
// suspension lasts until nodes may be acted against again: what it has held
// must not act in one burst.
func (p phase) next(zones zone.Phase, settled bool) phase {
	switch {
	case zones == zone.PhaseSuspended,
		p.obeyed == zone.PhaseSuspended && zones != zone.PhaseActive:
		return phase{zones, zone.PhaseSuspended}
	case zones == zone.PhasePaused,
		p.obeyed == zone.PhasePaused && zones != zone.PhaseActive:
		return phase{zones, zone.PhasePaused}
	case zones == zone.PhaseHolding, !settled:
		return phase{zones, zone.PhaseHolding}
	}
	return phase{zones, zone.PhaseActive}
}

// afterLastFell returns the phase after the last ready node has fallen. All
// zones may be down, which is known once they are evaluated.
func (p phase) afterLastFell() phase {
	if p.obeyed == zone.PhaseActive {
		p.obeyed = zone.PhaseHolding
	}
	return p
}

// suspendsTaints reports whether our NoExecute taints do not act: no node gets
// one, and no pod leaves for one.
func (p phase) suspendsTaints() bool { return p.obeyed != zone.PhaseActive }

// removesTaints reports whether nodes lose their NoExecute taints.
func (p phase) removesTaints() bool { return p.obeyed == zone.PhaseSuspended }

// ofCluster returns the phase as [Controller.Phase] shows it.
func (p phase) ofCluster() zone.Phase {
	if p.zones == zone.PhaseActive && p.suspendsTaints() {
		return zone.PhaseHolding
	}
	return p.zones
}
