package explore

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Generate returns the random scenario of a seed: a small cluster, settings,
// and a script of faults, nearly all of which end. After the last one there is
// time for everything to settle, and then for nothing to happen.
func Generate(seed uint64) *scenario.Scenario {
	g := generate(seed)
	return g.finished()
}

// generate makes all of a scenario but its duration.
func generate(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x6c696665))}
	g.scenario = &scenario.Scenario{Name: fmt.Sprintf("seed-%d", seed), Seed: seed}
	g.cluster()
	g.controller()
	worlds := g.Rand
	g.Rand = rand.New(rand.NewPCG(seed, 0x65766963))
	g.evicting()
	g.Rand = worlds
	g.script()
	return g
}

// finished returns the scenario, with time for everything to settle.
func (g *generator) finished() *scenario.Scenario {
	g.suspend()
	g.halt()
	g.kubelets()
	g.scenario.Duration = duration(g.end + SettleTime(g.scenario) + quietTime)
	return g.scenario
}

// suspend has the machine of a process suspended in a quarter of the worlds. It
// comes last and draws from a source of its own, so that the rest does not
// depend on it.
func (g *generator) suspend() {
	g.Rand = rand.New(rand.NewPCG(g.scenario.Seed, 0x73757370))
	if !g.chance(0.25) {
		return
	}
	g.step(g.moment(), func(step *scenario.Step) time.Duration {
		step.Suspend = &scenario.Process{}
		return g.anyLength(time.Second, time.Hour)
	})
}

// halt has an operator halt the leader in a fifth of the worlds, from a source
// of its own like suspend.
func (g *generator) halt() {
	g.Rand = rand.New(rand.NewPCG(g.scenario.Seed, 0x68616c74))
	if !g.chance(0.2) {
		return
	}
	g.step(g.moment(), func(step *scenario.Step) time.Duration {
		step.Halt = &scenario.Halt{}
		return g.between(time.Second, 10*time.Minute)
	})
}

// kubeletShare is in which share of the worlds the nodes run the kubelet of
// examples/hollownode. Such a world takes about ten times as much CPU.
const kubeletShare = 1.0 / 16

// kubelets decides that from a source of its own like suspend.
func (g *generator) kubelets() {
	g.Rand = rand.New(rand.NewPCG(g.scenario.Seed, 0x6b756265))
	g.scenario.Cluster.Kubelets = g.chance(kubeletShare)
}

// quietTime is how long a run goes on when everything has settled.
const quietTime = 3 * time.Minute

type generator struct {
	*rand.Rand
	scenario *scenario.Scenario
	nodes    int
	end      time.Duration // of the last fault
	// untilEvicted is about how long after its last heartbeat a node loses its
	// first pods.
	untilEvicted time.Duration
}

func duration(d time.Duration) scenario.Duration {
	return scenario.Duration(d.Truncate(100 * time.Millisecond))
}

// between returns a time between two.
func (g *generator) between(shortest, longest time.Duration) time.Duration {
	return shortest + time.Duration(g.Int64N(int64(longest-shortest)+1))
}

func (g *generator) chance(of float64) bool { return g.Float64() < of }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) cluster() {
	c := &g.scenario.Cluster
	for i := range 1 + g.IntN(4) {
		zone := scenario.Zone{Name: string(rune('a' + i)), Nodes: 1 + g.IntN(8)}
		zone.Racks = 1 + g.IntN(min(3, zone.Nodes))
		if g.chance(0.2) {
			zone.Nodes += 5 + g.IntN(8)
		}
		g.nodes += zone.Nodes
		c.Zones = append(c.Zones, zone)
	}
	c.Workloads = append(c.Workloads,
		scenario.Workload{Name: "web", Kind: scenario.Deployment, Replicas: 1 + g.IntN(2*g.nodes),
			TolerationSeconds: g.toleration(), EveryTaint: g.chance(0.3)},
		scenario.Workload{Name: "database", Kind: scenario.StatefulSet, Replicas: 1 + g.IntN(g.nodes),
			TolerationSeconds: g.toleration(), EveryTaint: g.chance(0.5)})
	if g.chance(0.5) {
		c.Workloads = append(c.Workloads, scenario.Workload{Name: "agent", Kind: scenario.DaemonSet})
	}
	if g.chance(0.2) {
		c.Workloads = append(c.Workloads,
			scenario.Workload{Name: "rock", Kind: scenario.Deployment, Replicas: 1 + g.IntN(5), TolerateForever: true})
	}
	c.BeatInterval = duration(pick(g, 10*time.Second, 10*time.Second, 5*time.Second))
	c.StatusInterval = duration(pick(g, 5*time.Minute, time.Minute, 30*time.Second))
	c.WatchDelay = pick(g, scenario.Range{},
		scenario.Range{Min: duration(100 * time.Millisecond), Max: duration(time.Second)})
}

func (g *generator) toleration() *int64 {
	return ptr.To(pick[int64](g, 0, 1, 5, 30, 30, 60, 60, 120, 300))
}

func (g *generator) controller() {
	interval := g.scenario.Cluster.BeatInterval.D()
	grace := interval*2 + g.between(0, 3*interval).Truncate(time.Second)
	g.untilEvicted = grace + interval + time.Minute
	for i := range g.scenario.Cluster.Workloads {
		if seconds := g.scenario.Cluster.Workloads[i].TolerationSeconds; seconds != nil {
			g.untilEvicted = min(g.untilEvicted, grace+interval+time.Duration(*seconds)*time.Second)
		}
	}
	g.scenario.Controller = scenario.Controller{
		Replicas:     pick(g, 1, 1, 2, 3),
		RestartAfter: duration(g.between(time.Second, 20*time.Second)),
		Flags: map[string]scenario.FlagValue{
			"node-monitor-grace-period":    flagOf(grace),
			"node-startup-grace-period":    flagOf(grace + g.between(0, 20*time.Second).Truncate(time.Second)),
			"node-heartbeat-interval":      flagOf(interval),
			"node-eviction-rate":           pick[scenario.FlagValue](g, "0.1", "0.1", "0.2", "1", "5"),
			"secondary-node-eviction-rate": pick[scenario.FlagValue](g, "0.1", "0.05", "0"),
			"large-cluster-size-threshold": pick[scenario.FlagValue](g, "50", "3", "6"),
			"unhealthy-zone-threshold":     pick[scenario.FlagValue](g, "0.55", "0.55", "0.3", "1"),
			"concurrent-node-syncs":        pick[scenario.FlagValue](g, "16", "4", "1"),
			"confirm":                      scenario.FlagValue(strconv.FormatBool(g.chance(0.3))),
			"kube-api-qps":                 "1000",
			"kube-api-burst":               "1000",
		},
	}
}

func flagOf(d time.Duration) scenario.FlagValue { return scenario.FlagValue(d.String()) }

// script makes one to ten steps. Most worlds have few: a fault that needs only
// one is seen more clearly there.
func (g *generator) script() {
	steps := 1 + g.IntN(4)
	if g.chance(0.3) {
		steps += g.IntN(7)
	}
	for range steps {
		g.step(g.moment(), g.fault)
	}
}

// step adds a step to the script. Fault fills in what it does, and returns how
// long.
func (g *generator) step(at time.Duration, fault func(*scenario.Step) time.Duration) {
	step := scenario.Step{At: duration(at)}
	lasts := fault(&step)
	if lasts > 0 {
		step.For = duration(lasts)
	}
	g.end = max(g.end, at+lasts+step.Over.D()+step.RecoverOver.D())
	g.scenario.Script = append(g.scenario.Script, step)
}

// moment chooses when a step begins: anywhere, or while the first nodes that
// have fallen silent expire, are tainted and lose their pods. What goes wrong
// then shows more than what goes wrong at rest.
func (g *generator) moment() time.Duration {
	for i := range g.scenario.Script {
		if step := &g.scenario.Script[i]; step.Silence != nil && g.chance(0.7) {
			return step.At.D() + g.between(0, g.untilEvicted+30*time.Second)
		}
	}
	return g.between(90*time.Second, 10*time.Minute)
}

// fault fills in what a step does, and returns how long; zero is for good, or
// for what has no end.
func (g *generator) fault(step *scenario.Step) time.Duration {
	short, long := g.between(time.Second, time.Minute), g.between(30*time.Second, 8*time.Minute)
	switch n := g.IntN(100); {
	case n < 28:
		return g.silence(step, long)
	case n < 33:
		step.NotReady = g.some()
		return long
	case n < 37:
		step.Flap = &scenario.Flap{Nodes: *g.some(), Down: duration(g.between(10*time.Second, 2*time.Minute)),
			Up: duration(g.between(time.Second, time.Minute))}
		return long
	case n < 57:
		return g.toNodes(step, long)
	case n < 62:
		return g.toPods(step)
	case n < 78:
		return g.toAPI(step, short, long)
	case n < 88:
		return g.toWatches(step, short, long)
	}
	return g.toControllers(step, short)
}

func (g *generator) silence(step *scenario.Step, long time.Duration) time.Duration {
	step.Silence = g.some()
	if g.chance(0.3) {
		step.Over = duration(g.between(0, long))
	}
	if g.chance(0.15) {
		return 0 // for good
	}
	if g.chance(0.3) {
		step.RecoverOver = duration(g.between(0, 2*time.Minute))
	}
	return long
}

func (g *generator) toNodes(step *scenario.Step, long time.Duration) time.Duration {
	switch g.IntN(8) {
	case 0:
		step.Pressure = g.some()
	case 1, 2:
		step.Delete = g.some()
	case 3:
		step.Move = g.move()
	case 4:
		step.Cordon = g.some()
	case 5:
		step.Touch = g.some()
		return 0
	case 6:
		step.NodeClocks = &scenario.NodeClocks{Nodes: *g.some(), By: g.clockStep(time.Hour)}
	default:
		step.Taint = &scenario.Taint{
			Nodes: *g.some(), Key: "maintenance",
			Effect:    pick(g, "NoExecute", "NoExecute", "NoExecute", "NoSchedule"),
			TimeAdded: pick(g, "now", "now", "now", "missing", "-1h", "1h"),
		}
	}
	return long
}

// move takes nodes to another zone, which may be there already.
func (g *generator) move() *scenario.Move {
	nodes, zone := g.some(), pick(g, "a", "b", "new")
	if nodes.Zone == zone {
		zone = "new"
	}
	return &scenario.Move{Nodes: *nodes, Zone: zone}
}

func (g *generator) toPods(step *scenario.Step) time.Duration {
	which := scenario.Pods{Workload: pick(g, "web", "database"), Share: pick(g, 0.2, 0.5, 1)}
	if g.chance(0.5) {
		step.DeletePods = &which
	} else {
		step.Tolerate = &scenario.Tolerate{Pods: which, Seconds: *g.toleration()}
	}
	return 0
}

func (g *generator) toAPI(step *scenario.Step, short, long time.Duration) time.Duration {
	switch g.IntN(7) {
	case 0:
		step.APIDown = &scenario.APIDown{For: pick(g, scenario.AllCallers, scenario.Controllers, scenario.Kubelets)}
		return pick(g, short, long)
	case 1, 2, 3:
		step.APIErrors = &scenario.APIErrors{Share: pick(g, 0.1, 0.5, 1, 1),
			Verbs: pick(g, nil, nil, []string{"delete"}, []string{"patch"}, []string{"get"})}
		return g.between(10*time.Second, 2*time.Minute)
	case 4, 5:
		step.APILatency = &scenario.Range{Min: duration(100 * time.Millisecond),
			Max: duration(g.between(time.Second, 40*time.Second))}
		return long
	}
	step.LostAnswers = &scenario.LostAnswers{Share: pick(g, 0.1, 0.5)}
	return long
}

func (g *generator) toWatches(step *scenario.Step, short, long time.Duration) time.Duration {
	which := scenario.Watch{}
	if g.chance(0.6) {
		which.Kinds = []string{pick(g, scenario.NodeObjects, scenario.LeaseObjects, scenario.PodObjects)}
	}
	if g.chance(0.5) {
		step.BrokenWatch = &which
		return pick(g, short, long)
	}
	step.StaleWatch = &scenario.StaleWatch{Watch: which,
		Delay: scenario.Range{Max: duration(g.between(time.Second, time.Minute))}}
	return pick(g, short, long)
}

func (g *generator) toControllers(step *scenario.Step, short time.Duration) time.Duration {
	switch n := g.IntN(10); {
	case n < 5:
		step.Crash = &scenario.Process{}
	case n < 8:
		step.Pause = &scenario.Process{}
	case n < 9 || g.scenario.Controller.Replicas < 2:
		step.ControllerClock = &scenario.ControllerClock{By: g.clockStep(time.Minute)}
	default:
		step.SplitBrain = &scenario.SplitBrain{}
	}
	return short
}

// clockStep returns a step of a clock, forward or back.
func (g *generator) clockStep(longest time.Duration) scenario.Duration {
	by := g.between(time.Second, longest)
	if g.chance(0.5) {
		by = -by
	}
	return duration(by)
}

// some chooses nodes.
func (g *generator) some() *scenario.Nodes {
	zone := pick(g, g.scenario.Cluster.Zones...)
	switch g.IntN(8) {
	case 0:
		return &scenario.Nodes{All: true}
	case 1:
		return &scenario.Nodes{Share: pick(g, 0.3, 0.6)}
	case 2, 3:
		return &scenario.Nodes{Zone: zone.Name}
	case 4:
		return &scenario.Nodes{Zone: zone.Name, Share: pick(g, 0.3, 0.6)}
	}
	return &scenario.Nodes{Count: 1 + g.IntN(min(3, g.nodes))}
}
