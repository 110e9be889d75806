package explore

import (
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// GenerateHostile returns a random scenario of a seed in which kubelets flap or
// lie and clocks drift. The API server and what is before it fail for all
// lengths of time. Half of them have the faults of [Generate] besides.
func GenerateHostile(seed uint64) *scenario.Scenario {
	g := generate(seed)
	g.Rand = rand.New(rand.NewPCG(seed, 0x686f7374))
	if g.chance(0.5) {
		g.scenario.Script, g.end = nil, 0
		g.step(g.moment(), func(step *scenario.Step) time.Duration {
			return g.silence(step, g.between(30*time.Second, 8*time.Minute))
		})
	}
	if g.chance(0.15) {
		g.step(0, g.slowStart)
	}
	for range 1 + g.IntN(2) {
		g.step(g.moment(), g.hostility)
	}
	return g.finished()
}

// anyLength returns a time between two, short ones as often as long ones.
func (g *generator) anyLength(shortest, longest time.Duration) time.Duration {
	return time.Duration(float64(shortest) * math.Pow(float64(longest)/float64(shortest), g.Float64()))
}

// slowStart makes the first lists slow.
func (g *generator) slowStart(step *scenario.Step) time.Duration {
	longest := g.anyLength(time.Second, 2*time.Minute)
	step.SlowLists = &scenario.Range{Min: duration(longest / 4), Max: duration(longest)}
	return g.between(time.Minute, 3*time.Minute)
}

// hostility fills in what a step does, and returns how long.
func (g *generator) hostility(step *scenario.Step) time.Duration {
	long := g.between(30*time.Second, 8*time.Minute)
	switch n := g.IntN(100); {
	case n < 18:
		step.FlapReady = &scenario.FlapReady{
			Nodes: *g.some(), NotReady: duration(g.anyLength(time.Second, 20*time.Second)),
			Ready: duration(g.anyLength(time.Second, 20*time.Second)),
		}
		return long
	case n < 42:
		step.Hostile = g.hostileKubelets()
		return long
	case n < 50:
		step.ClockDrift = &scenario.ClockDrift{Nodes: *g.some(), By: g.clockStep(5 * time.Second),
			Every: duration(g.anyLength(time.Second, 20*time.Second))}
		return long
	case n < 65:
		step.APIDown = &scenario.APIDown{For: pick(g, scenario.AllCallers, scenario.AllCallers, scenario.Controllers,
			scenario.Kubelets)}
		return g.anyLength(time.Second, 10*time.Minute)
	case n < 78:
		step.APIBlink = &scenario.APIBlink{
			For:  pick(g, scenario.AllCallers, scenario.AllCallers, scenario.Controllers),
			Down: duration(g.anyLength(time.Second, 20*time.Second)), Up: duration(g.anyLength(5*time.Second, time.Minute)),
		}
		return long
	case n < 92:
		step.APIErrors = &scenario.APIErrors{
			Share: pick(g, 0.2, 0.5, 1, 1), Codes: []int{pick(g, 404, 429)},
			Verbs: pick(g, nil, []string{"patch"}, []string{"delete", "evict"}, []string{"get"}),
		}
		return g.between(time.Minute, 5*time.Minute)
	}
	longest := g.anyLength(time.Second, 2*time.Minute)
	step.SlowLists = &scenario.Range{Min: duration(longest / 4), Max: duration(longest)}
	g.step(step.At.D()+time.Second, func(crash *scenario.Step) time.Duration {
		crash.Crash = &scenario.Process{}
		return time.Second
	})
	return long
}

// hostileKubelets does one thing or several.
func (g *generator) hostileKubelets() *scenario.Hostile {
	h := &scenario.Hostile{Nodes: *g.some(), Every: duration(g.anyLength(time.Second, 20*time.Second))}
	for len(h.Zones) == 0 && h.Taints == "" && h.Leases == "" {
		if g.chance(0.35) {
			h.Zones = pick(g, []string{"x"}, []string{"x", "y"}, []string{"a", "x", "y", "z"})
		}
		if g.chance(0.35) {
			h.Taints = pick(g, scenario.TakeOffTaints, scenario.PutOnTaints)
		}
		if g.chance(0.5) {
			h.Leases = pick(g, scenario.FutureLeases, scenario.ZeroLeases, scenario.BackwardsLeases)
		}
	}
	return h
}

// GenerateStarved returns a scenario with hundreds or thousands of nodes and 20
// calls a second, of which many nodes fall silent at once.
func GenerateStarved(seed uint64) *scenario.Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x73746172))}
	g.scenario = generate(seed).scenario
	g.scenario.Script = nil
	g.scenario.Controller.Flags["kube-api-qps"], g.scenario.Controller.Flags["kube-api-burst"] = "20", "30"
	c := &g.scenario.Cluster
	c.Workloads = []scenario.Workload{
		{Name: "web", Kind: scenario.Deployment, Replicas: 200 + g.IntN(800), TolerationSeconds: g.toleration()},
		{Name: "database", Kind: scenario.StatefulSet, Replicas: 20 + g.IntN(80), TolerationSeconds: g.toleration()},
	}
	for i := range c.Zones {
		zone := &c.Zones[i]
		zone.Nodes, zone.Racks = 100+g.IntN(900), 5
		g.nodes += zone.Nodes
	}
	g.untilEvicted = 2 * time.Minute
	for range 1 + g.IntN(2) {
		g.step(g.between(2*time.Minute, 5*time.Minute), func(step *scenario.Step) time.Duration {
			if g.chance(0.3) {
				step.FlapReady = &scenario.FlapReady{Nodes: scenario.Nodes{Share: pick(g, 0.05, 0.3)},
					NotReady: duration(6 * time.Second), Ready: duration(6 * time.Second)}
			} else {
				step.Silence = pick(g, &scenario.Nodes{All: true}, &scenario.Nodes{Zone: "a"}, &scenario.Nodes{Share: 0.3},
					&scenario.Nodes{Zone: "a", Rack: ptr.To(0)})
			}
			return g.between(2*time.Minute, 8*time.Minute)
		})
	}
	g.scenario.Duration = duration(g.end + 10*time.Minute)
	return g.scenario
}
