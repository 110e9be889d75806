package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/zone"
)

// The last ready node that falls holds our taints before the zones are
// evaluated. That suspends them, and the end of that is when they begin again.
func TestZonesSayWhenOurTaintsObeyAnotherPhase(t *testing.T) {
	p := newParts(t, Config{})
	a, b := p.add("a", corev1.ConditionTrue), p.add("b", corev1.ConditionTrue)
	p.objects.synced = true
	require.False(t, p.zones.count(p.now, a))
	require.False(t, p.zones.count(p.now, b))
	require.Equal(t, 2, p.zones.ready)
	p.now = p.now.Add(grace)
	changes, other := p.zones.evaluate(p.now)
	require.False(t, other)
	require.Len(t, changes, 1)
	require.Equal(t, zone.PhaseActive, p.Phase())

	fall := func(n *node) bool {
		p.show(n, p.node(n.object.Name, corev1.ConditionFalse))
		return p.zones.count(p.now, n)
	}
	require.False(t, fall(a))
	require.False(t, p.zones.count(p.now, a), "it counts so already")
	require.False(t, p.zones.lasting(p.now))
	require.True(t, p.zones.lasting(p.now.Add(lastingState)))
	require.True(t, fall(b), "it is the last one")
	require.Equal(t, zone.PhaseHolding, p.Phase())
	require.Zero(t, p.zones.generation)

	_, other = p.zones.evaluate(p.now)
	require.True(t, other)
	require.Equal(t, zone.PhaseSuspended, p.Phase())
	require.Equal(t, 1, p.zones.generation, "nodes lose their taints")
	require.Equal(t, p.now, p.zones.calledAt)

	p.now = p.now.Add(time.Minute)
	p.show(a, p.node("a", corev1.ConditionTrue))
	require.False(t, p.zones.count(p.now, a))
	_, other = p.zones.evaluate(p.now)
	require.False(t, other, "until nodes may be acted against again")
	require.Equal(t, zone.PhaseRecovering, p.Phase())
	p.now = p.now.Add(grace)
	_, other = p.zones.evaluate(p.now)
	require.True(t, other)
	require.Equal(t, 2, p.zones.generation)
	require.Equal(t, p.now, p.zones.resumedAt)

	require.True(t, p.zones.forget(p.now, a), "the last ready one is gone")
	require.Zero(t, p.zones.ready)
}
