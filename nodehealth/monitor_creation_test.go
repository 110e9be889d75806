package nodehealth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

func createdAt(node *corev1.Node, created time.Time) *corev1.Node {
	node.CreationTimestamp = metav1.NewTime(created)
	return node
}

// H2: with StartupFromCreation the startup grace period of a node that has never
// reported counts from its creationTimestamp, plus the second that this lacks,
// but never from later than its first observation.
func TestH2StartupGraceFromCreation(t *testing.T) {
	for _, test := range []struct {
		name    string
		created time.Time
		since   time.Duration // after the first observation
	}{
		{"created while no observer ran", observerEpoch.Add(-30 * time.Second), -29 * time.Second},
		{"created just now", observerEpoch.Add(-500 * time.Millisecond), 0},
		{"the observer's clock is behind", observerEpoch.Add(time.Hour), 0},
		{"no creationTimestamp", time.Time{}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newObserver(t, nodehealth.Config{StartupFromCreation: true})
			o.sees(createdAt(bareNode("a", "1"), test.created))
			since := observerEpoch.Add(test.since)
			require.Equal(t, since, o.lastBeat(t, "a"))
			require.False(t, o.HasHeartbeat("a"))
			silent := o.silentExactly(t, since.Add(startupGrace), "a")
			require.Equal(t, since, silent.Since)
			require.Equal(t, startupGrace, silent.GracePeriod)
		})
	}
}

// H2: a restart does not give a node another startup grace period.
func TestH2StartupGraceFromCreationIsOverAtARestart(t *testing.T) {
	o := newObserver(t, nodehealth.Config{StartupFromCreation: true})
	o.sees(createdAt(bareNode("a", "1"), observerEpoch.Add(-time.Hour)))
	o.silent(t, "a")
}

// H1: for all other nodes only observation counts, and so it does by default.
func TestH1CreationCountsForNoOtherNode(t *testing.T) {
	created := observerEpoch.Add(-time.Hour)
	fromCreation := nodehealth.Config{StartupFromCreation: true}
	for _, test := range []struct {
		name   string
		config nodehealth.Config
		see    func(o *observer)
		grace  time.Duration
	}{
		{"the default", nodehealth.Config{}, func(o *observer) {
			o.sees(createdAt(bareNode("a", "1"), created))
		}, startupGrace},
		{"it has reported", fromCreation, func(o *observer) {
			o.sees(createdAt(reportingNode("a", "1", nodeClock), created))
		}, monitorGrace},
		{"its lease was listed before it", fromCreation, func(o *observer) {
			o.seesLease(renewedLease("a", nodeClock))
			o.sees(createdAt(bareNode("a", "1"), created))
		}, startupGrace},
		{"its lease was listed after it", fromCreation, func(o *observer) {
			o.sees(createdAt(bareNode("a", "1"), created))
			o.seesLease(renewedLease("a", nodeClock))
		}, startupGrace},
	} {
		t.Run(test.name, func(t *testing.T) {
			monitor, err := nodehealth.NewNodeMonitor(test.config, observerEpoch)
			require.NoError(t, err)
			o := &observer{monitor, observerEpoch}
			test.see(o)
			o.MarkSynced()
			require.Equal(t, observerEpoch, o.lastBeat(t, "a"))
			o.silentExactly(t, observerEpoch.Add(test.grace), "a")
		})
	}
}

// H2: a heartbeat counts from when it is observed, also of a node that would have
// been silent.
func TestH2HeartbeatEndsStartupGraceFromCreation(t *testing.T) {
	for name, combine := range map[string]func(nodehealth.Heard) time.Time{
		"alone": nil, "combined": nodehealth.Heard.Latest,
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t, nodehealth.Config{StartupFromCreation: true, Combine: combine})
			o.sees(createdAt(bareNode("a", "1"), observerEpoch.Add(-40*time.Second)))
			o.pass(10 * time.Second)
			o.seesLease(renewedLease("a", nodeClock))
			require.Equal(t, o.now, o.lastBeat(t, "a"))
			o.silentExactly(t, o.now.Add(startupGrace), "a")
		})
	}
}

// A node of which one source is silent is not heard, since its creation either.
func TestCreationIsNoHeartbeatOfAnotherSource(t *testing.T) {
	status := func(heard nodehealth.Heard) time.Time { return heard.Status }
	o := newObserver(t, nodehealth.Config{StartupFromCreation: true, Combine: status})
	o.sees(createdAt(bareNode("a", "1"), observerEpoch.Add(-30*time.Second)))
	o.pass(10 * time.Second)
	o.seesLease(renewedLease("a", nodeClock))
	require.False(t, o.HasHeartbeat("a"))
	o.silentExactly(t, observerEpoch.Add(startupGrace-29*time.Second), "a")
}

// H4: also a node whose startup grace period was over before the monitor began
// is silent only once silence counts.
func TestH4StartupFromCreationWaitsForSight(t *testing.T) {
	o := newObserver(t, nodehealth.Config{StartupFromCreation: true, SightTimeout: 12 * time.Second})
	o.sees(createdAt(bareNode("a", "1"), observerEpoch.Add(-time.Hour)))
	o.sees(reportingNode("b", "2", nodeClock))
	for range 2 {
		o.quiet(t)
		o.pass(10 * time.Second)
		o.Heartbeat(o.now, "b")
		o.Answered(o.now, o.now)
	}
	o.silent(t, "a")
}

func TestMonitorRefusesStartupFromCreation(t *testing.T) {
	_, err := nodehealth.NewMonitor[string](nodehealth.Config{StartupFromCreation: true}, observerEpoch)
	require.ErrorIs(t, err, nodehealth.ErrInvalidConfig)
	require.ErrorContains(t, err, "StartupFromCreation")
}
