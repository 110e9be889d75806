package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

func duration(d time.Duration) scenario.Duration { return scenario.Duration(d) }

// small is six nodes in two zones, with pods that tolerate for a minute that
// their node is ill, and two processes.
func small(steps ...scenario.Step) *scenario.Scenario {
	seconds := int64(60)
	return &scenario.Scenario{
		Name: "small", Duration: duration(20 * time.Minute), Seed: 4,
		Cluster: scenario.Cluster{
			Zones:     []scenario.Zone{{Name: "a", Nodes: 3}, {Name: "b", Nodes: 3}},
			Workloads: []scenario.Workload{{Name: "web", Replicas: 12, TolerationSeconds: &seconds}},
		},
		Controller: scenario.Controller{Replicas: 2},
		Script:     steps,
	}
}

func watched(t *testing.T, steps ...scenario.Step) (*Simulation, *diary) {
	s, err := New(small(steps...))
	require.NoError(t, err)
	return s, newDiary(s)
}

func newDiary(s *Simulation) *diary {
	d := &diary{world: s.World(), tainted: map[string]time.Duration{}, evicted: map[string]time.Duration{}}
	s.World().Watch(d)
	return d
}

// diary is a witness that writes down the little that these tests want to know.
type diary struct {
	model.Unimpressed
	world            *model.World
	tainted, evicted map[string]time.Duration
	notes            []string
	writes           []*network.Call
}

func (d *diary) WroteNode(w model.NodeWrite) {
	if w.After != nil && noExecute(w.After) && !noExecute(w.Before) {
		d.tainted[w.After.Name] = d.world.Elapsed()
	}
}

func noExecute(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			return true
		}
	}
	return false
}

func (d *diary) WrotePod(w model.PodWrite) {
	if w.Call != nil && w.Before.DeletionTimestamp == nil && w.After.DeletionTimestamp != nil {
		d.evicted[w.After.Name] = d.world.Elapsed()
	}
}

func (d *diary) Sent(c *network.Call) {
	if c.Verb != network.Get && c.Verb != network.List && c.Kind != network.LeaderLease {
		d.writes = append(d.writes, c)
	}
}

func (d *diary) Noted(n network.Note) {
	if n.Client != nil {
		d.notes = append(d.notes, fmt.Sprintf("%s %s", n.Client.Name, n.Kind))
	}
}

func until(s *Simulation, at time.Duration) {
	for s.world.Step(at) {
	}
}

func TestDeadNodeLosesItsPodsAndComesBack(t *testing.T) {
	s, d := watched(t, scenario.Step{At: duration(3 * time.Minute), For: duration(6 * time.Minute),
		Silence: &scenario.Nodes{Names: []string{"a-1"}}})
	until(s, 8*time.Minute)
	require.Len(t, d.tainted, 1)
	require.InDelta(t, (3*time.Minute + 50*time.Second + 11*time.Second).Seconds(), d.tainted["a-1"].Seconds(), 11,
		"a grace period after the last beat, and then a heartbeat interval more")
	require.Len(t, d.evicted, 2)
	for pod, at := range d.evicted {
		require.InDelta(t, (d.tainted["a-1"] + time.Minute).Seconds(), at.Seconds(), 1.2, pod)
	}
	s.Run()
	require.Empty(t, s.world.Node("a-1").Spec.Taints)
	nodes, pods := s.world.Count()
	require.Equal(t, 6, nodes)
	require.Equal(t, 12, pods)
	require.Equal(t, Knowledge{Nodes: 6, Pods: 12, Phase: zone.PhaseActive}, withoutZones(s.replicas[0].Knowledge()))
}

func withoutZones(k Knowledge) Knowledge {
	k.Zones, k.Queued = nil, nil
	return k
}

// A new node is tainted by admission, and can be used when it has been heard
// of.
func TestNodeThatRegistersLosesTheTaintOfAdmission(t *testing.T) {
	s, _ := watched(t, scenario.Step{At: duration(3 * time.Minute), For: duration(time.Minute),
		Delete: &scenario.Nodes{Names: []string{"a-1"}}})
	until(s, 4*time.Minute)
	require.Equal(t, corev1.TaintNodeNotReady, s.world.Node("a-1").Spec.Taints[0].Key)
	until(s, 4*time.Minute+12*time.Second)
	require.Empty(t, s.world.Node("a-1").Spec.Taints)
}

func TestAnotherProcessLeadsAfterACrash(t *testing.T) {
	s, d := watched(t,
		scenario.Step{At: duration(3 * time.Minute), Silence: &scenario.Nodes{Names: []string{"a-1"}}},
		scenario.Step{At: duration(4*time.Minute + 30*time.Second), Crash: &scenario.Process{}})
	s.Run()
	first, second := "controller-0", "controller-1" // which is which is left to chance
	if d.notes[2] == second+" leads" {
		first, second = second, first
	}
	require.Equal(t, []string{
		first + " leads", first + " stopped", first + " started", first + " synced", second + " leads",
	}, d.notes[2:])
	require.Len(t, d.evicted, 2)
	for _, at := range d.evicted {
		require.InDelta(t, (d.tainted["a-1"] + time.Minute).Seconds(), at.Seconds(), 2, "the deadline stands")
	}
}

func TestProcessThatHasSleptThroughItsLeaseWritesNothing(t *testing.T) {
	s, d := watched(t,
		scenario.Step{At: duration(3 * time.Minute), Silence: &scenario.Nodes{Names: []string{"a-1", "a-2"}}},
		// It is about to declare them, and sleeps until long after another leads.
		scenario.Step{At: duration(3*time.Minute + 40*time.Second), For: duration(2 * time.Minute),
			Pause: &scenario.Process{}})
	until(s, 3*time.Minute+40*time.Second)
	sleeper := s.replicas[0].Client()
	if s.replicas[1].Client().Paused() {
		sleeper = s.replicas[1].Client()
	}
	require.True(t, sleeper.Paused())
	d.writes = nil
	until(s, 8*time.Minute)
	require.NotEmpty(t, d.writes)
	for _, call := range d.writes {
		require.NotEqual(t, sleeper, call.Client, "%s %s was sent by a process whose lease had ended", call.Verb, call.Name)
	}
	require.True(t, sleeper.Stopped(), "it ends when it sees that another leads")
}

// A turn of a process sends several calls. It can die between two of them.
func TestProcessDiesBetweenTwoCallsOfATurn(t *testing.T) {
	s, d := watched(t, scenario.Step{At: duration(3 * time.Minute), Silence: &scenario.Nodes{Names: []string{"a-1"}}})
	until(s, 3*time.Minute)
	d.writes = nil
	var dead *network.Client
	s.World().Decide(func(m network.Message) network.Fate {
		if dead != nil || m.Kind != network.MessageCall || m.Call.Kind != network.Pods || m.Call.Verb != network.Patch {
			return network.Fate{}
		}
		dead = m.Client
		for _, r := range s.Replicas() {
			if r.Client() == dead {
				r.Die()
			}
		}
		return network.Fate{}
	})
	until(s, 8*time.Minute)
	require.NotNil(t, dead)
	marked := map[*network.Client]int{}
	for _, call := range d.writes {
		if call.Kind == network.Pods && call.Reached {
			marked[call.Client]++
		}
	}
	require.Equal(t, 1, marked[dead], "what it had sent arrives, and nothing else")
	require.Len(t, marked, 2, "another goes on")
}

func TestSplitBrainMakesAllProcessesAct(t *testing.T) {
	s, d := watched(t,
		scenario.Step{At: duration(2 * time.Minute), For: duration(10 * time.Minute), SplitBrain: &scenario.SplitBrain{}},
		scenario.Step{At: duration(3 * time.Minute), Silence: &scenario.Nodes{Zone: "a", Count: 1}})
	until(s, 10*time.Minute)
	writers := map[string]bool{}
	for _, call := range d.writes {
		writers[call.Client.Name] = true
	}
	require.Len(t, writers, 2)
	require.Len(t, d.evicted, 2)
}

func TestCallsKeepTheClientsRate(t *testing.T) {
	description := small(scenario.Step{At: duration(3 * time.Minute),
		Silence: &scenario.Nodes{Names: []string{"a-0", "a-1"}}})
	description.Controller.Flags = map[string]scenario.FlagValue{"kube-api-qps": "0.5", "kube-api-burst": "1"}
	s, err := New(description)
	require.NoError(t, err)
	d := &diary{world: s.World(), tainted: map[string]time.Duration{}, evicted: map[string]time.Duration{}}
	s.World().Watch(d)
	s.Run()
	require.Greater(t, len(d.writes), 5)
	start := 3 * time.Minute // it had nothing to do before
	for i, call := range d.writes {
		earned := 1 + 0.5*(call.SentAt-start).Seconds()
		require.LessOrEqual(t, float64(i+1), earned, "%v %s of %s", call.SentAt, call.Verb, call.Name)
	}
}

func TestCalmSaysSinceWhenAControllerCanAct(t *testing.T) {
	s, _ := watched(t,
		scenario.Step{At: duration(2 * time.Minute), For: duration(time.Minute), APIErrors: &scenario.APIErrors{Share: 0.5}},
		scenario.Step{At: duration(5 * time.Minute), Crash: &scenario.Process{}})
	until(s, time.Minute)
	since, ok := s.Calm()
	require.True(t, ok)
	require.Less(t, since, 10*time.Second)
	until(s, 150*time.Second)
	_, ok = s.Calm()
	require.False(t, ok)
	until(s, 4*time.Minute)
	since, ok = s.Calm()
	require.True(t, ok)
	require.Equal(t, 3*time.Minute+settleAfter, since)
	until(s, 5*time.Minute+time.Second)
	_, ok = s.Calm()
	require.False(t, ok, "no process leads")
	until(s, 6*time.Minute)
	since, ok = s.Calm()
	require.True(t, ok)
	require.Greater(t, since, 5*time.Minute+10*time.Second)
}

// everything is a witness that keeps a sum of all that it is told.
type everything struct {
	world *model.World
	sum   io.Writer
}

func (e *everything) tell(format string, args ...any) {
	fmt.Fprintf(e.sum, "%d "+format+"\n", append([]any{e.world.Elapsed()}, args...)...)
}

func (e *everything) WroteNode(w model.NodeWrite) { e.tell("node %s", encode(w.After)) }
func (e *everything) WrotePod(w model.PodWrite)   { e.tell("pod %s", encode(w.After)) }
func (e *everything) Beat(m *model.Machine)       { e.tell("beat %s", m.Name) }
func (e *everything) Sent(c *network.Call)        { e.tell("sent %s %s %s", c.Verb, c.Name, c.Data) }
func (e *everything) Processed(c *network.Call)   { e.tell("processed %s %s", c.Verb, c.Name) }
func (e *everything) Answered(c *network.Call)    { e.tell("answered %s %s %v", c.Verb, c.Name, c.Err) }
func (e *everything) SawNode(c *network.Client, _, node *corev1.Node) {
	e.tell("%s saw %v", c.Name, node)
}
func (e *everything) SawPod(c *network.Client, _, pod *corev1.Pod) {
	e.tell("%s saw %s", c.Name, encode(pod))
}
func (e *everything) SawLease(c *network.Client, _, lease *coordinationv1.Lease) {
	e.tell("%s saw %s", c.Name, encode(lease))
}
func (e *everything) Wrote(w model.Write) { e.tell("%s %s", w.Kind, encode(w.After)) }
func (e *everything) Saw(c *network.Client, kind network.Kind, _, after network.Object) {
	e.tell("%s sees %s %s", c.Name, kind, encode(after))
}
func (e *everything) SawHalt(c *network.Client, halted bool) {
	e.tell("%s saw halted %v", c.Name, halted)
}
func (e *everything) Noted(n network.Note) { e.tell("%s %s", n.Kind, n.Text) }

func encode(object any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

func TestSameSeedIsTheSameRun(t *testing.T) {
	sum := func(seed uint64) uint64 {
		description := small(
			scenario.Step{At: duration(2 * time.Minute), For: duration(4 * time.Minute), Silence: &scenario.Nodes{Share: 0.5}},
			scenario.Step{At: duration(3 * time.Minute), For: duration(time.Minute), APIErrors: &scenario.APIErrors{Share: 0.3}},
			scenario.Step{At: duration(4 * time.Minute), For: duration(time.Minute),
				StaleWatch: &scenario.StaleWatch{Delay: scenario.Range{Max: duration(20 * time.Second)}}},
			scenario.Step{At: duration(5 * time.Minute), Crash: &scenario.Process{}},
			scenario.Step{At: duration(6 * time.Minute), For: duration(time.Minute), Delete: &scenario.Nodes{Count: 1}},
			scenario.Step{At: duration(6 * time.Minute), For: duration(2 * time.Minute), SplitBrain: &scenario.SplitBrain{}})
		description.Seed = seed
		s, err := New(description)
		require.NoError(t, err)
		hash := fnv.New64a()
		s.World().Watch(&everything{s.World(), hash})
		s.Run()
		return hash.Sum64()
	}
	for seed := range uint64(20) {
		once, again := sum(seed), sum(seed)
		require.Equal(t, once, again, "seed %d", seed)
		require.NotEqual(t, once, sum(seed+100))
	}
}

// beatCounter counts heartbeats.
type beatCounter struct {
	model.Unimpressed
	beats int
}

func (c *beatCounter) Beat(*model.Machine) { c.beats++ }

// counted counts how often a process asks for something to do.
type counted struct {
	timedqueue.Source[timedqueue.Job]

	looks *int
}

func (c counted) Start(now time.Time) (timedqueue.Job, bool) {
	*c.looks++
	return c.Source.Start(now)
}

// A process looks when a node's grace period would have ended, after answers
// and on a period: all that is less often than heartbeats come.
func TestHeartbeatsDoNotMakeAProcessLook(t *testing.T) {
	description := small()
	description.Cluster.Zones[0].Nodes = 100
	description.Controller.Replicas = 1
	s, err := New(description)
	require.NoError(t, err)
	until(s, 5*time.Minute)
	counter := &beatCounter{}
	s.world.Watch(counter)
	looks := 0
	jobs, err := s.replicas[0].newJobs()
	require.NoError(t, err)
	s.replicas[0].process.Perform(counted{jobs, &looks})
	until(s, 6*time.Minute)
	require.Greater(t, counter.beats, 500)
	require.Positive(t, looks)
	require.Less(t, looks, counter.beats/2)
}
