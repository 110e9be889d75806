package explore

import (
	"math/rand/v2"
	"time"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
)

const (
	mostNodes = 6
	mostSets  = 3
	// script is how long steps begin.
	script = 10 * time.Minute
)

// generator draws a scenario.
type generator struct {
	*rand.Rand

	scenario *simulation.Scenario
	sets     int
	names    int // of nodes, which need not exist
}

// Generate returns the random scenario of a seed.
func Generate(seed uint64) *simulation.Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), scenario: &simulation.Scenario{Seed: seed}}
	s := g.scenario
	s.Nodes = 1 + g.IntN(mostNodes)
	g.names = s.Nodes + 1
	g.sets = 1 + g.IntN(mostSets)
	if g.IntN(3) == 0 {
		s.PerSecond, s.Burst = float64(1+g.IntN(10)), 10+g.IntN(20)
	}
	if g.IntN(2) == 0 {
		s.Concurrency, s.PodBurst = 1+g.IntN(3), 1+g.IntN(5)
	}
	for set := range g.sets {
		step := g.step(simulation.ActionCreateSet)
		step.Set, step.At = set, time.Duration(g.IntN(5))*time.Second
		s.Steps = append(s.Steps, step)
	}
	g.perturb()
	return s
}

// perturb adds steps. Some follow each other closely, because faults that need
// two things at once would be rare otherwise.
func (g *generator) perturb() {
	clients, faults := clientActions(), faultActions()
	faultOdds := []int{0, 2, 4}[g.IntN(3)]
	at := time.Duration(0)
	for range 4 + g.IntN(25) {
		switch g.IntN(4) {
		case 0:
			at = time.Duration(g.Int64N(int64(script)))
		case 1:
			at += time.Duration(g.Int64N(int64(time.Minute)))
		default:
			at += time.Duration(g.Int64N(int64(5 * time.Second)))
		}
		do := clients[g.IntN(len(clients))]
		if g.IntN(10) < faultOdds {
			do = faults[g.IntN(len(faults))]
		}
		step := g.step(do)
		step.At = at
		g.scenario.Steps = append(g.scenario.Steps, step)
	}
}

// step returns a step with everything drawn.
func (g *generator) step(do simulation.Action) simulation.Step {
	longest := 2 * time.Minute
	if g.IntN(2) == 0 {
		longest = 20 * time.Second
	}
	n := g.IntN(12)
	switch do {
	case simulation.ActionLate:
		// Own writes count for a minute, which is far above the delay of a watch
		// that works.
		n = []int{1, 5, 20, 45}[g.IntN(4)]
	case simulation.ActionGap:
		longest = 45 * time.Second
	case simulation.ActionKill:
		n = []int{0, 3, 30, 120}[g.IntN(4)]
	case simulation.ActionSetImage:
		n %= 3
	default:
	}
	return simulation.Step{
		Do: do, Set: g.IntN(g.sets), Node: g.IntN(g.names), Pod: g.IntN(20), N: n,
		For:  time.Second + time.Duration(g.Int64N(int64(longest))),
		Kind: invariant.Kinds[g.IntN(len(invariant.Kinds))],
	}
}

// clientActions are what clients and kubelets do; what is twice in the list is
// drawn more often.
func clientActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionCreateSet, simulation.ActionDeleteSet,
		simulation.ActionSetImage, simulation.ActionSetImage, simulation.ActionSetImage, simulation.ActionSetImage,
		simulation.ActionBreakImage, simulation.ActionSetStrategy, simulation.ActionSetStrategy,
		simulation.ActionSetPlacement, simulation.ActionSetLimits, simulation.ActionSetLimits,
		simulation.ActionAnnotateSet,
		simulation.ActionAddNode, simulation.ActionRemoveNode, simulation.ActionRecreateNode,
		simulation.ActionTaint, simulation.ActionTaint, simulation.ActionLabel,
		simulation.ActionKillNode, simulation.ActionFailPods, simulation.ActionFailPods, simulation.ActionSlowNode,
		simulation.ActionDeletePod, simulation.ActionFailPod, simulation.ActionUnready,
		simulation.ActionOrphanPod, simulation.ActionRelabelPod, simulation.ActionStealPod, simulation.ActionStrayPod,
		simulation.ActionOrphanRevision, simulation.ActionStealRevision,
	}
}

// faultActions are what goes wrong with the controller's process, and between
// it and the API server.
func faultActions() []simulation.Action {
	return []simulation.Action{
		simulation.ActionErrors, simulation.ActionLoseAnswers, simulation.ActionLoseAnswers,
		simulation.ActionConflicts, simulation.ActionSlowCalls, simulation.ActionQuota,
		simulation.ActionNotNow, simulation.ActionInPlace, simulation.ActionInPlace,
		simulation.ActionLate, simulation.ActionLate, simulation.ActionLate, simulation.ActionGap,
		simulation.ActionKill, simulation.ActionKill, simulation.ActionHalt,
	}
}
