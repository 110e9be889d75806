package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// fallSilent lets the grace period of a node end.
func (p *parts) fallSilent(t *testing.T, n *node) {
	t.Helper()
	p.now = p.now.Add(grace)
	visits := mostVisited
	found, follows := p.silences.collect(p.now, &visits)
	require.Same(t, n, found)
	require.Equal(t, recounts, follows, "it holds what depends on it")
	require.Equal(t, suspected, n.silence.state)
	found, _ = p.silences.collect(p.now, &visits)
	require.Nil(t, found)
}

// read answers the next live read of a lease.
func (p *parts) read(t *testing.T, n *node, leases Leases) consequence {
	t.Helper()
	read, ok := p.silences.startRead(p.now)
	require.True(t, ok)
	require.Same(t, n.object, read.Node)
	return p.silences.leaseRead(p.now, n, read, leases)
}

// A silence from its beginning until it is recorded, and what follows.
func TestASilenceIsReadAndDeclared(t *testing.T) {
	p := newParts(t, Config{})
	n := p.add("n", corev1.ConditionTrue)
	p.silences.observeLease(p.now, n, p.lease("n", "1"))
	p.fallSilent(t, n)

	require.Equal(t, unchanged, p.read(t, n, Leases{Err: errors.New("failed")}))
	require.Equal(t, 1, n.silence.failures)
	p.now = n.silence.retryAt
	require.Equal(t, recounts, p.read(t, n, Leases{Versions: map[string]string{"n": "1"}}))
	require.True(t, n.silence.isConfirmed())

	declare := func() Declaration {
		item, ok := p.silences.declarations.Start(p.now)
		require.True(t, ok)
		d, needed, _ := p.silences.declare(p.now, item)
		require.True(t, needed)
		return d
	}
	failed := declare()
	require.Equal(t, unchanged, p.silences.declared(p.now, n, failed, errors.New("failed")))
	require.Equal(t, confirmed, n.silence.state, "it is tried again")
	p.now = p.now.Add(timedqueue.Backoff{}.Delay(0))
	require.Equal(t, recounts, p.silences.declared(p.now, n, declare(), nil))
	require.Nil(t, n.silence)
	require.True(t, p.silences.isSilent(n))
}

// A live read that shows a heartbeat ends a silence, and says that the watch is
// behind until that shows one.
func TestALiveReadRefutesASilence(t *testing.T) {
	p := newParts(t, Config{})
	n := p.add("n", corev1.ConditionTrue)
	p.silences.observeLease(p.now, n, p.lease("n", "1"))
	p.fallSilent(t, n)
	require.Equal(t, replans, p.read(t, n, Leases{Versions: map[string]string{"n": "2"}}))
	require.Nil(t, n.silence)
	require.True(t, n.behind)
	require.Equal(t, 1, p.silences.behind.count)
	p.now = p.now.Add(time.Second)
	require.Equal(t, recounts, p.silences.observeLease(p.now, n, p.lease("n", "2")))
	require.False(t, n.behind)
	require.Zero(t, p.silences.behind.count)
}

// A heartbeat through the watch ends a silence in each of its states. During its
// write that ends with the write.
func TestAHeartbeatEndsASilenceInEachState(t *testing.T) {
	for _, state := range []silenceState{suspected, reading, confirmed, declaring} {
		p := newParts(t, Config{})
		n := p.add("n", corev1.ConditionTrue)
		p.silences.observeLease(p.now, n, p.lease("n", "0"))
		p.now = p.now.Add(time.Second)
		p.silences.observeLease(p.now, n, p.lease("n", "1"))
		p.fallSilent(t, n)
		var d Declaration
		switch state {
		case reading:
			_, ok := p.silences.startRead(p.now)
			require.True(t, ok)
		case confirmed, declaring:
			p.read(t, n, Leases{Versions: map[string]string{}})
			if state == declaring {
				item, _ := p.silences.declarations.Start(p.now)
				d, _, _ = p.silences.declare(p.now, item)
			}
		}
		require.Equal(t, state, n.silence.state)
		p.now = p.now.Add(time.Second)
		require.Equal(t, recounts, p.silences.observeLease(p.now, n, p.lease("n", "2")), state)
		if state == declaring {
			require.Equal(t, overtaken, n.silence.state)
			require.Equal(t, replans, p.silences.declared(p.now, n, d, nil))
		}
		require.Nil(t, n.silence, state)
		require.Empty(t, p.silences.reads.suspects)
		require.Zero(t, p.silences.declarations.Len())
		require.Zero(t, p.silences.unconfirmed.count)
	}
}
