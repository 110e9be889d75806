package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimelinesTellKindsApart(t *testing.T) {
	kindOf := func(_ string, n int) string {
		switch {
		case n == 0:
			return "zero"
		case n%2 == 1:
			return "odd"
		}
		return "even"
	}
	config := QueueConfig[string, int]{Kinds: []string{"odd", "zero", "odd"}, KindOf: kindOf}
	s := newTimelines(config, orderOf[string, int](nil))
	require.Len(t, s.byKind, 3)
	entries := make([]*Entry[string, int], 5)
	for i := range entries {
		entries[i] = &Entry[string, int]{value: i}
		s.push(entries[i], time.Duration(10-i))
	}
	firstOf := func(kind string) *Entry[string, int] { return s.byKind[s.kindNamed(kind)].first() }
	require.Same(t, entries[0], firstOf("zero"))
	require.Same(t, entries[3], firstOf("odd"))
	require.Same(t, entries[4], firstOf("all others"))
	require.Equal(t, time.Duration(6), earliest(s.byKind))
	require.Equal(t, never, earliest(s.byKind[:0]))

	entries[4].value = 7
	s.refile(entries[4])
	require.Same(t, entries[2], firstOf("all others"))
	require.Same(t, entries[4], firstOf("odd"))
	s.move(entries[4], 20)
	require.Same(t, entries[3], firstOf("odd"))

	seen := 0
	require.True(t, s.all(func(*Entry[string, int]) bool { seen++; return true }))
	require.Equal(t, 5, seen)
	for _, e := range entries {
		s.remove(e)
	}
	s.shrink()
	require.Equal(t, never, earliest(s.byKind))
}
