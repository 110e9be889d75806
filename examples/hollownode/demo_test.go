package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// demonstrated runs the demonstration in virtual time, and returns what it
// wrote and the result. Meddle does to the cluster what the script does not.
func demonstrated(
	t *testing.T, live bool, meddle func(context.Context, *memory.Cluster) error,
) (string, error) {
	t.Helper()
	var s settings
	require.NoError(t, demonstration.SetDefaults(command(&s).FlagSet(), demoDefaults))
	cluster := memory.NewCluster()
	meddled := make(chan error, 1)
	go func() { meddled <- meddle(t.Context(), cluster) }()
	var out bytes.Buffer
	clock := demonstration.NewClock()
	screen := demonstration.NewScreen(&out, clock.Elapsed)
	if live {
		screen = demonstration.NewPicture(&out, clock.Elapsed)
	}
	err := demonstrateOn(t.Context(), cluster, clock, &s, screen, &out)
	require.NoError(t, <-meddled)
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

// A demonstration says first on what it plays.
func TestDemonstrationSaysThatItIsOne(t *testing.T) {
	const first = "This plays on a cluster in memory. --kubeconfig FILE is for a real one.\n"
	ctx, stop := context.WithCancel(t.Context())
	stop() // so that it ends at once
	for value, want := range map[string]string{
		"":          first + "\n",
		"/etc/a:/b": first + "$KUBECONFIG is set, but it is not read: give the file to --kubeconfig.\n\n",
	} {
		t.Setenv("KUBECONFIG", value)
		var out bytes.Buffer
		require.Zero(t, run(ctx, nil, &out, io.Discard))
		require.Truef(t, strings.HasPrefix(out.String(), want+"  0.0s"), "%q", &out)
		require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	}
}

func TestDemonstrationHolds(t *testing.T) {
	for name, live := range map[string]bool{"in lines": false, "on a terminal": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				out, err := demonstrated(t, live, func(context.Context, *memory.Cluster) error { return nil })
				require.NoError(t, err, out)
				require.Less(t, time.Since(started), 75*time.Second)
				require.Contains(t, out, "9/9 all pods are deleted")
				require.Contains(t, out, "130 pods were removed")
				require.NotContains(t, out, "FAIL")
			})
		})
	}
}

// Another client writes what no kubelet may, of three pods. Each claim names
// the pod that it is about, and no other.
func TestDemonstrationFindsWhatItDoesNotClaim(t *testing.T) {
	restarted := `{"status":{"containerStatuses":[{"name":"main","image":"image","imageID":"image","restartCount":7}]}}`
	synctest.Test(t, func(t *testing.T) {
		out, err := demonstrated(t, false, func(ctx context.Context, cluster *memory.Cluster) error {
			time.Sleep(30 * time.Second)
			pods := cluster.CoreV1().Pods(demoNamespace)
			for name, patch := range map[string]string{"pod-0004": `{"status":{"message":"x"}}`, "pod-0003": restarted} {
				_, err := pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
				if err != nil {
					return err
				}
			}
			return pods.Delete(ctx, "pod-0002", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		})
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out,
			"FAIL  nothing was written of silent nodes and their pods\n      except for 1: pod-0004")
		require.Contains(t, out,
			"FAIL  no count of restarts and no final phase went back\n      except for 1: pod-0003")
		require.Contains(t, out,
			"FAIL  no container ran when its pod was removed\n      except for 1: pod-0002")
	})
}

// A step that does not get to its end is the last one.
func TestDemonstrationEndsWhenAStepDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := demonstrated(t, false, func(ctx context.Context, cluster *memory.Cluster) error {
			time.Sleep(500 * time.Millisecond)
			return cluster.CoreV1().Nodes().Delete(ctx, "hollow-00009", metav1.DeleteOptions{})
		})
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out, "FAIL  each of the 2 steps got where it should")
		require.NotContains(t, out, "3/9")
	})
}
