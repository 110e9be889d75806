package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// C9: what our taints obey, and what is shown, follows from one value.
func TestC9ThePhaseFollowsFromTheZones(t *testing.T) {
	const (
		active     = zone.PhaseActive
		holding    = zone.PhaseHolding
		paused     = zone.PhasePaused
		suspended  = zone.PhaseSuspended
		recovering = zone.PhaseRecovering
	)
	type step struct {
		zones   zone.Phase
		settled bool
		obeyed  zone.Phase
		shown   zone.Phase
	}
	for name, steps := range map[string][]step{
		"a start": {
			{recovering, true, active, recovering}, {active, true, active, active},
		},
		"a blindness": {
			{active, false, holding, holding}, {active, true, active, active},
			{recovering, false, holding, recovering}, {recovering, true, active, recovering},
		},
		"all zones may be down": {
			{holding, true, holding, holding}, {holding, false, holding, holding},
			{active, true, active, active},
		},
		"a suspension lasts until nodes may be acted against": {
			{holding, true, holding, holding}, {suspended, false, suspended, suspended},
			{paused, true, suspended, paused}, {holding, true, suspended, holding},
			{recovering, true, suspended, recovering}, {active, true, active, active},
		},
		"a pause lasts until nodes may be acted against": {
			{paused, true, paused, paused}, {holding, true, paused, holding},
			{recovering, true, paused, recovering}, {active, true, active, active},
		},
		"a pause becomes a suspension": {
			{paused, true, paused, paused}, {suspended, true, suspended, suspended},
			{paused, true, suspended, paused},
		},
		"what follows on a suspension may be blind": {
			{suspended, true, suspended, suspended}, {active, false, holding, holding},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := firstPhase
			for i, s := range steps {
				p = p.next(s.zones, s.settled)
				require.Equal(t, phase{s.zones, s.obeyed}, p, "step %d", i)
				require.Equal(t, s.shown, p.ofCluster(), "step %d", i)
				require.Equal(t, s.obeyed != active, p.suspendsTaints(), "step %d", i)
				require.Equal(t, s.obeyed == suspended, p.removesTaints(), "step %d", i)
			}
		})
	}
}

func TestC9TheLastReadyNodeHoldsAtOnce(t *testing.T) {
	require.Equal(t, phase{zone.PhaseActive, zone.PhaseHolding},
		phase{zone.PhaseActive, zone.PhaseActive}.afterLastFell())
	for _, obeyed := range []zone.Phase{zone.PhaseHolding, zone.PhasePaused, zone.PhaseSuspended} {
		p := phase{zone.PhaseRecovering, obeyed}
		require.Equal(t, p, p.afterLastFell(), "what holds already goes on")
	}
}
