package explore

import (
	"math/rand/v2"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// GeneratePausing returns the world of [Generate] with flags that pause the
// cluster while a zone is down or too few nodes are ready. Its rates are
// relative to the size of a zone.
func GeneratePausing(seed uint64) *scenario.Scenario {
	g := generate(seed)
	g.Rand = rand.New(rand.NewPCG(seed, 0x70617573))
	flags := g.scenario.Controller.Flags
	if g.chance(0.5) {
		flags["pause-while-zone-down"] = "true"
	} else {
		flags["min-healthy-share"] = pick[scenario.FlagValue](g, "0.3", "0.5", "0.75")
		flags["resume-healthy-share"] = pick[scenario.FlagValue](g, "0", "0.75", "1")
	}
	flags["resume-delay"] = flagOf(pick(g, 0, 90*time.Second, 4*time.Minute))
	flags["node-eviction-zone-share"] = pick[scenario.FlagValue](g, "0", "0", "0.05")
	return g.finished()
}
