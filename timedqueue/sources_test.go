package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A supply is a source that hands out its name so many times, from due on.
type supply struct {
	name string
	left int
	due  time.Time
}

func (s *supply) Start(now time.Time) (string, bool) {
	if s.left == 0 || now.Before(s.due) {
		return "not a task", false
	}
	s.left--
	return s.name, true
}

func (s *supply) Next(time.Time) (time.Time, bool) { return s.due, s.left > 0 }

// taken starts all that can start now.
func taken(source Source[string], now time.Time) string {
	names := ""
	for name, ok := source.Start(now); ok; name, ok = source.Start(now) {
		names += name
	}
	return names
}

func supplies() (a, b, c *supply) {
	return &supply{"a", 3, at(0)}, &supply{"b", 5, at(0)}, &supply{"c", 4, at(0)}
}

func TestSourcesInOrder(t *testing.T) {
	a, b, c := supplies()
	all := InOrder[string](a, b, c)
	require.Equal(t, "aaabbbbbcccc", taken(all, at(0)))
	b.left, c.left = 1, 2
	name, _ := all.Start(at(0))
	require.Equal(t, "b", name)
	a.left = 1
	require.Equal(t, "acc", taken(all, at(0)), "the first is asked first each time")
}

func TestSourcesRoundRobin(t *testing.T) {
	a, b, c := supplies()
	all := RoundRobin[string](a, b, c)
	require.Equal(t, "abcabcabcbcb", taken(all, at(0)))
	a.left, c.left = 2, 2
	require.Equal(t, "caca", taken(all, at(0)), "a source without a task misses its turn")
	b.left, c.left = 2, 1
	require.Equal(t, "bcb", taken(all, at(0)))
}

// Turns pass only with a task, so that polls without one favour no source.
func TestSourcesKeepTheirTurnWhenThereIsNoTask(t *testing.T) {
	a, b, _ := supplies()
	all := RoundRobin[string](a, b)
	for range 3 {
		name, ok := all.Start(at(-1))
		require.False(t, ok)
		require.Empty(t, name, "what a source without a task returns is none")
	}
	require.Equal(t, "abababbb", taken(all, at(0)))
}

func TestSourcesAreSourcesThemselves(t *testing.T) {
	a, b, c := supplies()
	all := InOrder(SourceOf(a.Start, a.Next), RoundRobin[string](b, c))
	require.Equal(t, "aaabcbcbcbcb", taken(all, at(0)))
	none, ok := InOrder[string]().Start(at(0))
	require.False(t, ok)
	require.Empty(t, none)
}

func TestNextOfSourcesIsTheEarliest(t *testing.T) {
	a, b, c := supplies()
	a.left, b.due, c.due = 0, at(2*time.Second), at(time.Second)
	for _, all := range []Source[string]{InOrder[string](a, b, c), RoundRobin[string](a, b, c)} {
		next, ok := all.Next(at(0))
		require.True(t, ok)
		require.Equal(t, at(time.Second), next, "a, which has none, does not count")
	}
	b.left, c.left = 0, 0
	_, ok := InOrder[string](a, b, c).Next(at(0))
	require.False(t, ok)
	_, ok = RoundRobin[string]().Next(at(0))
	require.False(t, ok)
}

func TestSourcesAllocateNothing(t *testing.T) {
	a, b, c := supplies()
	a.left, b.left, c.left = 1000, 1000, 1000
	all := InOrder(SourceOf(a.Start, a.Next), RoundRobin[string](b, c))
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		all.Start(at(0))
		all.Next(at(0))
	}))
}
