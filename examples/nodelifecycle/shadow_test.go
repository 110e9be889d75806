package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// wantReadsOnly wants a client that has sent no write, except of leases if they
// are its own.
func wantReadsOnly(t *testing.T, client *memory.Client, leases bool) {
	t.Helper()
	for request := range client.Requests() {
		switch {
		case request.Verb == "get", request.Verb == "list", request.Verb == "watch":
		case leases && request.Resource == "leases":
		default:
			t.Errorf("the shadow has sent %s", request)
		}
	}
}

// C7: a shadow alone decides all that a controller does, sends nothing, and
// tells it in the end. As nothing happens in the cluster, all is open.
func TestC7AShadowDecidesAllAndSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		w := newShadowWorld(t, cluster)
		ctx, stop := context.WithCancel(t.Context())
		var s settings
		c := command(&s)
		acting, electing := cluster.NewClient(), cluster.NewClient()
		c.Run = func(ctx context.Context, _ *pflag.FlagSet, out io.Writer) error {
			return program(&s, out).RunOn(ctx, process.Clients{
				Acting: acting, Watching: acting, Recording: acting, Electing: electing,
			})
		}
		html := filepath.Join(t.TempDir(), "shadow.html")
		var out, diagnostics bytes.Buffer
		ended, beating := make(chan int, 1), make(chan error, 1)
		go func() { beating <- w.run(ctx) }()
		go func() {
			ended <- c.Execute(ctx, []string{
				"--shadow", "--secure-port=0", "--node-monitor-grace-period=20s", "--node-startup-grace-period=20s",
				"--node-heartbeat-interval=1s", "--node-eviction-rate=10", "--shadow-html=" + html,
			}, &out, &diagnostics)
		}()
		time.Sleep(time.Minute)
		w.silence(t, true, "node-a00")
		time.Sleep(time.Minute)
		stop()
		require.Zero(t, <-ended, "%s", &diagnostics)
		require.NoError(t, <-beating)

		for _, want := range []string{
			`node-a00 +DeclareUnknown +Open`, `node-a00 +AddNoSchedule +node.kubernetes.io/unreachable +Open`,
			`node-a00 +AddNoExecute +node.kubernetes.io/unreachable +Open`,
			`default/node-a00-0 +MarkPodNotReady +Open`, `default/node-a00-0 +EvictPod +Open`,
			`EvictPod +Open +5 `, `DeclareUnknown +Open +1 `,
		} {
			require.Regexp(t, want, out.String())
		}
		require.NotContains(t, out.String(), "OnlyShadow")
		page, err := os.ReadFile(html)
		require.NoError(t, err)
		require.Contains(t, string(page), "default/node-a00-0</span> <span>EvictPod: only the shadow so far")
		wantReadsOnly(t, acting, false)
		wantReadsOnly(t, electing, true)
		background := context.Background()
		_, err = cluster.CoordinationV1().Leases(metav1.NamespaceSystem).
			Get(background, "nodelifecycle-shadow", metav1.GetOptions{})
		require.NoError(t, err)
		_, err = cluster.CoordinationV1().Leases(metav1.NamespaceSystem).Get(background, "nodelifecycle", metav1.GetOptions{})
		require.Error(t, err, "the lease of the controllers that act")
		events, err := cluster.CoreV1().Events("").List(background, metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, events.Items)
		node, err := cluster.CoreV1().Nodes().Get(background, "node-a00", metav1.GetOptions{})
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}))
	})
}

// C7: next to a controller that does the same, a shadow finds no difference
// that is larger than the times of the two.
func TestC7AShadowNextToItsLikeDiffersInNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		w := newShadowWorld(t, cluster)
		ctx, stop := context.WithCancel(t.Context())
		var out, none, diagnostics bytes.Buffer
		beating, ended := make(chan error, 1), make(chan int, 2)
		go func() { beating <- w.run(ctx) }()
		shadowed := cluster.NewClient()
		for i, client := range []*memory.Client{cluster.NewClient(), shadowed} {
			var s settings
			c := command(&s)
			c.Run = func(ctx context.Context, _ *pflag.FlagSet, out io.Writer) error {
				electing := cluster.NewClient()
				return program(&s, out).RunOn(ctx, process.Clients{
					Acting: client, Watching: client, Recording: client, Electing: electing,
				})
			}
			to := []*bytes.Buffer{&none, &out}[i]
			go func() {
				ended <- c.Execute(ctx, []string{
					"--shadow=" + strconv.FormatBool(client == shadowed), "--shadow-tolerance=1500ms",
					"--secure-port=0", "--node-monitor-grace-period=20s", "--node-startup-grace-period=20s",
					"--node-heartbeat-interval=1s", "--node-eviction-rate=10",
					"--kube-api-qps=1000", "--kube-api-burst=1000", // so that no order of writes matters
				}, to, &diagnostics)
			}()
			time.Sleep(time.Millisecond) // what they set up of the process, as klog, is global
		}
		time.Sleep(time.Minute)
		var failed []string
		for i := range 8 {
			failed = append(failed, fmt.Sprintf("node-a%02d", i))
		}
		for range 2 {
			w.silence(t, true, failed...)
			time.Sleep(time.Minute)
			w.silence(t, false, failed...)
			time.Sleep(time.Minute)
		}
		stop()
		require.Zero(t, <-ended, "%s", &diagnostics)
		require.Zero(t, <-ended, "%s", &diagnostics)
		require.NoError(t, <-beating)
		require.Empty(t, none.String())
		require.Contains(t, out.String(), "No differences.")
		require.Regexp(t, `DeclareUnknown +Same +16 `, out.String())
		require.Regexp(t, `AddNoExecute +Same +16 `, out.String())
		require.Regexp(t, `RemoveNoExecute +Same +16 `, out.String())
		require.Regexp(t, `EvictPod +Same +40 `, out.String())
		wantReadsOnly(t, shadowed, false)
	})
}
