package life_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/life"
	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Turn does all that is due: the heartbeats of the nodes and the writes of
// their pods, in no time. Next tells when there is more to do. A node that is
// silent does neither.
func TestATurnDoesWhatIsDue(t *testing.T) {
	c := cluster.New(cluster.Config{
		Network: network.Config{Start: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}, Namespace: "shop",
	})
	client := c.NewClient("kubelets", 1, func() {})
	runtime, err := cri.NewFake(c.Now())
	require.NoError(t, err)
	woken := 0
	chance := func() float64 { return 0.5 }
	l, err := life.New(life.Config{
		Fleet:   kubelet.FleetConfig{Runtime: runtime, Rand: chance},
		Runtime: runtime, Now: c.Now, Wake: func() { woken++ }, Answer: client.CallNow,
		Node: func(name string) (*corev1.Node, error) {
			return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
		},
		PodsOf: func(string) []*corev1.Pod { return nil },
	})
	require.NoError(t, err)
	for _, name := range []string{"beating", "silent"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "silent" {
			node.Annotations = map[string]string{cri.AnnotationDomain + "/" + kubelet.AnnotationSilent: "true"}
		}
		require.NoError(t, c.Users().Create(network.Nodes.Resource(), node))
		l.Edge.Nodes.OnAdd(cluster.Get[*corev1.Node](c, network.Nodes, name), true)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + name},
			Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		}
		require.NoError(t, c.Users().Create(network.Pods.Resource(), pod))
		l.Edge.Pods.OnAdd(cluster.Get[*corev1.Pod](c, network.Pods, pod.Name), true)
	}
	l.Edge.MarkSynced()
	require.Positive(t, woken)

	for c.Elapsed() < time.Minute {
		l.Turn()
		next, found := l.Next(c.Now())
		require.True(t, found)
		c.Run(c.Elapsed()+max(next.Sub(c.Now()), time.Millisecond), 100)
	}
	require.Equal(t, 1, c.Requests["create leases"])
	require.InDelta(t, 5, c.Requests["update leases"], 1)
	ready := cluster.Get[*corev1.Node](c, network.Nodes, "beating").Status.Conditions
	require.Equal(t, corev1.NodeReady, ready[len(ready)-1].Type)
	require.Empty(t, cluster.Get[*corev1.Node](c, network.Nodes, "silent").Status.Conditions)
	require.Equal(t, corev1.PodRunning, cluster.Get[*corev1.Pod](c, network.Pods, "on-beating").Status.Phase)
	require.Equal(t, corev1.PodPending, cluster.Get[*corev1.Pod](c, network.Pods, "on-silent").Status.Phase)
	require.Equal(t, "on-beating", l.Task().Pod.Name)
}
