package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/seeds"
	"github.com/kubelife/lifecycle/zone"
)

func zonesNamed(names ...string) (all []zone.Status) {
	for _, name := range names {
		all = append(all, zone.Status{Zone: name})
	}
	return all
}

// C3, C5: a node that cycles through zones leaves a bounded number of series,
// also while nothing reads them.
func TestC3ANodeThatCyclesThroughZonesLeavesABoundedNumberOfSeries(t *testing.T) {
	for name, read := range map[string]bool{"read each time": true, "read at the end": false} {
		t.Run(name, func(t *testing.T) {
			c := newZoneCounter()
			c.inc("steady")
			c.of(zonesNamed("steady"))
			for i := range 1000 {
				passed := fmt.Sprint("passed-", i)
				c.inc(passed)
				if read {
					c.of(zonesNamed("steady", passed))
				}
				require.LessOrEqual(t, len(c.counts), 1+1+goneZones)
			}
			all := c.of(zonesNamed("steady"))
			require.Len(t, all, 1+goneZones)
			require.InDelta(t, 1, all["steady"], 0, "a zone that exists keeps its count")
			require.Contains(t, all, "passed-999", "the last one counted last")
			require.Contains(t, all, fmt.Sprint("passed-", 1000-goneZones))
			require.NotContains(t, all, fmt.Sprint("passed-", 1000-goneZones-1))
		})
	}
}

// The series of a zone that stays never goes backwards, whatever comes and
// goes.
func TestACountOfAZoneThatStaysNeverGoesBackwards(t *testing.T) {
	for seed := range uint64(seeds.Sized(2, 20)) {
		random := rand.New(rand.NewPCG(seed, 1))
		c, before, staying := newZoneCounter(), map[string]float64{}, []string{}
		for i := range 200 {
			if i%20 == 0 {
				staying = append(staying, fmt.Sprint("stays-", i))
			}
			shown := append([]string{}, staying...)
			for range random.IntN(40) {
				shown = append(shown, fmt.Sprint("passes-", random.IntN(300)))
			}
			all := c.of(zonesNamed(shown...))
			for _, name := range staying {
				require.GreaterOrEqual(t, all[name], before[name], "seed %d: %s", seed, name)
			}
			before = all
			for range random.IntN(100) {
				if random.IntN(3) == 0 {
					c.inc(staying[random.IntN(len(staying))])
				} else {
					c.inc(fmt.Sprint("passes-", random.IntN(300)))
				}
			}
		}
	}
}
