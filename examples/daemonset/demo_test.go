package main

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// demonstrated runs the demonstration in virtual time, and returns what it
// wrote and the result. Meddle does to the cluster what the script does not.
func demonstrated(t *testing.T, screen func(*bytes.Buffer) *demonstration.Screen,
	meddle func(context.Context, *memory.Cluster) error) (string, error) {
	t.Helper()
	var s settings
	require.NoError(t, demonstration.SetDefaults(command(&s).FlagSet(), demoDefaults))
	cluster := memory.NewCluster()
	meddled := make(chan error, 1)
	go func() { meddled <- meddle(t.Context(), cluster) }()
	var out bytes.Buffer
	err := demonstrateOn(t.Context(), cluster, cluster.NewClient(), &s, screen(&out), &out)
	require.NoError(t, <-meddled)
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

func inLines(out *bytes.Buffer) *demonstration.Screen {
	return demonstration.NewScreen(out, demonstration.NewClock().Elapsed)
}

// The whole program with its informers, clients and dispatcher, and its own
// judgement of itself, as a picture and as lines.
func TestDemonstrationHolds(t *testing.T) {
	for name, screen := range map[string]func(*bytes.Buffer) *demonstration.Screen{
		"in lines": inLines,
		"on a terminal": func(out *bytes.Buffer) *demonstration.Screen {
			return demonstration.NewPicture(out, demonstration.NewClock().Elapsed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				out, err := demonstrated(t, screen, func(context.Context, *memory.Cluster) error { return nil })
				require.NoError(t, err, out)
				require.Less(t, time.Since(started), 45*time.Second)
				require.Contains(t, out, "Most nodes of agent down in a rollout: 3. Most\nnodes of proxy with a surge pod: 3.")
				require.NotContains(t, out, "FAIL")
			})
		})
	}
}

// A pod that is deleted without a reason is found in the history, though the
// controller replaces it before the step ends.
func TestDemonstrationFindsADeletionWithoutAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := demonstrated(t, inLines, func(ctx context.Context, cluster *memory.Cluster) error {
			time.Sleep(1500 * time.Millisecond)
			pods := cluster.CoreV1().Pods(demoNamespace)
			all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=agent"})
			if err != nil {
				return err
			}
			return pods.Delete(ctx, all.Items[0].Name, metav1.DeleteOptions{})
		})
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out, "pods that were deleted had a reason to go\n      except for 1: agent-")
	})
}

// A step that does not get to its end is the last one.
func TestDemonstrationEndsWhenAStepDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		out, err := demonstrated(t, inLines, func(ctx context.Context, cluster *memory.Cluster) error {
			time.Sleep(4 * time.Second)
			return cluster.AppsV1().DaemonSets(demoNamespace).Delete(ctx, "proxy", metav1.DeleteOptions{})
		})
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Less(t, time.Since(started), 10*time.Second+demoPatience)
		require.Contains(t, out, "proxy is missing;")
		require.Contains(t, out, "not played")
		require.NotContains(t, out, "3/7")
	})
}
