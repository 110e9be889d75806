package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
)

// disruptedZone returns a court in which three of five nodes of zone a are down
// for a minute.
func disruptedZone(t *testing.T) *court {
	c := newCourt(t, 5)
	c.checks = false
	c.fall("a-0", "a-1", "a-2")
	c.run(time.Minute)
	return c
}

// A dead node is tainted when the wave has passed, and what its client may
// take.
func TestNoIdleTokenAfterADisruption(t *testing.T) {
	c := disruptedZone(t)
	c.recover("a-0")
	c.judge.Check()
	c.run(wave + 3*time.Second)
	c.judge.Check()
	require.NotContains(t, c.found(), judge.NoIdleToken)
	c.run(5 * time.Second) // more than the bound, and the token was there before
	c.judge.Check()
	require.Contains(t, c.found(), judge.NoIdleToken)
}
