package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
)

func TestTheLastNodeOfEachZoneDiesAndTheOthersMixZones(t *testing.T) {
	nodes := []string{"b-1", "a-2", "a-0", "b-0", "a-1"}
	require.Equal(t, []string{"a-2", "b-1"}, doomed(nodes))
	require.Equal(t, []string{"a-0", "b-0", "a-1"}, lasting(nodes))
	require.Equal(t, []string{"b-1", "a-2", "a-0", "b-0", "a-1"}, nodes, "unchanged")
}

func TestAnOutageEndsWithTheFirstBeatThatIsStored(t *testing.T) {
	killed := time.Now()
	at := func(seconds int) time.Time { return killed.Add(time.Duration(seconds) * time.Second) }
	w := &world{beats: map[string][]judge.Beat{
		"a-0": {
			{Sent: at(-3), Acknowledged: at(-2)}, {Sent: at(-1), Acknowledged: at(1)},
			{Sent: at(64), Acknowledged: at(66)},
		},
		"b-0": {{Sent: at(61), Acknowledged: at(65)}},
	}}
	require.Equal(t, at(65), w.firstBeat(killed, at(70)))
	require.Equal(t, at(63), w.firstBeat(killed, at(63)), "it was ready before a beat")
}
