package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A node is written to when it needs that, once. A refusal has it read first.
func TestWritesReadANodeThatTheAPIServerHasRefused(t *testing.T) {
	p := newParts(t, Config{})
	n := p.add("n", corev1.ConditionFalse)
	p.writes.plan(p.now, n)
	require.Equal(t, due, n.state)
	start := func() (*NodeChange, func(error)) {
		item, ok := p.writes.others.Start(p.now)
		require.True(t, ok)
		change, err := p.writes.ofDue(p.now, n)
		require.NoError(t, err)
		return change, func(err error) {
			if change.Action == NodeActionRead {
				p.writes.finishRead(p.now, item, err)
			} else {
				p.writes.finish(p.now, item, err)
			}
		}
	}
	change, finish := start()
	require.Equal(t, NodeActionTaint, change.Action)
	require.True(t, closed(change.Taints))
	require.Equal(t, writing, n.state)
	p.writes.plan(p.now, n)
	require.Equal(t, writing, n.state, "that is for its end")

	refused := apierrors.NewConflict(corev1.Resource("nodes"), "n", nil)
	finish(refused)
	p.writes.noteRefusal(p.now, n, refused)
	require.Equal(t, 1, p.Refused())
	p.writes.plan(p.now, n)
	p.now = p.now.Add(p.config.Backoff.Longest())
	change, finish = start()
	require.Equal(t, NodeActionRead, change.Action)

	live := p.node("n", corev1.ConditionFalse)
	live.Spec.Taints = []corev1.Taint{{
		Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule,
	}}
	require.True(t, p.writes.noteRead(p.now, n, NodeChange{Node: n.object}, live))
	require.Equal(t, 1, p.Stale())
	p.show(n, live)
	finish(nil)
	p.writes.plan(p.now, n)
	require.Equal(t, steady, n.state, "another client has written it")
}
