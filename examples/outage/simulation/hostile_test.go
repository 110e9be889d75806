package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
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
		FlapReady: &scenario.FlapReady{Nodes: scenario.Nodes{Names: []string{"a-1"}}, NotReady: duration(3 * time.Second), Ready: duration(2 * time.Second)},
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
