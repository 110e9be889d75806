package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// prepared sets the demonstration up, with flags besides its own.
func prepared(t *testing.T, seed uint64, args ...string) *demo {
	t.Helper()
	s := new(settings)
	flags := command(s).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.NoError(t, check(s))
	d, err := newDemo(s, flags, seed)
	require.NoError(t, err)
	return d
}

// demonstrated runs the demonstration at once, and returns what it wrote and
// the result.
func demonstrated(t *testing.T, d *demo, live bool) (string, error) {
	t.Helper()
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, d.Elapsed)
	if live {
		screen = demonstration.NewPicture(&out, d.Elapsed)
	}
	err := d.Run(t.Context(), demonstration.AtOnce, screen)
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

// The fleet keeps what the summary claims, whatever chance does.
func TestDemonstrationHolds(t *testing.T) {
	for seed := range uint64(5) {
		d := prepared(t, seed)
		out, err := demonstrated(t, d, seed%2 == 1)
		require.NoError(t, err, "seed %d\n%s", seed, out)
		require.Less(t, d.Elapsed()-simulation.RestTime, 75*time.Second)
		require.Contains(t, out, "9/9 all pods are deleted")
		require.Contains(t, out, "130 pods were removed")
		require.NotContains(t, out, "FAIL")
		require.Contains(t, out, "\n    40 create nodes\n")
		require.Contains(t, out, "\n    40 create leases\n")
	}
}

// Each run shows the same, to the byte.
func TestDemonstrationIsTheSameEachTime(t *testing.T) {
	d := prepared(t, 0)
	first, err := demonstrated(t, d, false)
	require.NoError(t, err)
	d = prepared(t, 0)
	again, err := demonstrated(t, d, false)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// What no kubelet may is written, of three pods. A kubelet seems to have removed
// one of them. Each claim names the pod that it is about, and no other.
func TestDemonstrationFindsWhatItDoesNotClaim(t *testing.T) {
	restarted := `{"status":{"containerStatuses":[{"name":"main","image":"image","imageID":"image","restartCount":7}]}}`
	keyOf := func(pod string) apiserver.Key { return apiserver.Key{Namespace: simulation.Namespace, Name: pod} }
	d := prepared(t, 0)
	d.At(30*time.Second, func() {
		for name, patch := range map[string]string{"pod-0004": `{"status":{"message":"x"}}`, "pod-0003": restarted} {
			_, err := d.Users().Server.Patch(d.Now(), network.Pods.Resource(), keyOf(name), types.StrategicMergePatchType,
				[]byte(patch), apiserver.WriteOptions{Subresource: "status"})
			require.NoError(t, err)
		}
		_, err := d.Users().Server.Delete(d.Now(), network.Pods.Resource(), keyOf("pod-0002"),
			metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		require.NoError(t, err)
		changes := d.History().Changes
		removal := changes[len(changes)-1]
		pod, _ := removal.Before.(*corev1.Pod)
		removal.By = &invariant.Call{Node: pod.Spec.NodeName, Pod: pod.UID, Decided: d.Now()}
	})
	out, err := demonstrated(t, d, false)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Contains(t, out,
		"FAIL  nothing was written of silent nodes and their pods\n      except for 1: pod-0004")
	require.Contains(t, out,
		"FAIL  no count of restarts and no final phase went back\n      except for 1: main of pod-0003")
	require.Contains(t, out,
		"FAIL  no container ran when its pod was removed\n      except for 3: pod-0002")
}

// A step that does not get to its end is the last one.
func TestDemonstrationEndsWhenAStepDoes(t *testing.T) {
	d := prepared(t, 0)
	d.At(500*time.Millisecond, func() {
		require.NoError(t, d.Users().Delete(network.Nodes.Resource(), "hollow-00009"))
	})
	out, err := demonstrated(t, d, false)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Contains(t, out, "FAIL  each of the 2 steps got where it should")
	require.NotContains(t, out, "3/9")
}

// The nodes that are silent when the script ends early are not held against the
// fleet.
func TestDemonstrationIsJudgedWithoutItsFaults(t *testing.T) {
	d := prepared(t, 0)
	d.At(10*time.Second, func() {
		repair := annotation(kubelet.AnnotationRuntimeDown, "false")
		require.NoError(t, d.Users().Patch(network.Nodes.Resource(), types.MergePatchType, repair, "hollow-00001"))
	})
	out, err := demonstrated(t, d, false)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Contains(t, out, "FAIL  each of the 4 steps got where it should\n      except for 1: step 4: Ready of hollow-00001")
	require.Contains(t, out, "ok    everything else was as kubelets promise\n")
}

// Ctrl-C ends it without a summary, and without an error.
func TestDemonstrationIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	d := prepared(t, 0)
	d.At(4*time.Second, stop)
	var out bytes.Buffer
	require.NoError(t, d.Run(ctx, demonstration.AtOnce, demonstration.NewScreen(&out, d.Elapsed)))
	require.Less(t, d.Elapsed(), 5*time.Second)
	require.NotContains(t, out.String(), "What")
}
