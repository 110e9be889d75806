package controller

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Objects come and go in any order, and each is found where it should be.
func TestObjectsAreFoundWhereTheyAre(t *testing.T) {
	o := newObjects()
	random := rand.New(rand.NewPCG(1, 0))
	for range 5000 {
		name := fmt.Sprint(random.IntN(20))
		if n, known := o.nodes[name]; known {
			o.removeNode(n)
		} else {
			o.addNode(name).object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		id := types.UID(fmt.Sprint(random.IntN(50)))
		if p, known := o.pods[id]; known {
			o.removePod(p)
		} else {
			o.addPod(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{UID: id}, Spec: corev1.PodSpec{NodeName: name},
			})
		}
		require.Len(t, o.ordered, len(o.nodes))
		for i, n := range o.ordered {
			require.Equal(t, i, n.slot)
			require.Same(t, n, o.nodes[n.object.Name])
		}
		pods := 0
		for on, all := range o.podsOn {
			require.NotEmpty(t, all)
			for i, p := range all {
				require.Equal(t, i, p.slot)
				require.Equal(t, on, p.object.Spec.NodeName)
				require.Same(t, p, o.pods[PodID(p.object)])
			}
			pods += len(all)
		}
		require.Len(t, o.pods, pods)
	}
}

// An episode is a number that no other node has, and begins when the readiness
// of a node changes.
func TestEpisodesBeginWhenReadinessChanges(t *testing.T) {
	p := newParts(t, Config{})
	a, b := p.add("a", corev1.ConditionTrue), p.add("b", corev1.ConditionTrue)
	require.NotEqual(t, a.episode, b.episode)
	before := a.episode
	require.False(t, p.objects.setReady(p.now, a), "nothing has changed")
	require.Equal(t, before, a.episode)

	p.now = p.now.Add(time.Second)
	a.object = p.node("a", corev1.ConditionFalse)
	require.True(t, p.objects.setReady(p.now, a))
	require.Greater(t, a.episode, b.episode)
	require.Equal(t, a.episode, a.fell)
	a.object = p.node("a", corev1.ConditionUnknown)
	require.True(t, p.objects.setReady(p.now, a))
	require.Less(t, a.fell, a.episode, "it fell before")
}
