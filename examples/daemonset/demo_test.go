package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// prepared sets the demonstration up, with flags besides its own.
func prepared(t *testing.T, seed uint64, args ...string) *demo {
	t.Helper()
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(args))
	d, err := newDemo(&s, flags, seed)
	require.NoError(t, err)
	return d
}

// demonstrated runs the demonstration at once, and returns what it wrote and
// the result.
func demonstrated(t *testing.T, d *demo) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := d.Run(t.Context(), demonstration.AtOnce, demonstration.NewScreen(&out, d.Elapsed))
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

// The controller keeps what the summary claims, whatever chance does.
func TestDemonstrationHolds(t *testing.T) {
	for seed := range uint64(5) {
		out, err := demonstrated(t, prepared(t, seed))
		require.NoError(t, err, "seed %d\n%s", seed, out)
		require.NotContains(t, out, "FAIL")
		require.Contains(t, out, "Most nodes of agent down in a rollout: 3. Most\nnodes of proxy with a surge pod: 3.")
		require.Contains(t, out, "\n   109 create pods\n")
		require.Regexp(t, `\n +\d\d patch daemonsets/status\n`, out)
		require.Regexp(t, `\n 2\d\.\ds  7/7 roll back`, out, "it takes less than half a minute")
	}
}

// Each run shows the same, to the byte.
func TestDemonstrationIsTheSameEachTime(t *testing.T) {
	first, err := demonstrated(t, prepared(t, 0))
	require.NoError(t, err)
	again, err := demonstrated(t, prepared(t, 0))
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestDemonstrationFitsATerminal(t *testing.T) {
	d := prepared(t, 0)
	var out bytes.Buffer
	screen := demonstration.NewPicture(&out, func() time.Duration { return d.Elapsed() + 1000*time.Second })
	require.NoError(t, d.Run(t.Context(), demonstration.AtOnce, screen))
	require.Contains(t, out.String(), "  7/7 roll back")
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
}

// With few requests a second it takes longer, and keeps to that.
func TestDemonstrationTakesFlagsOfTheController(t *testing.T) {
	d := prepared(t, 0, "--kube-api-qps=10", "--kube-api-burst=5")
	out, err := demonstrated(t, d)
	require.NoError(t, err, out)
	require.InDelta(t, 10, d.History().PerSecond, 0)
	require.Regexp(t, `\n (3|4|5|6)\d\.\ds  7/7 roll back`, out)
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

// A step that does not get to its end is the last one.
func TestDemonstrationEndsWhenAStepDoes(t *testing.T) {
	d := prepared(t, 0)
	d.At(4*time.Second, func() { require.NoError(t, d.Delete(network.DaemonSets.Resource(), "proxy")) })
	out, err := demonstrated(t, d)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Contains(t, out, "FAIL  after each of the 7 steps pods and status were as they should\n"+
		"      except for 2: step 2: proxy is missing; 5 not played;\n")
	require.Contains(t, out,
		"FAIL  the bad image cost 3 pods of agent, and none of proxy\n      except for 1: not played\n")
	require.NotContains(t, out, "3/7")
}
