package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// renewed returns when the lease of a node was renewed, and the age of its last
// status.
func (w *world) renewed(node string) (lease, status time.Duration) {
	w.Helper()
	stored, err := w.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(w.Context(), node, metav1.GetOptions{})
	require.NoError(w, err)
	return time.Since(stored.Spec.RenewTime.Time), time.Since(w.node(node).Status.Conditions[3].LastHeartbeatTime.Time)
}

func TestSilentNodesAreSilentInEachActUntilTheyReturn(t *testing.T) {
	for name, separate := range map[string]bool{"one sender": false, "separate reports": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				r, stop := w.start(func(c *Config) {
					c.Register, c.SeparateReports = named("a", "b"), separate
					c.Heartbeat = heartbeat.Config{
						LeaseDuration: 4 * time.Second, RenewInterval: time.Second, StatusInterval: time.Second,
					}
				})
				defer stop()
				wait(5 * time.Second)
				lease, status := w.renewed("a")
				assert.Less(t, lease, 1100*time.Millisecond)
				assert.Greater(t, status, 3*time.Second, "it has not changed")
				r.SetSilent(true, "a", "unknown")
				w.addPod("p", "a", nil)
				wait(10 * time.Second)
				lease, _ = w.renewed("a")
				assert.Greater(t, lease, 9*time.Second)
				assert.Equal(t, "Pending", w.ready("p"))
				lease, _ = w.renewed("b")
				assert.Less(t, lease, 1100*time.Millisecond)

				r.SetSilent(false, "a", "unknown")
				wait(500 * time.Millisecond)
				lease, status = w.renewed("a")
				assert.Less(t, lease, time.Second)
				assert.Less(t, status, 2*time.Second, "one that returns reports")
				assert.Equal(t, "Running ready 0", w.ready("p"))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, err := w.CoreV1().Nodes().Create(t.Context(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{Label: "test"}}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		r, err := NewRunner(Config{Acting: w.client, Watching: w.client, Beating: w.client, Fleet: "test"})
		require.NoError(t, err)
		r.SetSilent(true, "a")
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, r.Run(ctx))
		assert.Empty(t, w.node("a").Status.Conditions, "it was silent before the first Act")
	})
}

// An API server that nothing reaches for a while makes leases expire. Kubelets
// do not report more often for that.
func TestAnExpiredLeaseIsAReasonToReportUnlessReportsAreSeparate(t *testing.T) {
	for name, separate := range map[string]bool{"one sender": false, "separate reports": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				beating := w.NewClient()
				var down atomic.Bool
				_, stop := w.start(func(c *Config) {
					c.Register, c.SeparateReports, c.Beating = named("a"), separate, failing{beating, &down}
					c.Heartbeat = heartbeat.Config{LeaseDuration: 4 * time.Second, RenewInterval: time.Second}
				})
				defer stop()
				wait(30 * time.Second)
				_, status := w.renewed("a")
				require.Greater(t, status, 20*time.Second)
				down.Store(true)
				wait(10 * time.Second)
				down.Store(false)
				wait(10 * time.Second)
				lease, status := w.renewed("a")
				assert.Less(t, lease, 2*time.Second)
				assert.Equal(t, separate, status > 20*time.Second, "%v", status)
			})
		})
	}
}

// failing has a client whose leases can fail.
type failing struct {
	*memory.Client
	down *atomic.Bool
}

func (f failing) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return failingLeases{f.Client.CoordinationV1(), f.down}
}

type failingLeases struct {
	coordinationclient.CoordinationV1Interface
	down *atomic.Bool
}

func (f failingLeases) Leases(namespace string) coordinationclient.LeaseInterface {
	return failingWrites{f.CoordinationV1Interface.Leases(namespace), f.down}
}

type failingWrites struct {
	coordinationclient.LeaseInterface
	down *atomic.Bool
}

var errDown = errors.New("the API server is down")

func (f failingWrites) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if f.down.Load() {
		return nil, errDown
	}
	return f.LeaseInterface.Update(ctx, lease, options)
}

// Between the nodes that a session sees and its first turn there is a gap.
func TestNodesCutOffWhileAFleetBeginsAreSilent(t *testing.T) {
	w := newWorld(t)
	r, err := NewRunner(Config{Acting: w.client, Watching: w.client, Beating: w.client, Fleet: "test"})
	require.NoError(t, err)
	s, err := r.newSession()
	require.NoError(t, err)
	node := named("a")[0]
	node.Labels = map[string]string{Label: "test"}
	s.edge.Nodes.OnAdd(node, true)
	r.SetSilent(true, "a")
	r.set(s)
	silent := 0
	require.True(t, r.View(func(fleet *kubelet.Fleet) { silent = fleet.NodeStates()["silent"] }))
	assert.Equal(t, 1, silent)
}

func TestAChangeIsReportedAtOnceThoughReportsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(func(c *Config) {
			c.Register, c.SeparateReports = named("a"), true
			c.Heartbeat.StatusInterval = time.Hour
		})
		defer stop()
		wait(time.Minute)
		w.annotate("a", kubelet.AnnotationMemoryPressure, "")
		wait(time.Second)
		pressure := w.node("a").Status.Conditions[0]
		assert.Equal(t, corev1.NodeMemoryPressure, pressure.Type)
		assert.Equal(t, corev1.ConditionTrue, pressure.Status)
	})
}
