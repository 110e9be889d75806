package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// Z7: lists that take two minutes do not use up the time in which nodes can
// recover.
func TestZ7TheWindowBeginsWhenTheCachesAreFilled(t *testing.T) {
	w := newWorld(t, Config{})
	w.addNodes(5, "a")
	w.addNodes(5, "b")
	w.report("a-000", corev1.ConditionFalse)
	var err error
	w.c, err = New(w.config, w.now)
	require.NoError(t, err)
	w.jobs, err = w.c.Jobs(w.actions(), w.now)
	require.NoError(t, err)
	for _, name := range w.names() {
		w.c.ObserveNode(w.now, w.nodes[name])
	}
	w.now = w.now.Add(2 * time.Minute) // pods take that long
	filled := w.now
	w.c.MarkSynced(w.now)
	w.next["a-000"] = filled.Add(time.Hour) // says nothing more
	w.report("a-000", corev1.ConditionFalse)
	w.silent["a-000"] = true
	w.advance(grace - time.Nanosecond)
	require.Equal(t, zone.PhaseRecovering, w.c.Phase())
	names, _ := w.releases(filled)
	require.Empty(t, names)
	w.advance(grace)
	names, at := w.releases(filled)
	require.Equal(t, []string{"a-000"}, names)
	require.Equal(t, []time.Duration{grace}, at)
}

// Z7: a replica that takes over taints no node in the first window, and then at
// the zones' rates. Pods of nodes that are tainted already leave meanwhile.
func TestZ7ATakeoverBeginsAWindow(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001", "a-002")
	w.advance(interval + time.Second)
	names, _ := w.releases(known)
	require.Equal(t, []string{"a-000"}, names)
	took := w.now
	w.c.Lead(took)
	w.done = nil
	w.advance(grace + 21*time.Second)
	names, at := w.releases(took)
	require.Equal(t, []string{"a-001", "a-002"}, names)
	// The zone had earned one second of its next token, and earns none meanwhile.
	require.Equal(t, []time.Duration{grace + 9*time.Second, grace + 19*time.Second}, at)
	// Its toleration of 30 s began when the taint was seen, a second before.
	require.Equal(t, []time.Duration{29 * time.Second}, rounded(times[eviction.Task](w, took)))
}

func rounded(all []time.Duration) []time.Duration {
	for i := range all {
		all[i] = all[i].Round(time.Second)
	}
	return all
}
