package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// acting returns the parts of a controller in which nodes of zone a may be acted
// against.
func acting(t *testing.T) *parts {
	p := newParts(t, Config{})
	p.zones.enter(p.now, phase{zone.PhaseActive, zone.PhaseActive})
	p.releases.setRates(p.now, []zone.Change{{Zone: "a", Rate: 1}})
	return p
}

// A node waits for the rate of its zone, keeps its turn while it cannot be
// written to, and waits for nothing when it has its taint or is gone.
func TestReleasesHandOutNodesOfZonesWithARate(t *testing.T) {
	p := acting(t)
	n := p.add("n", corev1.ConditionFalse)
	n.counted = true
	p.releases.plan(p.now, n)
	require.Equal(t, 1, p.Queued("a"))

	p.evictions.SetHold(p.now, HoldHalt, "", true)
	_, ok := p.releases.start(p.now)
	require.False(t, ok, "an operator has halted the controller")
	p.evictions.SetHold(p.now, HoldHalt, "", false)
	p.zones.enter(p.now, phase{zone.PhaseActive, zone.PhaseHolding})
	_, ok = p.releases.start(p.now)
	require.False(t, ok, "our taints do not act")
	p.zones.enter(p.now, phase{zone.PhaseActive, zone.PhaseActive})

	item, ok := p.releases.start(p.now)
	require.True(t, ok)
	p.releases.putOff(p.now, item)
	_, ok = p.releases.start(p.now)
	require.False(t, ok, "it is being written to")
	p.releases.resumeTurn(n)
	item, ok = p.releases.start(p.now)
	require.True(t, ok, "the token was returned")
	require.Same(t, n, item.Value)

	n.release = item
	p.writes.enter(n, released)
	p.releases.finish(p.now, n, timedqueue.OutcomeDone)
	require.Zero(t, p.Queued("a"))
}

func TestReleasesFollowANodeToItsZone(t *testing.T) {
	p := acting(t)
	n := p.add("n", corev1.ConditionFalse)
	n.counted = true
	p.releases.plan(p.now, n)
	moved := p.node("n", corev1.ConditionFalse)
	moved.Labels[corev1.LabelTopologyZone] = "b"
	p.show(n, moved)
	require.Equal(t, 1, p.Queued("b"))
	require.Len(t, p.releases.queued, 1)
	require.Len(t, p.releases.members, 1)
	_, ok := p.releases.start(p.now)
	require.False(t, ok, "that zone was not evaluated")
	p.releases.forget(p.now, n)
	require.Empty(t, p.releases.queued)
	require.Empty(t, p.releases.members)
}
