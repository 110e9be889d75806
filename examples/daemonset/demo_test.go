package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// newPlay sets the demonstration up, with flags besides its own.
func newPlay(t *testing.T, seed uint64, args ...string) *simulation.World {
	t.Helper()
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.NoError(t, demonstration.SetDefaults(flags, demoDefaults))
	world, err := newCluster(&s, seed)
	require.NoError(t, err)
	return world
}

// demonstrated runs the demonstration at once, and returns what it wrote and
// the result.
func demonstrated(t *testing.T, world *simulation.World) (string, error) {
	t.Helper()
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, world.Elapsed)
	err := demonstrateOn(t.Context(), world, demonstration.AtOnce, screen, &out)
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

// The controller keeps what the summary claims, whatever chance does.
func TestDemonstrationHolds(t *testing.T) {
	for seed := range uint64(5) {
		out, err := demonstrated(t, newPlay(t, seed))
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
	first, err := demonstrated(t, newPlay(t, 0))
	require.NoError(t, err)
	again, err := demonstrated(t, newPlay(t, 0))
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestDemonstrationFitsATerminal(t *testing.T) {
	world := newPlay(t, 0)
	var out bytes.Buffer
	screen := demonstration.NewPicture(&out, func() time.Duration { return world.Elapsed() + 1000*time.Second })
	require.NoError(t, demonstrateOn(t.Context(), world, demonstration.AtOnce, screen, &out))
	require.Contains(t, out.String(), "step 7 of 7")
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
}

// With few requests a second it takes longer, and keeps to that.
func TestDemonstrationTakesFlagsOfTheController(t *testing.T) {
	world := newPlay(t, 0, "--kube-api-qps=10", "--kube-api-burst=5")
	out, err := demonstrated(t, world)
	require.NoError(t, err, out)
	require.InDelta(t, 10, world.History().PerSecond, 0)
	require.Regexp(t, `\n (3|4|5|6)\d\.\ds  7/7 roll back`, out)
}

// Ctrl-C ends it without a summary, and without an error.
func TestDemonstrationIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	world := newPlay(t, 0)
	world.At(4*time.Second, stop)
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, world.Elapsed)
	require.NoError(t, demonstrateOn(ctx, world, demonstration.AtOnce, screen, &out))
	require.Less(t, world.Elapsed(), 5*time.Second)
	require.NotContains(t, out.String(), "What")
}

// A step that does not get to its end is the last one.
func TestDemonstrationEndsWhenAStepDoes(t *testing.T) {
	world := newPlay(t, 0)
	world.At(4*time.Second, func() { require.NoError(t, world.Delete(simulation.SetResource, "proxy")) })
	out, err := demonstrated(t, world)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Contains(t, out, "FAIL  after each of the 7 steps pods and status were as they should\n"+
		"      except for 2: step 2: proxy is missing; 5 not played;\n")
	require.Contains(t, out,
		"FAIL  the bad image cost 3 pods of agent, and none of proxy\n      except for 1: not played\n")
	require.NotContains(t, out, "3/7")
}
