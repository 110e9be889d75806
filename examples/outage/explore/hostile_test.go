package explore

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var (
	hostileSeeds = flag.Uint64("hostile", uint64(seeds.Sized(10, 100)), "how many hostile worlds to run")
	starvedSeeds = flag.Uint64("starved", uint64(seeds.Sized(0, 10)),
		"how many worlds with thousands of nodes and few calls to run")
)

// TestHostileWorlds runs random worlds and wants every invariant to hold in
// each. Their kubelets flap and lie, and their API server fails for all lengths
// of time.
func TestHostileWorlds(t *testing.T) { wantsAllToHold(t, GenerateHostile, *hostileSeeds) }

// TestStarvedWorlds runs random worlds with thousands of nodes and 20 calls a
// second. They take seconds each, so a short run of the tests has none.
func TestStarvedWorlds(t *testing.T) {
	if *starvedSeeds == 0 {
		t.Skip("runs with LIFECYCLE_TESTS=all, or with -args -starved 10")
	}
	wantsAllToHold(t, GenerateStarved, *starvedSeeds)
}

func wantsAllToHold(t *testing.T, generate func(uint64) *scenario.Scenario, many uint64) {
	t.Helper()
	if what := judge.Invariant(flags.Until); what != "" {
		wanted := func(f finding) bool { return violated(f, what) }
		require.NoError(t, seeds.Search(flags.First, many, drawn(generate), wanted, nameOf), what)
		return
	}
	failed := func(f finding) bool { return f.Err != nil }
	findings := seeds.Explore(flags.First, many, drawn(generate), failed)
	for i, found := range findings {
		require.NoError(t, found.Err, "seed %d", found.Seed)
		if i == 0 {
			show(t, generate(found.Seed), found)
			continue
		}
		t.Errorf("seed %d: %v", found.Seed, found.Violations[0])
	}
	t.Logf("%d worlds from seed %d on, %d failed", many, flags.First, len(findings))
}

func TestEveryHostileScenarioIsValidAndHasItsShareOfEverything(t *testing.T) {
	worlds := seeds.Sized(400, 2000)
	found := map[string]int{}
	for seed := range uint64(worlds) {
		s := GenerateHostile(seed)
		require.NoError(t, s.Validate(), "seed %d", seed)
		require.Equal(t, s, GenerateHostile(seed))
		for i := range s.Script {
			step := &s.Script[i]
			for what, has := range map[string]bool{
				"flapReady": step.FlapReady != nil, "hostile": step.Hostile != nil, "clockDrift": step.ClockDrift != nil,
				"apiBlink": step.APIBlink != nil, "slowLists": step.SlowLists != nil, "apiDown": step.APIDown != nil,
				"proxy": step.APIErrors != nil && len(step.APIErrors.Codes) == 1,
			} {
				if has {
					found[what]++
				}
			}
		}
	}
	for _, what := range []string{"flapReady", "hostile", "clockDrift", "apiBlink", "slowLists", "apiDown", "proxy"} {
		assert.Greater(t, found[what], worlds/20, what)
	}
	for seed := range uint64(200) {
		require.NoError(t, GenerateStarved(seed).Validate(), "seed %d", seed)
	}
}
