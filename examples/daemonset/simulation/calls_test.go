package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	statusWrites = "patch daemonsets/status"
	setReads     = "get daemonsets"
)

// quick are kubelets whose pods are ready within a second.
var quick = Kubelets{
	Bind:   network.Span{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
	Begin:  network.Span{Min: 50 * time.Millisecond, Max: 100 * time.Millisecond},
	Ready:  network.Span{Min: 100 * time.Millisecond, Max: 600 * time.Millisecond},
	Stop:   network.Span{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
	Broken: BrokenImage,
}

// calls is a world whose calls are counted.
type calls struct {
	*testing.T
	*World

	counted int // calls so far
}

func newCalls(t *testing.T, perSecond float64, nodes int) *calls {
	t.Helper()
	config := controller.Config{}
	config.Requests.PerSecond, config.Requests.Burst = rate.Limit(perSecond), int(perSecond)
	world, err := NewWorld(WorldConfig{Seed: 1, Controller: config, Kubelets: quick})
	require.NoError(t, err)
	c := &calls{T: t, World: world}
	for i := range nodes {
		c.AddMachine(fmt.Sprintf("node-%03d", i), "", "")
	}
	return c
}

// create creates sets, each of which has a pod on each node.
func (c *calls) create(sets int) {
	for i := range sets {
		name := fmt.Sprintf("set-%02d", i)
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
		set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{
			MaxUnavailable: ptr.To(intstr.FromString("10%")),
		}
		require.NoError(c, c.World.Create(network.DaemonSets.Resource(), set))
	}
}

// rollOut gives all sets another image.
func (c *calls) rollOut() {
	for _, set := range c.Sets() {
		require.NoError(c, c.Patch(network.DaemonSets.Resource(), types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":"agent:2"}]}}}}`), set.Name))
	}
}

// play lets time pass until all sets say that they are as they should be, and
// returns how long that took and how many calls of each kind there were.
func (c *calls) play(nodes int) (time.Duration, map[string]int) {
	begin := c.Elapsed()
	done := func() bool {
		for _, set := range c.Sets() {
			s := set.Status
			if s.ObservedGeneration != set.Generation || s.NumberAvailable != int32(nodes) ||
				s.UpdatedNumberScheduled != int32(nodes) {
				return false
			}
		}
		return true
	}
	for c.Advance(begin + 1); !done(); c.Advance(c.Elapsed() + 50*time.Millisecond) {
		require.Less(c, c.Elapsed(), begin+time.Hour)
	}
	return c.Elapsed() - begin, c.count()
}

// count returns how many calls of each kind there were since the last count.
func (c *calls) count() map[string]int {
	counts := map[string]int{}
	for _, call := range c.History().Calls[c.counted:] {
		counts[call.Request]++
	}
	c.counted = len(c.History().Calls)
	return counts
}

// Statuses that show the progress of a rollout take a small part of the
// requests, also when many sets share few. kube-controller-manager needs 19 for
// one set of 300 nodes with 20 calls a second.
func TestStatusesTakeASmallPartOfTheCalls(t *testing.T) {
	for name, test := range map[string]struct {
		perSecond         float64
		sets, nodes       int
		creation, rollout int // statuses
		longest           time.Duration
	}{
		"300 nodes":                    {perSecond: 1000, sets: 1, nodes: 300, creation: 3, rollout: 6, longest: 10 * time.Second},
		"300 nodes, 20 calls a second": {perSecond: 20, sets: 1, nodes: 300, creation: 6, rollout: 8, longest: 33 * time.Second},
		"20 sets, 20 calls a second":   {perSecond: 20, sets: 20, nodes: 20, creation: 140, rollout: 180, longest: 55 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalls(t, test.perSecond, test.nodes)
			c.create(test.sets)
			_, counts := c.play(test.nodes)
			require.LessOrEqual(t, counts[statusWrites], test.creation, counts)
			c.rollOut()
			took, counts := c.play(test.nodes)
			require.LessOrEqual(t, counts[statusWrites], test.rollout, counts)
			require.LessOrEqual(t, took, test.longest)
		})
	}
}

// The adoptions of many orphans share a read of the set.
func TestAdoptionsShareARead(t *testing.T) {
	for perSecond, reads := range map[float64]int{1000: 1, 20: 2} {
		const nodes = 300
		c := newCalls(t, perSecond, nodes)
		for i := range nodes {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("orphan-%03d", i)}}
			pod.Labels = map[string]string{"app": "set-00"}
			pod.Spec.NodeName = fmt.Sprintf("node-%03d", i)
			pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
			require.NoError(t, c.World.Create(network.Pods.Resource(), pod))
		}
		c.create(1)
		_, counts := c.play(nodes)
		require.Equal(t, nodes, counts["patch pods"])
		require.Equal(t, reads, counts[setReads], counts)
	}
}
