package demonstration_test

import (
	"bytes"
	"context"
	"errors"
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

func newPlayer(world *calendar, pace demonstration.Pace) (player *demonstration.Player, shown *[]time.Duration) {
	shown = new([]time.Duration)
	return &demonstration.Player{World: world, Pace: pace, Glance: time.Second, Show: func() {
		*shown = append(*shown, world.elapsed)
	}}, shown
}

func TestEachGlanceIsShown(t *testing.T) {
	player, shown := newPlayer(&calendar{}, demonstration.AtOnce)
	require.True(t, player.Pass(t.Context(), 2500*time.Millisecond))
	require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 2500 * time.Millisecond}, *shown)
	require.True(t, player.Pass(t.Context(), 0))
	require.True(t, player.Pass(t.Context(), -time.Second), "it is over already")
	require.Equal(t, 2500*time.Millisecond, player.World.Elapsed())
}

func TestAwaitEndsWhenItIsReachedOrTakesTooLong(t *testing.T) {
	world := &calendar{}
	player, _ := newPlayer(world, demonstration.AtOnce)
	require.True(t, player.Await(t.Context(), time.Minute, func() bool { return world.elapsed >= 3*time.Second }))
	require.Equal(t, 3*time.Second, world.elapsed)
	require.True(t, player.Await(t.Context(), time.Minute, func() bool { return false }))
	require.Equal(t, 63*time.Second, world.elapsed)
}

// Virtual time passes as fast as the clock. It catches up with a little, and
// what a machine has lost that stood still it does not hurry to make good.
func TestTimePassesAtThePaceOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		world := &calendar{takes: 300 * time.Millisecond}
		player, _ := newPlayer(world, demonstration.OfTheClock())
		require.True(t, player.Pass(t.Context(), 10*time.Second))
		require.Equal(t, 10*time.Second, time.Since(started), "work within a glance costs no time")

		world.takes = 1500 * time.Millisecond
		require.True(t, player.Pass(t.Context(), time.Second))
		require.Equal(t, 11500*time.Millisecond, time.Since(started))
		world.takes = 300 * time.Millisecond
		require.True(t, player.Pass(t.Context(), time.Second))
		require.Equal(t, 12*time.Second, time.Since(started))

		world.takes = 5 * time.Second
		require.True(t, player.Pass(t.Context(), time.Second))
		require.Equal(t, 17*time.Second, time.Since(started))
		world.takes = 0
		require.True(t, player.Pass(t.Context(), 2*time.Second))
		require.Equal(t, 19*time.Second, time.Since(started))
	})
}

func TestPaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		started, world := time.Now(), &calendar{}
		player, _ := newPlayer(world, demonstration.OfTheClock())
		require.False(t, player.Pass(ctx, time.Minute))
		require.Equal(t, 2500*time.Millisecond, time.Since(started))
		require.Equal(t, 3*time.Second, world.elapsed)
		player.Pace = demonstration.AtOnce
		require.False(t, player.Pass(ctx, time.Minute))
		require.Equal(t, 4*time.Second, world.elapsed)
	})
}

// A script is played step by step, and ends with the first one that does not
// get where it should.
func TestScriptEndsWithTheStepThatLacksSomething(t *testing.T) {
	world := &calendar{}
	player, _ := newPlayer(world, demonstration.AtOnce)
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, world.Elapsed)
	player.Pause = 5 * time.Second
	done := 0
	do := func() error { done++; return nil }
	steps := []demonstration.Step{
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
	ended := 0
	lacking, over, err := player.Play(t.Context(), screen, steps, func() { ended++ })
	require.NoError(t, err)
	require.True(t, over)
	require.Equal(t, []string{"step 3: this;", "that;"}, lacking)
	require.Equal(t, 3, done)
	require.Equal(t, 3, ended)
	require.Equal(t, "  0.0s  1/4 wait\n  7.0s  2/4 get there\n 16.0s  3/4 never get there\n", out.String())
	require.Equal(t, 21*time.Second+demonstration.Patience, world.elapsed)

	lacking, over, err = player.Play(t.Context(), screen, steps[:1], func() {})
	require.NoError(t, err)
	require.True(t, over)
	require.Empty(t, lacking)
	failed := errors.New("broken")
	steps[0].Do = func() error { return failed }
	_, over, err = player.Play(t.Context(), screen, steps, func() {})
	require.ErrorIs(t, err, failed)
	require.ErrorContains(t, err, "step 1, wait: ")
	require.False(t, over)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, over, err = player.Play(ctx, screen, steps[1:], func() {})
	require.NoError(t, err)
	require.False(t, over)
}
