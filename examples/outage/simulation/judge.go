package simulation

import (
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Judge adds a judge to the simulation, which checks it every second of its
// time. To be called before the first step. Ask the judge for violations when
// the run is over, after its End.
func (s *Simulation) Judge() *judge.Judge { return s.JudgeBy(s.JudgeSettings()) }

// JudgeSettings returns what a judge has to know of the flags and the scenario.
func (s *Simulation) JudgeSettings() judge.Settings {
	o, cluster := s.options, &s.scenario.Cluster
	return judge.Settings{
		Grace:            o.GracePeriod(),
		StartupGrace:     o.StartupGracePeriod,
		BlindAfter:       o.Controller().Health.SightTimeout,
		Recovery:         o.RecoveryPeriod,
		BeatInterval:     o.HeartbeatInterval,
		Rate:             o.EvictionRate,
		SecondaryRate:    o.SecondaryEvictionRate,
		Unhealthy:        o.UnhealthyZoneThreshold,
		LargeZone:        o.LargeClusterSize,
		ZoneShare:        o.EvictionZoneShare,
		ZoneDown:         o.PauseWhileZoneDown,
		MinHealthy:       o.MinHealthyShare,
		ResumeHealthy:    o.ResumeHealthyShare,
		Window:           o.StabilizationWindow(),
		Action:           judge.Action(o.Evicting.Action),
		EvictFor:         o.Evicting.EvictFor,
		Overall:          o.Evicting.BudgetOverall,
		PerNode:          o.Evicting.BudgetPerNode,
		PerNamespace:     o.Evicting.BudgetPerNamespace,
		BudgetBurst:      o.Evicting.BudgetBurst,
		SpareDaemons:     o.Evicting.SpareDaemonSetPods,
		LowPriorityFirst: o.Evicting.LowPriorityFirst,
		ByNode:           o.EvictionMode == string(controller.EvictionModeNode),
		Timeout:          o.PodEvictionTimeout,
		QPS:              float64(o.APIQPS),
		Concurrent:       o.ConcurrentSyncs,
		EvictionCost:     o.Controller().Requests.Eviction,
		Delay:            cluster.APILatency.Max.D() + cluster.WatchDelay.Max.D() + s.slowness(),
		Skew:             s.skew(),
	}
}

// JudgeBy is Judge with other settings than those of the flags.
func (s *Simulation) JudgeBy(settings judge.Settings) *judge.Judge {
	judge := judge.New(s.world, settings, subject{s})
	s.Watch(judge)
	var look func()
	look = func() {
		judge.Check()
		s.world.After(time.Second, look)
	}
	s.world.After(time.Second, look)
	return judge
}

// Watch tells a witness what happens. Of the clients that are told of, the
// processes of the controller are the only ones: what another controller writes
// was written by no client.
func (s *Simulation) Watch(witness model.Witness) { s.world.Watch(model.Only(witness, isReplica)) }

// isReplica reports whether a client is a process of the controller.
func isReplica(c *network.Client) bool { return strings.HasPrefix(c.Name, replicaPrefix) }

// slowness is how long an action takes at most in the steps that make calls
// slow.
func (s *Simulation) slowness() (longest time.Duration) {
	for i := range s.scenario.Script {
		if latency := s.scenario.Script[i].APILatency; latency != nil && s.bears(latency) {
			longest = max(longest, callsOfAction*latency.Max.D())
		}
	}
	return longest
}

// callsOfAction is how many calls follow one another in an action, and before
// it: a live read of a lease and a declaration, or two reads, a mark and the
// deletion of a pod.
const callsOfAction = 4

// skew is by how much clocks of processes can differ.
func (s *Simulation) skew() time.Duration {
	var skew time.Duration
	for i := range s.scenario.Script {
		if step := s.scenario.Script[i].ControllerClock; step != nil {
			skew += step.By.D().Abs()
		}
	}
	return skew
}

// subject shows a judge what no API shows.
type subject struct{ *Simulation }

func (s subject) Acting() *network.Client {
	if r := s.Simulation.Acting(); r != nil {
		return r.Client()
	}
	return nil
}

func (s subject) Memory() judge.Memory {
	r := s.Simulation.Acting()
	if r == nil {
		return judge.Memory{}
	}
	k := r.Knowledge()
	memory := judge.Memory{Nodes: k.Nodes, Pods: k.Pods, Zones: len(k.Zones), Pending: k.Pending}
	for _, queued := range k.Queued {
		memory.Queued += queued
	}
	return memory
}
