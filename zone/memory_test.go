package zone

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Zones come and go: pools are renamed, racks replaced. No record of them may
// stay.
func TestZ2NothingStaysOfNodesAndZonesThatAreForgotten(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := NewTracker[int](Config{}, now)
	require.NoError(t, err)
	for round := range 100 {
		for key := range 50 {
			zone := fmt.Sprint("zone", round, "-", key%7)
			tracker.Observe(now, key, Node{Zone: zone, Ready: key%3 == 0, Excluded: key%5 == 0})
		}
		if round%2 == 0 {
			tracker.Evaluate(now)
			require.Empty(t, tracker.dirty)
			require.Empty(t, tracker.gone)
			require.Len(t, tracker.zones, 7)
		}
	}
	for key := range 50 {
		tracker.Forget(now, key)
	}
	require.Empty(t, tracker.nodes)
	require.Empty(t, tracker.zones)
	tracker.Evaluate(now)
	require.Empty(t, tracker.dirty)
	require.Empty(t, tracker.gone)
}

// A caller that evaluates seldom pays for the zones that have changed, not for
// the changes.
func TestZ2ManyChangesOfAZoneAreOneToEvaluate(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := NewTracker[int](Config{}, now)
	require.NoError(t, err)
	tracker.Observe(now, -1, Node{Zone: "a", Ready: true})
	for i := range 1000 {
		tracker.Observe(now, i%10, Node{Zone: "a", Ready: i%3 == 0})
	}
	require.Len(t, tracker.dirty, 1)
}
