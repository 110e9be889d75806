package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// follow is a witness that calls a function for each version of one node.
type follow struct {
	model.Unimpressed
	node string
	seen func(*corev1.Node)
}

func (f *follow) WroteNode(w model.NodeWrite) {
	if w.After != nil && w.After.Name == f.node {
		f.seen(w.After)
	}
}

func started(t *testing.T, steps ...scenario.Step) *Simulation {
	t.Helper()
	s, err := New(small(steps...))
	require.NoError(t, err)
	return s
}

func TestKubeletsFlapBetweenReadyAndNotReady(t *testing.T) {
	s := started(t, scenario.Step{
		At: duration(2 * time.Minute), For: duration(time.Minute),
		FlapReady: &scenario.FlapReady{Nodes: scenario.Nodes{Names: []string{"a-1"}}, NotReady: duration(3 * time.Second),
			Ready: duration(2 * time.Second)},
	})
	changes, last := 0, corev1.ConditionTrue
	s.World().Watch(&follow{node: "a-1", seen: func(node *corev1.Node) {
		require.NotEqual(t, corev1.ConditionUnknown, ready(node), "it beats all the time")
		if ready(node) != last {
			last = ready(node)
			changes++
		}
	}})
	s.Run()
	require.InDelta(t, 24, changes, 2, "twelve times there and back")
	require.Equal(t, corev1.ConditionTrue, last)
}

func ready(node *corev1.Node) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return node.Status.Conditions[i].Status
		}
	}
	return ""
}

func TestClocksOfNodesDrift(t *testing.T) {
	s := started(t, scenario.Step{
		At: duration(2 * time.Minute), For: duration(10 * time.Minute),
		ClockDrift: &scenario.ClockDrift{Nodes: scenario.Nodes{Names: []string{"a-1"}}, By: duration(-time.Second),
			Every: duration(10 * time.Second)},
	})
	renewed := func() time.Duration { // how far the lease is off, just after a beat
		beats := s.World().Machine("a-1").Beats
		for s.World().Machine("a-1").Beats == beats {
			require.True(t, s.Step())
		}
		call := &network.Call{Verb: network.Get, Kind: network.Leases, Name: "a-1"}
		var off time.Duration
		at := s.World().Now()
		s.Replicas()[0].Client().Call(call, func(answer *network.Call) { off = answer.Lease.Spec.RenewTime.Sub(at) })
		until(s, s.World().Elapsed()+time.Second)
		return off
	}
	require.Zero(t, renewed())
	until(s, 7*time.Minute)
	require.InDelta(t, -31*time.Second, renewed(), float64(2*time.Second))
	until(s, 13*time.Minute)
	require.Zero(t, renewed())
}

func TestHostileKubeletsWriteTheirOwnNodesAndLeases(t *testing.T) {
	nodes := scenario.Nodes{Names: []string{"a-1"}}
	step := func(h scenario.Hostile) scenario.Step {
		h.Nodes, h.Every = nodes, duration(5*time.Second)
		return scenario.Step{At: duration(2 * time.Minute), For: duration(5 * time.Minute), Hostile: &h}
	}
	zones := map[string]bool{}
	s := started(t, step(scenario.Hostile{Zones: []string{"x", "y"}, Taints: scenario.PutOnTaints}))
	planted := 0
	s.World().Watch(&follow{node: "a-1", seen: func(node *corev1.Node) {
		zones[node.Labels[corev1.LabelTopologyZone]] = true
		if noExecute(node) {
			planted++
		}
	}})
	s.Run()
	require.Equal(t, map[string]bool{"a": true, "x": true, "y": true}, zones)
	require.Equal(t, "a", s.World().Node("a-1").Labels[corev1.LabelTopologyZone], "as it was")
	require.Greater(t, planted, 20, "whenever it had been taken off")
	require.False(t, noExecute(s.World().Node("a-1")), "the controller has the last word")

	s = started(t, step(scenario.Hostile{Taints: scenario.TakeOffTaints}),
		scenario.Step{At: duration(2 * time.Minute), NotReady: &nodes})
	tainted := 0
	s.World().Watch(&follow{node: "a-1", seen: func(node *corev1.Node) {
		if noExecute(node) {
			tainted++
		}
	}})
	s.Run()
	require.Greater(t, tainted, 2)
	require.True(t, noExecute(s.World().Node("a-1")), "the controller has the last word")

	// Whatever the times in its leases are, it is alive: nothing is done to it.
	for _, how := range []string{scenario.FutureLeases, scenario.ZeroLeases, scenario.BackwardsLeases} {
		s, d := watched(t, step(scenario.Hostile{Leases: how}))
		s.Run()
		require.Empty(t, d.writes, how)
	}
}

func TestTheAPIServerBlinks(t *testing.T) {
	s := started(t, scenario.Step{
		At: duration(2 * time.Minute), For: duration(3*time.Minute + 2*time.Second),
		APIBlink: &scenario.APIBlink{Down: duration(5 * time.Second), Up: duration(55 * time.Second)},
	})
	for _, c := range []struct {
		at      time.Duration
		reaches bool
	}{
		{2*time.Minute - time.Second, true},
		{2*time.Minute + time.Second, false}, {2*time.Minute + 6*time.Second, true},
		{3*time.Minute + 4*time.Second, false}, {3*time.Minute + 6*time.Second, true},
		{5*time.Minute + time.Second, false}, {5*time.Minute + 3*time.Second, true},
		{6*time.Minute + time.Second, true},
	} {
		until(s, c.at)
		require.Equal(t, c.reaches, s.World().Machine("a-1").Reaches(), c.at)
	}
}

func TestListsAreSlowFromTheStart(t *testing.T) {
	two := scenario.Range{Min: duration(2 * time.Minute), Max: duration(2 * time.Minute)}
	s := started(t, scenario.Step{For: duration(10 * time.Minute), SlowLists: &two})
	until(s, 119*time.Second)
	require.False(t, s.Replicas()[0].Client().Synced())
	until(s, 121*time.Second)
	require.True(t, s.Replicas()[0].Client().Synced())
}

// A proxy that answers 404 to all writes for a while: nodes that are there are
// dealt with once it is gone.
func TestAProxyAnswersThatWhatIsThereIsNot(t *testing.T) {
	s, d := watched(t,
		scenario.Step{At: duration(3 * time.Minute), For: duration(10 * time.Minute),
			Silence: &scenario.Nodes{Names: []string{"a-1"}}},
		scenario.Step{At: duration(3 * time.Minute), For: duration(3 * time.Minute),
			APIErrors: &scenario.APIErrors{Share: 1, Codes: []int{404}, Verbs: []string{"patch"}}})
	s.Run()
	require.Greater(t, d.tainted["a-1"], 6*time.Minute)
	require.Less(t, d.tainted["a-1"], 9*time.Minute)

	// An eviction that got such an answer is not lost.
	s, d = watched(t,
		scenario.Step{At: duration(3 * time.Minute), For: duration(10 * time.Minute),
			Silence: &scenario.Nodes{Names: []string{"a-1"}}},
		scenario.Step{At: duration(3 * time.Minute), For: duration(5 * time.Minute),
			APIErrors: &scenario.APIErrors{Share: 1, Codes: []int{404}, Verbs: []string{"delete"}}})
	leaving := len(s.World().PodsOn("a-1"))
	require.Positive(t, leaving)
	s.Run()
	require.Len(t, d.evicted, leaving)
	for pod, at := range d.evicted {
		require.Greater(t, at, 8*time.Minute, pod)
		require.Less(t, at, 11*time.Minute, pod)
	}
}
