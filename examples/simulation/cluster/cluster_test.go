package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
)

// newCluster returns a cluster whose writes are appended to a list.
func newCluster(writes *[]cluster.Write) *cluster.Cluster {
	return cluster.New(cluster.Config{
		Network:   network.Config{Start: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)},
		Namespace: "shop",
		Stored:    func(w cluster.Write) { *writes = append(*writes, w) },
	})
}

func podOn(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}
}

func run(c *cluster.Cluster, until time.Duration) { c.Run(until, 1000) }

// What users and clients write is stored, told with its call, and shown to
// watches.
func TestAClusterTellsAndShowsWhatIsStored(t *testing.T) {
	var writes []cluster.Write
	c := newCluster(&writes)
	p := program.New(c.Network, program.Config{Name: "watcher", Workers: 1})
	var shown []string
	tell := func(what string) func(any) { return func(any) { shown = append(shown, what) } }
	p.Inform(network.Pods, cache.ResourceEventHandlerFuncs{
		AddFunc: tell("added"), DeleteFunc: tell("gone"),
		UpdateFunc: func(any, any) { shown = append(shown, "changed") },
	})
	run(c, time.Second)
	require.NoError(t, c.Users().Create(network.Pods.Resource(), podOn("node")))
	run(c, 2*time.Second)
	require.Len(t, p.CachedObjects(network.Pods), 1)

	pod := cluster.Get[*corev1.Pod](c, network.Pods, "a")
	require.Equal(t, "shop", pod.Namespace)
	cluster.Edit(c, network.Pods, pod, func(*corev1.Pod) {})
	cluster.Edit(c, network.Pods, pod, func(pod *corev1.Pod) { pod.Status.Message = "x" })
	removal := &network.Call{Verb: network.Delete, Kind: network.Pods, Name: "a", GracePeriodSeconds: new(int64)}
	p.Call(removal, func(call *network.Call) { require.NoError(t, call.Err) })
	run(c, 3*time.Second)

	require.Empty(t, cluster.List[*corev1.Pod](c, network.Pods))
	require.Equal(t, []string{"added", "changed", "changed", "gone"}, shown, "its end is two changes")
	require.Len(t, writes, len(shown))
	require.Nil(t, writes[0].Before)
	require.Nil(t, writes[1].Call, "that was a user")
	require.Same(t, removal, writes[2].Call)
	require.Same(t, removal, writes[3].Call)
	require.Nil(t, writes[3].After)
	require.Equal(t, c.Version(), writes[3].Version)
	require.Equal(t, map[string]int{"delete pods": 1}, c.Requests)
}

// A deletion with a grace period leaves the pod to its kubelet.
func TestADeletionHasItsGracePeriod(t *testing.T) {
	var writes []cluster.Write
	c := newCluster(&writes)
	require.NoError(t, c.Users().Create(network.Pods.Resource(), podOn("node")))
	grace := int64(7)
	c.Delete(network.Pods, "a", &grace)
	require.Equal(t, &grace, cluster.Get[*corev1.Pod](c, network.Pods, "a").DeletionGracePeriodSeconds)
}

// A call names its namespace, and without one it is that of the cluster.
func TestACallHasANamespace(t *testing.T) {
	var writes []cluster.Write
	c := newCluster(&writes)
	client := c.NewClient("client", 1, func() {})
	for _, namespace := range []string{"", "other"} {
		client.CallNow(&network.Call{
			Verb: network.Create, Kind: network.Pods, Name: "a", Namespace: namespace, Object: podOn("node"),
		})
	}
	require.Equal(t, "shop", writes[0].After.GetNamespace())
	require.Equal(t, "other", writes[1].After.GetNamespace())
}

// A call that takes no time has its answer when it returns. It fails, loses its
// answer and ends with its process as other calls do.
func TestACallNowFailsAsOthersDo(t *testing.T) {
	var writes []cluster.Write
	c := newCluster(&writes)
	require.NoError(t, c.Users().Create(network.Nodes.Resource(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	client := c.NewClient("client", 1, func() {})
	get := func() *network.Call {
		call := &network.Call{Verb: network.Get, Kind: network.Nodes, Name: "n"}
		client.CallNow(call)
		return call
	}
	require.Equal(t, "n", get().Node.Name)

	end := c.FailCalls(1, []int{503}, network.Get)
	require.True(t, apierrors.IsServiceUnavailable(get().Err))
	require.False(t, get().Reached)
	end()

	end = c.ResetAnswers(1)
	lost := get()
	require.Error(t, lost.Err)
	require.True(t, lost.Reached)
	require.Nil(t, lost.Node)
	end()

	end = c.Down()
	require.ErrorIs(t, get().Err, network.ErrConnection)
	end()

	client.Stop()
	require.ErrorIs(t, get().Err, network.ErrConnection)
	require.Zero(t, c.Elapsed())
}
