package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// drained runs a scenario in which a node with two pods is drained at three
// minutes. It returns the verbs of the calls that made pods leave or were to,
// each once.
func drained(t *testing.T, minAvailable int, flags map[string]scenario.FlagValue) ([]network.Verb, *diary) {
	description := small()
	description.Controller.Flags = flags
	description.Cluster.Workloads[0].MinAvailable = minAvailable
	description.Script = []scenario.Step{{At: duration(3 * time.Minute), Taint: &scenario.Taint{
		Nodes: scenario.Nodes{Names: []string{"a-1"}}, Key: "maintenance", Effect: string(corev1.TaintEffectNoExecute),
	}}}
	s, err := New(description)
	require.NoError(t, err)
	d := newDiary(s)
	s.Run()
	var verbs []network.Verb
	for _, call := range d.writes {
		if call.Verb == network.Delete || call.Verb == network.Evict {
			verbs = append(verbs, call.Verb)
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs), d
}

func TestActionsReachTheAPIServer(t *testing.T) {
	for _, test := range []struct {
		action       scenario.FlagValue
		minAvailable int
		verbs        []network.Verb
		evicted      int
	}{
		{"delete", 12, []network.Verb{network.Delete}, 2},
		{"evict", 0, []network.Verb{network.Evict}, 2},
		{"evict", 12, []network.Verb{network.Evict}, 0},
		{"evict", 11, []network.Verb{network.Evict}, 2},
		{"evict-then-delete", 12, []network.Verb{network.Delete, network.Evict}, 2},
		{"dry-run", 0, nil, 0},
	} {
		verbs, d := drained(t, test.minAvailable, map[string]scenario.FlagValue{"action": test.action, "evict-for": "2m"})
		require.Equal(t, test.verbs, verbs, "%+v", test)
		require.Len(t, d.evicted, test.evicted, "%+v", test)
	}
}

// A refused eviction is repeated after a growing wait, and becomes a delete
// after long enough.
func TestEvictThenDeleteAsksForAsLongAsItShould(t *testing.T) {
	_, d := drained(t, 12, map[string]scenario.FlagValue{"action": "evict-then-delete", "evict-for": "2m"})
	for pod, at := range d.evicted {
		require.GreaterOrEqual(t, at, 5*time.Minute, pod)
		require.LessOrEqual(t, at, 6*time.Minute+10*time.Second, "%s: the wait of a retry later", pod)
	}
}

// A node without a taint is emptied after its timeout, whatever its pods
// tolerate.
func TestNodesAreEmptiedByNode(t *testing.T) {
	description := small()
	description.Controller.Flags = map[string]scenario.FlagValue{"eviction-mode": "node", "pod-eviction-timeout": "90s"}
	description.Script = []scenario.Step{{At: duration(3 * time.Minute),
		NotReady: &scenario.Nodes{Names: []string{"a-1"}}}}
	s, err := New(description)
	require.NoError(t, err)
	d := newDiary(s)
	s.Run()
	require.Empty(t, d.tainted)
	require.Len(t, d.evicted, 2)
	for pod, at := range d.evicted {
		require.InDelta(t, (4*time.Minute + 30*time.Second).Seconds(), at.Seconds(), 1.2, pod)
	}
}
