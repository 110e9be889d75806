package eviction

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// C3: what a tally counts is what a walk would, as of the whole second.
func TestC3TallyCountsWhatAWalkWould(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 3))
		epoch := time.Unix(1_800_000_000, 123_456_789)
		c, err := newTally(epoch)
		require.NoError(t, err)
		type thing struct {
			at  second
			due time.Time
		}
		var things []thing
		now := epoch
		for range 400 {
			switch random.IntN(4) {
			case 0, 1:
				due := now.Add(time.Duration(random.Int64N(int64(40*time.Second))) - 20*time.Second)
				if random.IntN(10) == 0 {
					due = now.Add(time.Duration(random.IntN(3)-1) * 290 * 365 * 24 * time.Hour)
				}
				things = append(things, thing{c.add(now, due), due})
			case 2:
				if len(things) > 0 {
					i := random.IntN(len(things))
					c.remove(things[i].at)
					things = append(things[:i], things[i+1:]...)
				}
			default:
				now = now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))
			}
			n, since := c.due(now)
			want, oldest := 0, time.Time{}
			for _, thing := range things {
				if thing.due.After(now) || c.timeOf(thing.at).After(now) {
					require.False(t, thing.due.Before(now.Add(-time.Second)), "it counts within a second")
					continue
				}
				want++
				if oldest.IsZero() || thing.due.Before(oldest) {
					oldest = thing.due
				}
			}
			require.Equal(t, want, n, "seed %d", seed)
			require.Equal(t, oldest.IsZero(), since.IsZero())
			if !oldest.Before(epoch.Add(-60 * 365 * 24 * time.Hour)) {
				require.Less(t, since.Sub(oldest).Abs(), time.Second, "seed %d", seed)
			}
		}
		for _, thing := range things {
			c.remove(thing.at)
		}
		require.Empty(t, c.all(), "nothing is left")
		require.Zero(t, c.overdue)
	}
}
