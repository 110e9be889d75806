package eviction

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// E10: a request for a node that is not known waits for the first of its name or
// for that of its UID, and at most so many wait.
func TestE10RequestIsClaimedByItsNode(t *testing.T) {
	s := newNodes(0)
	require.True(t, s.await("a", NodeRequest{Reason: "any"}))
	require.True(t, s.await("b", NodeRequest{Reason: "of b2", UID: "b2"}))
	a, b := s.record("a"), s.record("b")
	require.False(t, s.claim(a), "it was not observed")
	a.reset(present, "a1")
	require.True(t, s.claim(a))
	require.Equal(t, "any", a.eviction.reason)
	require.False(t, s.claim(a), "it is taken")
	b.reset(present, "b1")
	require.False(t, s.claim(b), "it is another instance")
	b.reset(present, "b2")
	require.True(t, s.claim(b))
	require.Empty(t, s.awaited)

	for i := range mostAwaited {
		require.True(t, s.await(fmt.Sprint(i), NodeRequest{}))
	}
	require.False(t, s.await("one more", NodeRequest{}))
	require.True(t, s.await("0", NodeRequest{UID: "another"}), "it takes the place of the former")
	require.Len(t, s.awaited, mostAwaited)
}

// A record stays while anything is known of its node.
func TestE3NodeIsDroppedWhenNothingIsKnownOfIt(t *testing.T) {
	s := newNodes(2)
	_, pods := newStagesOf(t, "p")
	e := pods["p"]
	a, b, c := s.record("a"), s.record("b"), s.record("c")
	require.Same(t, a, s.record("a"))
	require.Equal(t, []string{"", ""}, a.shares)
	a.addPod(e)
	b.reset(present, types.UID("b1"))
	for _, n := range []*node{a, b, c} {
		s.dropUnused(n)
	}
	require.Equal(t, map[string]*node{"a": a, "b": b}, s.byName)
	a.removePod(e)
	s.dropUnused(a)
	require.Equal(t, map[string]*node{"b": b}, s.byName)
}
