package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Two steps of one kind overlap on a node, and end in either order.
func TestEditsOfANodeThatOverlapEndWithTheLast(t *testing.T) {
	node := scenario.Nodes{Names: []string{"a-1"}}
	taint := func(value string) *scenario.Taint {
		return &scenario.Taint{Nodes: node, Key: "maintenance", Value: value, Effect: "NoSchedule"}
	}
	for name, kind := range map[string]struct {
		first, second scenario.Step
		shows         func(*corev1.Node) string
		want          [3]string // the first, the second, and none
	}{
		"move": {
			first:  scenario.Step{Move: &scenario.Move{Nodes: node, Zone: "b"}},
			second: scenario.Step{Move: &scenario.Move{Nodes: node, Zone: "new"}},
			shows:  func(n *corev1.Node) string { return n.Labels[corev1.LabelTopologyZone] },
			want:   [3]string{"b", "new", "a"},
		},
		"cordon": {
			first:  scenario.Step{Cordon: &node},
			second: scenario.Step{Cordon: &node},
			shows: func(n *corev1.Node) string {
				if n.Spec.Unschedulable {
					return "cordoned"
				}
				return ""
			},
			want: [3]string{"cordoned", "cordoned", ""},
		},
		"taint": {
			first:  scenario.Step{Taint: taint("one")},
			second: scenario.Step{Taint: taint("two")},
			shows: func(n *corev1.Node) string {
				all := ""
				for _, t := range n.Spec.Taints {
					all += t.Key + "=" + t.Value
				}
				return all
			},
			want: [3]string{"maintenance=one", "maintenance=two", ""},
		},
	} {
		for _, order := range []struct {
			firstEnds time.Duration
			left      int // what is shown when the second has ended
		}{{4 * time.Minute, 2}, {8 * time.Minute, 0}} {
			first, second := kind.first, kind.second
			first.At, first.For = duration(2*time.Minute), duration(order.firstEnds-2*time.Minute)
			second.At, second.For = duration(3*time.Minute), duration(3*time.Minute)
			s, err := New(small(first, second))
			require.NoError(t, err)
			shown := func(at time.Duration) string {
				until(s, at)
				return kind.shows(s.world.Node("a-1"))
			}
			require.Equal(t, kind.want[0], shown(2*time.Minute+30*time.Second), name)
			require.Equal(t, kind.want[1], shown(3*time.Minute+30*time.Second), "%s: the last one counts", name)
			require.Equal(t, kind.want[1], shown(5*time.Minute), "%s: the end of one is not the end of the other", name)
			require.Equal(t, kind.want[order.left], shown(7*time.Minute), "%s: the end of one is not the end of the other", name)
			require.Equal(t, kind.want[2], shown(9*time.Minute), name)
		}
	}
}
