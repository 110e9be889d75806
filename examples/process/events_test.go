package process

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// logged collects what client-go logs about Events until the test ends.
func logged(t *testing.T) func() string {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	t.Cleanup(klog.CaptureState().Restore)
	klog.SetLogger(funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{}))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

func messages(t *testing.T, cluster *memory.Cluster) []string {
	t.Helper()
	list, err := cluster.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Message)
	}
	return all
}

// A replica that ends still records that it has stopped leading. It used to log
// "Unable to record event: broadcaster already stopped" instead.
func TestEventsOutliveTheContextOfTheProgram(t *testing.T) {
	lines := logged(t)
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		ctx, stop := context.WithCancel(t.Context())
		all := NewEvents(ctx, cluster)
		r := newReplica(cluster)
		r.recorder = all.Recorder("tester")
		r.start(ctx)
		wait(time.Minute)
		require.True(t, r.acts.Load())
		stop()
		wait(time.Second)
		require.NoError(t, <-r.ended)
		require.Len(t, messages(t, cluster), 2)
		require.Contains(t, messages(t, cluster)[1], "stopped leading")
		all.Stop()
		wait(0)
	})
	require.NotContains(t, lines(), "Unable to record event")
}

// A process that is stuck ends while its parts still run.
func TestEventsAfterStopAreDropped(t *testing.T) {
	lines := logged(t)
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		all := NewEvents(t.Context(), cluster)
		recorder := all.Recorder("tester")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
		recorder.Event(pod, corev1.EventTypeNormal, "Before", "before")
		wait(time.Second)
		all.Stop()
		recorder.Event(pod, corev1.EventTypeNormal, "After", "after")
		recorder.Eventf(pod, corev1.EventTypeNormal, "After", "after %d", 1)
		recorder.AnnotatedEventf(pod, nil, corev1.EventTypeNormal, "After", "after %d", 1)
		wait(time.Second)
		require.Equal(t, []string{"before"}, messages(t, cluster))
	})
	require.NotContains(t, lines(), "Unable to record event")
}

// The limit of Events is that of no other client, and without one they have
// that of all.
func TestEventsHaveALimitOfTheirOwn(t *testing.T) {
	for _, test := range []struct{ events, want float32 }{{0, 20}, {7, 7}} {
		clients, err := newClients(&rest.Config{Host: "http://127.0.0.1:1", QPS: 20, Burst: 30},
			&commandline.Replica{EventQPS: test.events, EventBurst: 9}, false, nil)
		require.NoError(t, err)
		require.InDelta(t, test.want, clients.Recording.CoreV1().RESTClient().GetRateLimiter().QPS(), 0)
		require.InDelta(t, 20, clients.Watching.CoreV1().RESTClient().GetRateLimiter().QPS(), 0)
	}
}
