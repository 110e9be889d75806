package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newMetrics(t *testing.T, view View) (*Metrics, *prometheus.Registry) {
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(Config{Registry: registry, View: view})
	require.NoError(t, err)
	return m, registry
}

func TestNodesAreCountedByState(t *testing.T) {
	runtime, err := cri.NewFake(start)
	require.NoError(t, err)
	fleet, err := kubelet.NewFleet(kubelet.FleetConfig{Runtime: runtime}, start)
	require.NoError(t, err)
	_, registry := newMetrics(t, func(read func(*kubelet.Fleet)) { read(fleet) })
	for _, name := range []string{"a", "b", "c"} {
		fleet.ObserveNode(start, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	fleet.SetFaults(start, "b", kubelet.Faults{Silent: true})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP hollownode_nodes Nodes by state: silent; failing or stopped without a runtime; else running.
# TYPE hollownode_nodes gauge
hollownode_nodes{state="failing"} 0
hollownode_nodes{state="running"} 2
hollownode_nodes{state="silent"} 1
hollownode_nodes{state="stopped"} 0
`), "hollownode_nodes"))
}

func TestTasksAndHeartbeatsAreCountedByOutcome(t *testing.T) {
	m, _ := newMetrics(t, func(func(*kubelet.Fleet)) {})
	m.Performed(kubelet.TaskPatchStatus, nil)
	m.Performed(kubelet.TaskPatchStatus, errors.New("refused"))
	m.LeaseRenewed(time.Second)
	m.LeaseFailed()
	m.LeaseWithheld()
	m.StatusReported(time.Second)
	m.StatusFailed()
	m.StatusWithheld()
	for _, outcome := range []string{"done", "failed"} {
		require.InDelta(t, 1, testutil.ToFloat64(m.tasks.WithLabelValues("PatchStatus", outcome)), 0)
	}
	for _, kind := range []string{"lease", "status"} {
		for _, outcome := range []string{"done", "failed", "withheld"} {
			require.InDelta(t, 1, testutil.ToFloat64(m.beats.WithLabelValues(kind, outcome)), 0, "%s %s", kind, outcome)
		}
	}
}

func TestConfigIsValidated(t *testing.T) {
	_, err := NewMetrics(Config{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "Registry is nil, want a registry")
	require.ErrorContains(t, err, "View is nil, want a function")
}
