package explore

import (
	"flag"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// crasher kills the process that sends the n-th call about nodes and pods. It
// does so when the call has left, when the API server has dealt with it, or
// when the answer is in.
type crasher struct {
	model.Unimpressed
	simulation *simulation.Simulation
	moment     string
	countdown  int // to the crash
	calls      int
	crashes    int
}

func (c *crasher) Sent(call *network.Call)      { c.at("sent", call) }
func (c *crasher) Processed(call *network.Call) { c.at("processed", call) }
func (c *crasher) Answered(call *network.Call)  { c.at("answered", call) }

// Noted counts the ends of processes.
func (c *crasher) Noted(note network.Note) {
	if note.Kind == network.Stopped {
		c.crashes++
	}
}

func (c *crasher) at(moment string, call *network.Call) {
	if call.Verb == network.List || call.Kind == network.LeaderLease || moment != c.moment {
		return
	}
	c.calls++
	if c.countdown--; c.countdown != 0 {
		return
	}
	for _, r := range c.simulation.Replicas() {
		if r.Client() == call.Client {
			r.Die()
		}
	}
}

var (
	oneDies = []scenario.Step{
		{At: minutes(2), For: minutes(6), Silence: &scenario.Nodes{Names: []string{"a-0"}}},
	}
	allDie = []scenario.Step{
		{At: minutes(2), Silence: &scenario.Nodes{Names: []string{"b-1"}}, For: minutes(8)},
		{At: minutes(4), For: minutes(3), Silence: &scenario.Nodes{All: true}},
	}
	// drain empties a node while another is not ready.
	drain = []scenario.Step{
		{At: minutes(2), For: minutes(5), NotReady: &scenario.Nodes{Names: []string{"a-1"}}},
		{At: minutes(3), For: minutes(4),
			Taint: &scenario.Taint{Nodes: scenario.Nodes{Names: []string{"b-0"}}, Key: "maintenance", Effect: "NoExecute"}},
		{At: minutes(3), For: minutes(4), Cordon: &scenario.Nodes{Names: []string{"b-0"}}},
	}
)

var crashEach = flag.Int("crash-each", seeds.Sized(4, 1), "at each which call the process dies; 1 is at all calls")

// A crash between any two steps, with a restart, breaks nothing. For each call
// the process dies in three runs: just before the call arrives, just after it
// was dealt with, and just after the answer. It sends nothing after that, also
// not in the same turn.
func TestCrashAtAnyStepBreaksNothing(t *testing.T) {
	evicting := map[string]scenario.FlagValue{"action": "evict-then-delete", "evict-for": "1m", "budget-overall": "0.5"}
	byNode := map[string]scenario.FlagValue{"eviction-mode": "node", "pod-eviction-timeout": "1m"}
	for name, run := range map[string]struct {
		flags  map[string]scenario.FlagValue
		script []scenario.Step
	}{
		"a node dies and comes back":                 {script: oneDies},
		"all nodes die and come back":                {script: allDie},
		"an administrator drains a node":             {script: drain},
		"a node dies, and its pods are evicted":      {evicting, oneDies},
		"a node is drained through the API":          {evicting, drain},
		"a node dies, and is emptied":                {byNode, oneDies},
		"all nodes die, and none of them is emptied": {byNode, allDie},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, moment := range []string{"sent", "processed", "answered"} {
				calls := crashAt(t, run.flags, run.script, moment, 0)
				require.Greater(t, calls, 8, "nothing happens")
				for n := 1 + i; n <= calls; n += *crashEach {
					crashAt(t, run.flags, run.script, moment, n)
				}
			}
		})
	}
}

func minutes(n int) scenario.Duration { return scenario.Duration(time.Duration(n) * time.Minute) }

// crashAt runs a script with a crash at the n-th call, none if n is zero, and
// returns how many calls there were.
func crashAt(t *testing.T, flags map[string]scenario.FlagValue, script []scenario.Step, moment string, n int) int {
	seconds := int64(30)
	all := map[string]scenario.FlagValue{"leader-elect": "false"}
	maps.Copy(all, flags)
	description := &scenario.Scenario{
		Name: "crash", Duration: minutes(25), Seed: 5,
		Cluster: scenario.Cluster{
			Zones: []scenario.Zone{{Name: "a", Nodes: 3}, {Name: "b", Nodes: 2}},
			Workloads: []scenario.Workload{
				{Name: "web", Replicas: 6, TolerationSeconds: &seconds, EveryTaint: true, MinAvailable: 5},
				{Name: "database", Kind: scenario.StatefulSet, Replicas: 4, TolerationSeconds: ptr.To(int64(0))},
			},
		},
		Controller: scenario.Controller{RestartAfter: scenario.Duration(time.Second), Flags: all},
		Script:     script,
	}
	s, err := simulation.New(description)
	require.NoError(t, err)
	c := &crasher{simulation: s, moment: moment, countdown: n}
	judge := s.Judge()
	s.World().Watch(c)
	judge.Quiet(20 * time.Minute)
	s.Run()
	judge.End()
	require.Equal(t, min(n, 1), c.crashes)
	require.Empty(t, judge.Violations(), "%s", fmt.Sprintf("crash when call %d is %s", n, moment))
	return c.calls
}
