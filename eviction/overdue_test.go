package eviction

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

var someTime = time.Unix(1_800_000_000, 0)

// newStagesOf returns stages and pods of a node with the given names.
func newStagesOf(t *testing.T, ids ...types.UID) (*stages, map[types.UID]*entry) {
	t.Helper()
	s, err := newStages(new(Config), new(shares).queueConfig(new(Config)), someTime)
	require.NoError(t, err)
	n, entries := new(node), map[types.UID]*entry{}
	for _, id := range ids {
		e, _ := s.evictions.Keep(id, pod{node: n, traits: new(traits)})
		n.addPod(e)
		entries[id] = e
	}
	return &s, entries
}

// E14: when a hold ends, what is held is decided again once, by its deadlines.
// What is held again meanwhile waits for the end of the next hold.
func TestE14OverdueIsDecidedAgainInRounds(t *testing.T) {
	s, pods := newStagesOf(t, "a", "b", "c")
	o, now := &s.overdue, someTime.Add(time.Minute)
	taken := func() (ids []types.UID) {
		for {
			e, some := o.take(now)
			if !some {
				return ids
			}
			ids = append(ids, e.Key())
			o.add(e, someTime.Add(time.Second)) // it is held again
		}
	}
	o.add(pods["b"], someTime.Add(2*time.Second))
	o.add(pods["a"], someTime.Add(time.Second))
	require.Empty(t, taken(), "no hold has ended")
	o.reopen()
	e, _ := o.take(now)
	require.Equal(t, types.UID("a"), e.Key())
	o.add(e, someTime.Add(3*time.Second))
	o.reopen() // before the round has ended
	require.Equal(t, []types.UID{"b", "b", "a"}, taken())
	o.reopen()
	e, _ = o.take(now)
	require.Equal(t, types.UID("b"), e.Key())
	o.add(pods["a"], someTime) // a change of it is decided before its turn
	require.Empty(t, taken())
}

// A pod that waits after an attempt, and whose deadline was moved into the
// future since, is in the way of no round.
func TestE14WhatIsNotYetDueDelaysNoRound(t *testing.T) {
	s, pods := newStagesOf(t, "later", "held")
	o, now := &s.overdue, someTime.Add(time.Minute)
	o.add(pods["later"], now.Add(time.Hour))
	for range 3 {
		o.add(pods["held"], someTime)
		o.reopen()
		at, some := s.next(now)
		require.True(t, some && !at.After(now))
		e, some := o.take(now)
		require.True(t, some)
		require.Equal(t, types.UID("held"), e.Key())
		_, some = o.take(now)
		require.False(t, some)
		at, some = s.next(now)
		require.True(t, !some || at.After(now), "there is nothing to do now")
	}
	due, some := s.earliest()
	require.True(t, some)
	require.Equal(t, now.Add(time.Hour), due)
	o.remove(pods["later"])
	_, some = s.earliest()
	require.False(t, some)
}
