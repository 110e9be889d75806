package timedqueue

import (
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntriesCountKeysAndKeepThoseThatAct(t *testing.T) {
	s := newEntries[string, int]()
	e, isNew := s.insert("a", 1)
	require.True(t, isNew)
	again, isNew := s.insert("a", 2)
	require.False(t, isNew)
	require.Same(t, e, again)
	require.Equal(t, 1, e.value, "inserting it again changes nothing")

	e.state = acting
	s.removeActing(e)
	_, there := s.member("a")
	require.False(t, there)
	require.Zero(t, s.members)
	again, isNew = s.insert("a", 3)
	require.True(t, isNew)
	require.Same(t, e, again, "so that its key is not acted on twice at a time")
	require.Equal(t, replaced, e.state)
	require.Equal(t, 1, s.members)

	s.removeActing(e)
	s.forget(e)
	require.Zero(t, s.members, "it is not counted twice")
	require.Empty(t, s.byKey)
	reused, _ := s.insert("b", 4)
	require.Same(t, e, reused)
	require.Equal(t, Entry[string, int]{key: "b", value: 4, due: never, state: idle}, *reused)
}

func TestEntriesShrinkToThoseThatAreLeft(t *testing.T) {
	for _, found := range []int{0, 1, 2} { // by where they wait or act
		s := newEntries[string, int]()
		for i := range 2000 {
			s.insert(strconv.Itoa(i), i)
		}
		for i := range 1998 {
			require.Equal(t, i > 2000-2000/16, s.wasteful(), i)
			s.forget(s.byKey[strconv.Itoa(i)])
		}
		left := maps.Clone(s.byKey)
		s.shrink(func(yield func(*Entry[string, int]) bool) {
			for i := range found {
				yield(left[strconv.Itoa(1998+i)])
			}
		})
		require.Equal(t, left, s.byKey)
		require.Equal(t, 2, s.peak)
		require.False(t, s.wasteful())
	}
}
