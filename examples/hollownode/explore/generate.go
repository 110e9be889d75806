package explore

import (
	"math/rand/v2"
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	mostNodes = 3
	mostPods  = 8
	// shapes is how many pods there are to draw from.
	shapes = 1 << 20
	// script is how long steps begin.
	script = 8 * time.Minute
)

// generator draws a scenario.
type generator struct {
	*rand.Rand

	scenario *simulation.Scenario
	pods     int
}

// Generate returns the random scenario of a seed.
func Generate(seed uint64) *simulation.Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), scenario: &simulation.Scenario{Seed: seed}}
	s := g.scenario
	s.Nodes = 1 + g.IntN(mostNodes)
	g.pods = 2 + g.IntN(mostPods-1)
	for pod := range g.pods {
		step := g.step(simulation.ActionCreatePod)
		step.Pod, step.At = pod, time.Duration(g.IntN(20))*time.Second
		s.Steps = append(s.Steps, step)
	}
	g.perturb()
	g.addStatic(seed)
	g.addLosses(seed)
	return s
}

// addLosses makes the runtimes lose events in every sixth scenario. That
// disturbs all nodes for minutes, so other faults would show less.
func (g *generator) addLosses(seed uint64) {
	g.Rand = rand.New(rand.NewPCG(seed, 7))
	if g.IntN(6) > 0 {
		return
	}
	for range 1 + g.IntN(3) {
		step := g.step(simulation.ActionLoseEvents)
		step.At = time.Duration(g.Int64N(int64(script / 2)))
		step.For = min(step.For, time.Minute)
		g.scenario.Steps = append(g.scenario.Steps, step)
	}
}

// addStatic adds what happens to static pods to every second scenario. A few
// manifests come and go, because one that comes back is a case of its own.
func (g *generator) addStatic(seed uint64) {
	g.Rand = rand.New(rand.NewPCG(seed, 5))
	if g.IntN(2) == 0 {
		return
	}
	manifests := [][]int{{0, 1 + g.IntN(shapes), 1 + g.IntN(shapes)}, {0, 1 + g.IntN(shapes), 1 + g.IntN(shapes)}}
	at := time.Duration(0)
	for i := range 2 + g.IntN(10) {
		switch g.IntN(3) {
		case 0:
			at = time.Duration(g.Int64N(int64(script)))
		default:
			at += time.Duration(g.Int64N(int64(20 * time.Second)))
		}
		do := staticActions()[g.IntN(len(staticActions()))]
		if i == 0 {
			do, at = simulation.ActionSetStatic, time.Duration(g.Int64N(int64(30*time.Second)))
		}
		step := g.step(do)
		if step.At = at; do == simulation.ActionSetStatic {
			of := manifests[step.Pod%len(manifests)]
			if step.N = of[step.N%len(of)]; i == 0 {
				step.N = of[1]
			}
		}
		g.scenario.Steps = append(g.scenario.Steps, step)
	}
}

// perturb adds steps. Some follow each other closely, because faults that need
// two things at once would be rare otherwise.
func (g *generator) perturb() {
	clients, nodes, faults := clientActions(), nodeActions(), faultActions()
	odds := []int{0, 2, 5}[g.IntN(3)]
	at := time.Duration(0)
	for range 3 + g.IntN(22) {
		switch g.IntN(4) {
		case 0:
			at = time.Duration(g.Int64N(int64(script)))
		case 1:
			at += time.Duration(g.Int64N(int64(time.Minute)))
		default:
			at += time.Duration(g.Int64N(int64(5 * time.Second)))
		}
		do := clients[g.IntN(len(clients))]
		if g.IntN(10) < odds {
			do = faults[g.IntN(len(faults))]
		} else if strikes := g.IntN(10) < odds; strikes {
			do = nodes[g.IntN(len(nodes))]
		}
		step := g.step(do)
		step.At = at
		g.scenario.Steps = append(g.scenario.Steps, step)
	}
}

// step returns a step with everything drawn.
func (g *generator) step(do simulation.Action) simulation.Step {
	longest := 3 * time.Minute
	if g.IntN(2) == 0 {
		longest = 20 * time.Second
	}
	n := g.IntN(12)
	switch do {
	case simulation.ActionCreatePod, simulation.ActionRecreatePod:
		n = g.IntN(shapes)
	case simulation.ActionLate:
		n = []int{1, 5, 20, 45}[g.IntN(4)]
	default:
	}
	return simulation.Step{
		Do: do, Node: g.IntN(g.scenario.Nodes), Pod: g.IntN(g.pods), N: n,
		For:  time.Second + time.Duration(g.Int64N(int64(longest))),
		Kind: []network.Kind{network.Pods, network.Nodes}[g.IntN(2)],
	}
}

// clientActions are what clients do. What is twice in the list is drawn more
// often.
func clientActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionCreatePod, simulation.ActionCreatePod, simulation.ActionCreatePod,
		simulation.ActionDeletePod, simulation.ActionDeletePod, simulation.ActionDeletePod,
		simulation.ActionForceDelete, simulation.ActionRecreatePod, simulation.ActionRecreatePod,
		simulation.ActionSetImage, simulation.ActionCrash, simulation.ActionCrash,
		simulation.ActionOverwrite, simulation.ActionFailPod, simulation.ActionOpenGate,
	}
}

// staticActions are what happens to static pods and their mirrors.
func staticActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionSetStatic, simulation.ActionSetStatic, simulation.ActionSetStatic,
		simulation.ActionDeleteMirror, simulation.ActionDeleteMirror,
		simulation.ActionFailMirror, simulation.ActionCrashStatic,
	}
}

// nodeActions are what goes wrong with nodes.
func nodeActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionSilence, simulation.ActionSilence, simulation.ActionRuntimeDown, simulation.ActionRuntimeDown,
		simulation.ActionNetworkDown, simulation.ActionPressure, simulation.ActionSlowNode, simulation.ActionFailingNode,
		simulation.ActionReboot, simulation.ActionReboot,
		simulation.ActionRestartKubelet, simulation.ActionRestartKubelet, simulation.ActionReplaceNode,
	}
}

// faultActions are what goes wrong with the process, and between it and the API
// server.
func faultActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionErrors, simulation.ActionLoseAnswers, simulation.ActionSlowCalls,
		simulation.ActionLate, simulation.ActionLate, simulation.ActionGap,
		simulation.ActionKill, simulation.ActionKill, simulation.ActionKillFleet,
	}
}
