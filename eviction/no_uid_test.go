package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

func withoutUID(name string, options ...podOption) *eviction.Key {
	pod := newPod(name, append(options, withUID(""))...)
	key := eviction.KeyOf(pod)
	return &key
}

// E13: an object that no API server has stored, or a transform of an informer
// that drops too much.
func TestE13PodsWithoutUIDsDoNotMerge(t *testing.T) {
	c := running(t,
		newPod("a", withUID("")), newPod("b", withUID(""), tolerates("x:60")),
		newPod("a", withUID(""), inNamespace("other"), tolerates("x:90")))
	_, pods := c.Len()
	require.Equal(t, 3, pods)
	c.node(10, "n1", "x@10")
	c.leavesAt("ns/a", 10)
	c.leavesAt("ns/b", 70)
	c.leavesAt("other/a", 100)
	require.Equal(t, *withoutUID("a"), c.start(10, "a")[0].Pod)
	require.Equal(t, *withoutUID("b"), c.startOne(70, "b").Pod)
	require.Equal(t, *withoutUID("a", inNamespace("other")), c.startOne(100, "a").Pod)
}

func TestE13IDOfAPod(t *testing.T) {
	require.Equal(t, types.UID("u"), eviction.KeyOf(newPod("p", withUID("u"))).ID())
	require.Equal(t, types.UID("ns/p"), withoutUID("p").ID())
	require.NotEqual(t, withoutUID("p").ID(), withoutUID("p", inNamespace("other")).ID())
}

// E13: it is not lost silently. Each attempt fails, and the error is there to
// be seen.
func TestE13EvictionOfAPodWithoutAUIDFailsAndIsRetried(t *testing.T) {
	for _, confirm := range []bool{false, true} {
		server := newAPIServer()
		config := eviction.DeleterConfig{Pods: server.client}
		evictConfig := eviction.EvictorConfig{Pods: server.evictable}
		if confirm {
			config.Confirm, evictConfig.Confirm = nodeClient{server}, nodeClient{server}
		}
		deleter, err := eviction.NewDeleter(config)
		require.NoError(t, err)
		evictor, err := eviction.NewEvictor(evictConfig)
		require.NoError(t, err)

		c := runningWith(t, twoSeconds, newPod("p", withUID("")))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		for i, act := range []eviction.Action{deleter.Act, evictor.Act, deleter.Act} {
			now := 10 + 2*float64(i)
			result := act(t.Context(), task)
			require.Equal(t, eviction.OutcomeFailed, result.Outcome)
			require.ErrorContains(t, result.Err, "pod has no UID")
			c.Finish(at(now), task, result)
			for p := range c.PodsOn("n1") {
				require.ErrorContains(t, p.Err, "evict pod ns/p: pod has no UID")
				require.Equal(t, at(now+2), p.NextAttempt)
			}
			task = c.startOne(now+2, "p")
			require.Equal(t, i+1, task.Attempts)
		}
		require.Empty(t, server.verbs())
	}
}

func TestE13PodWithoutAUIDIsForgottenByItsID(t *testing.T) {
	pod := newPod("p", withUID(""))
	c := running(t, pod, newPod("p", withUID(""), inNamespace("other")))
	c.ForgetPod(at(1), "")
	c.ForgetPod(at(1), "p")
	_, pods := c.Len()
	require.Equal(t, 2, pods)
	require.True(t, c.EvictPod(at(1), eviction.KeyOf(pod).ID(), "", at(60)))
	c.leavesAt("ns/p", 60)
	c.ForgetPod(at(2), eviction.KeyOf(pod).ID())
	_, known := c.Decision("ns/p")
	require.False(t, known)
	c.stays("other/p", eviction.ReasonNoTaints)
	c.idle(1e6)
}

// A pod that gets its UID later is another pod to the tracker, until it is told
// that the first is gone.
func TestE13PodWithAUIDIsNotThePodWithoutOne(t *testing.T) {
	c := running(t, newPod("p", withUID("")), newPod("p", withUID("uid")))
	c.node(10, "n1", "a@10")
	c.ForgetPod(at(10), "ns/p")
	require.Equal(t, types.UID("uid"), c.start(10, "p")[0].Pod.UID)
}

// E13: a node without a UID is a node like others.
func TestE13NodeWithoutAUID(t *testing.T) {
	c := startUp(t, 0)
	observe := func(seconds float64, taints ...string) {
		node := newNode("n1", taints...)
		node.UID = ""
		c.ObserveNode(at(seconds), node)
	}
	observe(0)
	c.pod(0, newPod("p", tolerates("a:60")))
	c.pod(0, newPod("q", tolerates("*")))
	c.MarkSynced()
	observe(10, "a")
	c.leavesAt("p", 70)
	observe(40, "a")
	c.leavesAt("p", 70)
	c.EvictNode(at(50), "n1", eviction.NodeRequest{Reason: "drain"})
	c.leavesAt("p", 50)
	c.leavesAt("q", 50)
	observe(51, "a")
	c.leavesAt("q", 50)
	task := c.start(52, "p", "q")[0]
	node := newNode("n1", "a")
	node.UID = ""
	require.Equal(t, eviction.ReasonNodeEvicted, task.Reevaluate(newPod("p", tolerates("a:60")), node,
		at(53)).Reason)
	c.CancelNodeEviction(at(54), "n1")
	require.True(t, task.Canceled())
	c.ForgetNode(at(55), "n1")
	c.stays("p", eviction.ReasonNoTaints)
	c.ForgetPod(at(56), "p")
	c.ForgetPod(at(56), "q")
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
}
