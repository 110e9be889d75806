package main

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The demonstration, in virtual time: the whole program with its informers,
// clients and dispatcher, and its own judgement of itself.
func TestDemonstrationHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settings
		require.NoError(t, demonstration.SetDefaults(command(&s).FlagSet(), demoDefaults))
		require.NoError(t, s.Validate())
		started := time.Now()
		var out bytes.Buffer
		cluster := memory.NewCluster()
		require.NoError(t, demonstrateOn(t.Context(), cluster, &s, &out), "%s", &out)
		require.Less(t, time.Since(started), 45*time.Second)
		// Without a busy machine no node of a zone that is dying is tainted either,
		// although the last one is not silent yet.
		for name, n := range newHistory(cluster, time.Now()).nodes {
			for _, span := range n.tainted {
				after := span.stored.Sub(started)
				require.False(t, after > 28*time.Second && after < 38*time.Second, "%s after %v", name, after)
			}
		}
		require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
		t.Logf("%s", out.String()[bytes.Index(out.Bytes(), []byte("What the API server stored")):])
	})
}

// A busy machine has little time for the demonstration, so its nodes write
// little: a lease a second, and no status that has not changed.
func TestWorldReportsOnlyNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		w, err := newWorld(t.Context(), cluster)
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		require.NoError(t, w.run(ctx))
		nodes := len(w.nodes)
		require.LessOrEqual(t, len(cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes"))), 4*nodes)
		leases := len(cluster.Changes(coordinationv1.SchemeGroupVersion.WithResource("leases")))
		require.InDelta(t, 20*nodes, leases, float64(3*nodes))
	})
}

// Pods run on kubelets: these report them ready, and end what is deleted unless
// the node is down.
func TestWorldsNodesRunTheirPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		w, err := newWorld(t.Context(), cluster)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		pass := func() { time.Sleep(2 * time.Second) }
		pass()
		pods := cluster.CoreV1().Pods(metav1.NamespaceDefault)
		all, err := pods.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, all.Items, len(w.nodes)*len(podsPerNode))
		for i := range all.Items {
			require.True(t, slices.ContainsFunc(all.Items[i].Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}), "%s: %+v", all.Items[i].Name, all.Items[i].Status)
		}
		exists := func(name string) bool {
			_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			return err == nil
		}
		w.set([]string{"node-a00"}, true)
		for _, name := range []string{"node-a00-0", "node-a01-0"} {
			require.NoError(t, pods.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		pass()
		require.True(t, exists("node-a00-0"), "its node is down")
		require.False(t, exists("node-a01-0"))
		w.set([]string{"node-a00"}, false)
		pass()
		require.False(t, exists("node-a00-0"))
		stop()
		require.NoError(t, <-ended)
	})
}
