package runner

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// quickly makes heartbeats of two seconds, so that a lease of eight has passed
// soon.
func quickly(c *Config) {
	c.Heartbeat = heartbeat.Config{
		LeaseDuration: 8 * time.Second, RenewInterval: 2 * time.Second, StatusInterval: 2 * time.Second,
		ReportInterval: 4 * time.Second,
	}
}

// A node whose calls fail is as one that is silent: its lease expires, and its
// status grows old. Its containers go on.
func TestANodeWhoseCallsAllFailIsNotHeard(t *testing.T) {
	for name, separate := range map[string]bool{"one sender": false, "separate reports": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				_, stop := w.start(func(c *Config) {
					quickly(c)
					c.Register, c.SeparateReports = named("a", "b"), separate
				})
				defer stop()
				w.addPod("p", "a", nil)
				wait(10 * time.Second)
				w.annotate("a", kubelet.AnnotationAPIFailures, "1")
				wait(30 * time.Second)
				lease, status := w.renewed("a")
				assert.Greater(t, lease, 29*time.Second)
				assert.Greater(t, status, 29*time.Second)
				lease, status = w.renewed("b")
				assert.Less(t, lease, 3*time.Second)
				assert.Less(t, status, 10*time.Second)

				w.annotate("a", kubelet.AnnotationAPIFailures, "0")
				wait(4 * time.Second)
				lease, status = w.renewed("a")
				assert.Less(t, lease, 3*time.Second)
				assert.Less(t, status, 10*time.Second)
				assert.Equal(t, "Running ready 0", w.ready("p"))
			})
		})
	}
}

// Of some calls that fail the next ones succeed, and the lease stays.
func TestANodeWithSomeCallsThatFailIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		beats := &counted{}
		_, stop := w.start(func(c *Config) {
			quickly(c)
			c.Register, c.Beats = named("a", "b"), beats
		})
		defer stop()
		wait(10 * time.Second)
		require.Zero(t, beats.leases)
		w.annotate("a", kubelet.AnnotationAPIFailures, "0.3")
		for range 60 {
			wait(10 * time.Second)
			lease, _ := w.renewed("a")
			require.Less(t, lease, 8*time.Second)
		}
		assert.InDelta(t, 300*0.3/0.7, beats.leases, 60)
		assert.NotZero(t, beats.statuses)
		assert.Equal(t, "hollownode with api-failures=0.3", w.node("a").Status.NodeInfo.OSImage)
		assert.Equal(t, "hollownode", w.node("b").Status.NodeInfo.OSImage)
	})
}

// counted counts heartbeats that have failed.
type counted struct {
	heartbeat.Metrics

	leases, statuses int
}

func (c *counted) LeaseRenewed(time.Duration)   {}
func (c *counted) StatusReported(time.Duration) {}
func (c *counted) LeaseFailed()                 { c.leases++ }
func (c *counted) StatusFailed()                { c.statuses++ }

// A slow API delays the heartbeats of its node, and no others. Calls that take
// longer than a heartbeat may never arrive.
func TestASlowAPIDelaysItsNodesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("node-", i))
		}
		_, stop := w.start(func(c *Config) {
			quickly(c)
			c.Register = named(names...)
			c.Heartbeat.Workers = 2
		})
		defer stop()
		wait(10 * time.Second)
		for _, name := range names[:10] {
			w.annotate(name, kubelet.AnnotationAPILatency, "1500ms")
		}
		wait(10 * time.Second)
		for range 20 {
			wait(700 * time.Millisecond)
			for i, name := range names {
				lease, _ := w.renewed(name)
				longest := 2500 * time.Millisecond
				if i < 10 {
					longest += 1500 * time.Millisecond
				}
				require.Less(t, lease, longest, name)
			}
		}
		assert.Equal(t, "hollownode with api-latency=1.5s", w.node(names[0]).Status.NodeInfo.OSImage)

		w.annotate(names[0], kubelet.AnnotationAPILatency, "2500ms")
		wait(20 * time.Second)
		lease, status := w.renewed(names[0])
		assert.Greater(t, lease, 18*time.Second, "a heartbeat has 2 s")
		assert.Greater(t, status, 18*time.Second)
		w.annotate(names[0], kubelet.AnnotationSilent, "")
		w.annotate(names[0], kubelet.AnnotationAPILatency, "0s")
		wait(10 * time.Second)
		lease, _ = w.renewed(names[0])
		assert.Greater(t, lease, 28*time.Second, "it is silent")
		w.annotate(names[0], kubelet.AnnotationSilent, "false")
		wait(time.Second)
		lease, _ = w.renewed(names[0])
		assert.Less(t, lease, 2*time.Second)
	})
}

// A node that is slow and goes has no heartbeats left, nor has one that comes
// back quick.
func TestASlowNodeGoesAndComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(quickly)
		defer stop()
		create := func(node *corev1.Node) {
			node.Labels = map[string]string{Label: "test"}
			_, err := w.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		create(named("a")[0])
		wait(time.Second)
		w.annotate("a", kubelet.AnnotationAPILatency, "1s")
		wait(10 * time.Second)
		require.NoError(t, w.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		wait(10 * time.Second)
		before := w.requests("update leases")
		wait(10 * time.Second)
		assert.Equal(t, before, w.requests("update leases"))
		create(named("a")[0])
		wait(10 * time.Second)
		assert.InDelta(t, before+5, w.requests("update leases"), 1)
	})
}

// With a clock that is wrong a lease and the conditions of the Node agree. The
// statuses of pods have the time of the API server.
func TestAWrongClockShowsInLeaseAndNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(func(c *Config) {
			quickly(c)
			c.Register = named("a")
		})
		defer stop()
		wait(10 * time.Second)
		w.annotate("a", kubelet.AnnotationClockSkew, "-1h")
		wait(10 * time.Second)
		lease, status := w.renewed("a")
		assert.InDelta(t, time.Hour, lease, float64(3*time.Second))
		assert.InDelta(t, time.Hour, status, float64(9*time.Second))
		registered := w.node("a").Status.Conditions[3].LastTransitionTime
		assert.WithinDuration(t, time.Now(), registered.Time, 30*time.Second, "Ready has not changed since")

		w.annotate("a", kubelet.AnnotationMemoryPressure, "")
		w.addPod("p", "a", map[string]string{})
		wait(time.Second)
		pressure := w.node("a").Status.Conditions[0]
		assert.Equal(t, corev1.ConditionTrue, pressure.Status)
		assert.WithinDuration(t, time.Now().Add(-time.Hour), pressure.LastTransitionTime.Time, 3*time.Second)
		w.annotate("a", kubelet.AnnotationMemoryPressure, "false")
		w.addPod("q", "a", map[string]string{})
		wait(time.Second)
		assert.WithinDuration(t, time.Now(), w.pod("q").Status.StartTime.Time, 3*time.Second)
	})
}
