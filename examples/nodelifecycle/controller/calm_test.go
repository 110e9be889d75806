package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The heartbeat of a node to which nothing happens asks for no poll of the
// controller: at rest that is all there is. Every other lease does.
func TestHeartbeatsOfCalmNodesAskForNoPoll(t *testing.T) {
	w := newWorld(t, Config{})
	for _, name := range w.addNodes(3, "a") {
		w.addPod("web-"+name, name)
	}
	w.start()
	w.advance(grace + interval)
	names := w.names()
	beat := func(name string) bool {
		w.version++
		lease := w.leases[name].DeepCopy()
		renewed := metav1.NewMicroTime(w.now)
		lease.Spec.RenewTime = &renewed
		w.leases[name] = lease
		return w.c.ObserveLease(w.now, lease)
	}
	for range 20 {
		w.now = w.now.Add(time.Second)
		before, _ := w.jobs.Next(w.now)
		for _, name := range names {
			require.False(t, beat(name), name)
		}
		after, ok := w.jobs.Next(w.now)
		require.True(t, !ok || !after.Before(before), "nothing is due earlier")
	}

	w.silent[names[0]] = true
	w.advance(grace / 2)
	require.False(t, beat(names[0]), "its grace period is not over")
	w.advance(grace + 2*interval)
	require.Equal(t, corev1.ConditionUnknown, w.c.objects.nodes[names[0]].ready)
	require.True(t, beat(names[0]), "it returns")

	lease := w.leases[names[0]].DeepCopy()
	lease.Name = "another"
	require.True(t, w.c.ObserveLease(w.now, lease), "its node is not known yet")
}

// H8: a detector may end a grace period earlier after a heartbeat, so the
// dispatcher polls.
func TestHeartbeatsWithADetectorAskForAPoll(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(3, "a")
	w.start()
	w.advance(grace + interval)
	w.c.silences.fixedGrace = false
	require.True(t, w.c.ObserveLease(w.now, w.leases["a-000"]))
}

// A heartbeat ends a silence that was not declared yet, which others may wait
// for.
func TestHeartbeatOfASuspectAsksForAPoll(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(3, "a")
	w.start()
	w.advance(grace + interval)
	name := w.names()[0]
	w.silent[name] = true
	w.until(like(readsOne))
	require.NotNil(t, w.c.objects.nodes[name].silence)
	lease := w.leases[name].DeepCopy()
	renewed := metav1.NewMicroTime(w.now)
	lease.Spec.RenewTime = &renewed
	require.True(t, w.c.ObserveLease(w.now, lease))
}
