package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// rolling returns the candidates of ten nodes, whose rollout has a strategy.
func rolling(strategy Strategy) (*candidates, []*nodeState) {
	g := newGoal(&Config{Spec: Spec{Template: &corev1.PodTemplateSpec{}, Revision: "r", Strategy: strategy}})
	c := newCandidates(&g)
	nodes := make([]*nodeState, 10)
	for i := range nodes {
		nodes[i] = &nodeState{name: string(rune('a' + i)), decision: placed{true, true}}
		c.put(nodes[i], situation{marks: desired | behind})
	}
	return &c, nodes
}

func situated(m marks, all ...need) situation {
	s := situation{marks: m}
	for _, d := range all {
		s.needs.add(d)
	}
	return s
}

// D3: what the limits let go on depends on the marks of the other nodes.
func TestD3LimitsCountTheOtherNodes(t *testing.T) {
	two := intstr.FromInt32(2)
	for name, test := range map[string]struct {
		strategy Strategy
		need     need
		marks    marks // of two others
		extra    marks // of one more, which is too many
	}{
		"maxUnavailable": {Strategy{MaxUnavailable: two}, needUpdateAvailable, 0, unavailable},
		"strict":         {Strategy{MaxUnavailable: two, Strict: true}, needUpdate, 0, between},
		"maxSurge":       {Strategy{MaxSurge: two}, needUpdateAvailable, 0, surging},
		"strict surge":   {Strategy{MaxSurge: two, Strict: true}, needUpdate, surging, between},
	} {
		t.Run(name, func(t *testing.T) {
			c, nodes := rolling(test.strategy)
			c.put(nodes[1], situation{marks: desired | test.extra})
			c.put(nodes[2], situation{marks: desired})
			require.True(t, c.lets(nodes[0], test.need))
			c.put(nodes[2], situation{marks: desired | test.extra})
			require.False(t, c.lets(nodes[0], test.need))
			c.put(nodes[1], situation{marks: desired})
			c.put(nodes[0], situated(desired|test.extra, test.need))
			require.True(t, c.lets(nodes[0], test.need), "its own mark does not count")
		})
	}
}

// D3: old pods that are not available go at once, unless the rollout is Strict,
// and all wait for the partition.
func TestD3UnavailableOldPodsGoAtOnceButForThePartition(t *testing.T) {
	c, nodes := rolling(Strategy{Partition: intstr.FromInt32(9)})
	require.True(t, c.lets(nodes[0], needUpdate))
	c.put(nodes[1], situation{marks: desired})
	require.False(t, c.lets(nodes[0], needUpdate), "the eight others and this one are to stay")
	nodes[2].decision.shouldRun = false
	require.False(t, c.lets(nodes[2], needUpdate))
}

// A node is in the queues of its needs, and in no other one.
func TestANodeIsInTheQueuesOfItsNeeds(t *testing.T) {
	c, nodes := rolling(Strategy{})
	c.put(nodes[1], situated(0, needCreation))
	c.put(nodes[0], situated(0, needCreation, needDeletions))
	require.Equal(t, nodes[0], c.first(needCreation))
	require.Equal(t, nodes[0], c.first(needDeletions))
	c.rank()
	require.Nil(t, c.first(needCreation), "none has a place in the new order yet")
	c.put(nodes[0], situated(0, needUpdate))
	require.Equal(t, nodes[0], c.first(needUpdate))
	c.put(nodes[0], situation{})
	for d := range numberOfNeeds {
		require.Nil(t, c.first(d))
	}
}
