package demonstration_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// calendar is a World in which nothing happens. To advance it takes some time
// of the clock.
type calendar struct{ elapsed, takes time.Duration }

func (c *calendar) Elapsed() time.Duration { return c.elapsed }

func (c *calendar) Advance(until time.Duration) {
	time.Sleep(c.takes)
	c.elapsed = until
}

// newPlay returns a Play that looks at the calendar, and has one claim.
func newPlay(world *calendar) (play *demonstration.Play[time.Duration], looks *[]time.Duration) {
	looks = new([]time.Duration)
	return &demonstration.Play[time.Duration]{
		Cluster: world, Glance: time.Second,
		Look: func() time.Duration {
			*looks = append(*looks, world.elapsed)
			return world.elapsed
		},
		Lines: func(demonstration.Tell) {},
		Summarize: func(out io.Writer, lacking []string) (claims demonstration.Claims, _ error) {
			_, err := io.WriteString(out, "figures\n")
			claims.Add(lacking, "it got there")
			return claims, err
		},
	}, looks
}

// run runs a Play and returns what it wrote.
func run(ctx context.Context, play *demonstration.Play[time.Duration], pace demonstration.Pace) (string, error) {
	var out bytes.Buffer
	err := play.Run(ctx, pace, demonstration.NewScreen(&out, play.Cluster.Elapsed))
	return out.String(), err
}

const summary = "figures\n\nWhat that proves:\nok    it got there\n"

func TestEachGlanceIsShown(t *testing.T) {
	play, looks := newPlay(&calendar{})
	play.Length = 2500 * time.Millisecond
	out, err := run(t.Context(), play, demonstration.AtOnce)
	require.NoError(t, err)
	require.Equal(t, summary, out)
	require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 2500 * time.Millisecond}, *looks)
	require.Equal(t, 2500*time.Millisecond, play.Seen)
}

// Virtual time passes as fast as the clock. It catches up with a little, and
// what a machine has lost that stood still it does not hurry to make good.
func TestTimePassesAtThePaceOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, pace := time.Now(), demonstration.OfTheClock()
		world := &calendar{}
		play, _ := newPlay(world)
		for _, c := range []struct{ takes, length, want time.Duration }{
			{300 * time.Millisecond, 10 * time.Second, 10 * time.Second}, // work within a glance costs no time
			{1500 * time.Millisecond, time.Second, 11500 * time.Millisecond},
			{300 * time.Millisecond, time.Second, 12 * time.Second},
			{5 * time.Second, time.Second, 17 * time.Second},
			{0, 2 * time.Second, 19 * time.Second},
		} {
			world.takes, play.Length = c.takes, c.length
			_, err := run(t.Context(), play, pace)
			require.NoError(t, err)
			require.Equal(t, c.want, time.Since(started))
		}
	})
}

// A Play that is interrupted has no summary.
func TestAPlayEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		started, world := time.Now(), &calendar{}
		play, _ := newPlay(world)
		play.Length = time.Minute
		out, err := run(ctx, play, demonstration.OfTheClock())
		require.NoError(t, err)
		require.Empty(t, out)
		require.Equal(t, 2500*time.Millisecond, time.Since(started))
		require.Equal(t, 3*time.Second, world.elapsed)
		out, err = run(ctx, play, demonstration.AtOnce)
		require.NoError(t, err)
		require.Empty(t, out)
		require.Equal(t, 3*time.Second, world.elapsed)
	})
}

// A script is played step by step, and ends with the first one that does not
// get where it should.
func TestScriptEndsWithTheStepThatLacksSomething(t *testing.T) {
	world := &calendar{}
	play, _ := newPlay(world)
	play.Pause = 5 * time.Second
	done := 0
	do := func() error { done++; return nil }
	play.Steps = []demonstration.Step{
		{Title: "wait", Do: do, Pause: 2 * time.Second},
		{Title: "get there", Do: do, Pause: time.Second, Lacks: func() []string {
			if world.elapsed < 10*time.Second {
				return []string{"it is early;"}
			}
			return nil
		}},
		{Title: "never get there", Do: do, Lacks: func() []string { return []string{"this;", "that;"} }},
		{Title: "go on", Do: do},
	}
	out, err := run(t.Context(), play, demonstration.AtOnce)
	require.ErrorIs(t, err, demonstration.ErrNotHeld)
	require.Equal(t, 3, done)
	require.Equal(t, "  0.0s  1/4 wait\n  7.0s  2/4 get there\n 16.0s  3/4 never get there\n"+
		"figures\n\nWhat that proves:\nFAIL  it got there\n      except for 2: step 3: this; that;\n", out)
	require.Equal(t, 21*time.Second+demonstration.Patience, world.elapsed)
	require.Equal(t, []time.Duration{7 * time.Second, 16 * time.Second, world.elapsed}, play.Ends)

	play.Steps = play.Steps[:1]
	out, err = run(t.Context(), play, demonstration.AtOnce)
	require.NoError(t, err)
	require.Equal(t, " 81.0s  1/1 wait\n"+summary, out)

	failed := errors.New("broken")
	play.Steps[0].Do = func() error { return failed }
	out, err = run(t.Context(), play, demonstration.AtOnce)
	require.ErrorIs(t, err, failed)
	require.ErrorContains(t, err, "step 1, wait: ")
	require.Equal(t, " 88.0s  1/1 wait\n", out)
	play.Summarize = func(io.Writer, []string) (demonstration.Claims, error) { return nil, failed }
	play.Steps = nil
	_, err = run(t.Context(), play, demonstration.AtOnce)
	require.ErrorIs(t, err, failed)
}
