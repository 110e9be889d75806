package nodehealth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/nodehealth"
)

// C3: after a start the grace periods of all keys come up together. Those that
// were heard are put back some at a time, and one that was not is found.
func TestC3StartPutsBackSomeKeysAtATime(t *testing.T) {
	const keys, most = 10_000, 3_000
	m, err := nodehealth.NewMonitor[int](nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	for key := range keys + 1 {
		m.Observe(observerEpoch, key, nodehealth.Observation{Reported: true})
	}
	for key := range keys {
		m.Heartbeat(observerEpoch.Add(time.Second), key)
	}
	now := observerEpoch.Add(monitorGrace)
	for range keys / most {
		_, ok := m.Start(now)
		require.False(t, ok)
		next, some := m.Next(now)
		require.True(t, some)
		require.False(t, next.After(now), "there is more to do")
	}
	task, ok := m.Start(now)
	require.True(t, ok)
	require.Equal(t, keys, task.Key)
	next, some := m.Next(now)
	require.True(t, some)
	require.Equal(t, now.Add(time.Second), next)
}

// C3: a caller that holds a lock for several calls bounds them together.
func TestC3StartWithinCountsWhatItVisits(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	for i := range 6 {
		o.sees(reportingNode(fmt.Sprint("n", i), "uid", o.now))
	}
	o.pass(time.Second)
	for i := 0; i < 6; i += 2 {
		o.Heartbeat(o.now, fmt.Sprint("n", i))
	}
	o.pass(monitorGrace - time.Second)
	visits := 5
	for _, name := range []string{"n1", "n3"} {
		task, ok := o.StartWithin(o.now, &visits)
		require.True(t, ok)
		require.Equal(t, name, task.Key)
	}
	_, ok := o.StartWithin(o.now, &visits)
	require.False(t, ok)
	require.Zero(t, visits)
}
