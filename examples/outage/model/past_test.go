package model

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A process that starts from an old view is shown what was there, then what
// happened since, as late as the view was old, and, once that is over, what
// happens at once.
func TestProcessBeginsInThePast(t *testing.T) {
	w, s := world(t)
	cordon := func() { w.Machine("a").Edit(func(n *corev1.Node) { n.Spec.Unschedulable = !n.Spec.Unschedulable }) }
	old := w.Node("a").ResourceVersion
	past := w.Remember()
	run(w, 4*time.Second)
	cordon()
	between := w.Node("a").ResourceVersion
	w.Machine("b").Unregister()
	run(w, 11*time.Second)
	s.client.Stop()
	cordon()
	last := w.Node("a").ResourceVersion

	catchUp := w.ShowPast(past, func(c *network.Client) bool { return c.Life == 2 })
	next := w.NewClient("controller", 2, func() {})
	for _, kind := range []network.Kind{network.Nodes, network.Leases, network.Pods, network.LeaderLease} {
		next.Inform(kind, cache.ResourceEventHandlerFuncs{})
	}
	version := func() string { return CachedNode(next, "a").ResourceVersion }
	run(w, 12*time.Second)
	require.True(t, next.Synced())
	require.Equal(t, old, version())
	require.NotNil(t, CachedNode(next, "b"), "which is gone")
	read := &network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a"}
	next.Call(read, func(*network.Call) {})

	// The list is from 1 s and was asked for at 11 s: all is 10 s and some late.
	run(w, 13900*time.Millisecond)
	require.Equal(t, last, read.Node.ResourceVersion, "a read meets the present")
	require.Equal(t, old, version())
	run(w, 14100*time.Millisecond)
	require.Equal(t, between, version())
	require.Nil(t, CachedNode(next, "b"))
	cordon()
	run(w, 20900*time.Millisecond)
	require.Equal(t, between, version())
	run(w, 21100*time.Millisecond)
	require.Equal(t, last, version())
	run(w, 24*time.Second)
	require.Equal(t, last, version())
	run(w, 25*time.Second)
	require.Equal(t, w.Node("a").ResourceVersion, version())

	past.Forget()
	catchUp()
	cordon()
	run(w, 25*time.Second+30*time.Millisecond)
	require.Equal(t, w.Node("a").ResourceVersion, version(), "it has caught up")
	size := past.Len(network.Nodes)
	cordon()
	require.Equal(t, size, past.Len(network.Nodes), "what is forgotten does not grow")
}

// A client that does not match, and one that lists again, sees the present.
func TestPastIsForTheFirstListsOfSomeClients(t *testing.T) {
	w, s := world(t)
	past := w.Remember()
	w.Machine("b").Unregister()
	run(w, 2*time.Second)
	w.ShowPast(past, func(c *network.Client) bool { return c.Name == "controller" })
	w.BreakWatches(func(*network.Client, network.Kind) bool { return true })()
	other := w.NewClient("other", 1, func() {})
	other.Inform(network.Nodes, cache.ResourceEventHandlerFuncs{})
	run(w, 3*time.Second)
	require.Nil(t, CachedNode(s.client, "b"))
	require.NotNil(t, CachedNode(other, "a"))
	require.Nil(t, CachedNode(other, "b"))
}

func TestLostCallDoesNothing(t *testing.T) {
	w, s := world(t)
	w.Workload("web").Place("a")
	pod := w.PodsOn("a")[0]
	var lost *network.Call
	end := w.LoseCalls(func(call *network.Call) bool { lost = call; return true })
	began := w.Elapsed()
	var answered time.Duration
	call := &network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod.Name}
	s.client.Call(call, func(*network.Call) { answered = w.Elapsed() })
	run(w, began+time.Minute)
	require.Same(t, call, lost)
	require.False(t, call.Reached)
	require.Nil(t, w.Pod(pod.Name).DeletionTimestamp)
	require.True(t, os.IsTimeout(call.Err))
	require.Equal(t, began+network.CallTimeout, answered)

	end()
	again := &network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod.Name}
	s.client.Call(again, func(*network.Call) {})
	run(w, w.Elapsed()+time.Minute)
	require.NoError(t, again.Err)
	require.Nil(t, w.Pod(pod.Name))
}

func TestSilentMachineSurfacesOnce(t *testing.T) {
	w, _ := world(t)
	m := w.Machine("a")
	restore := m.Silence()
	run(w, time.Minute)
	m.Edit(func(node *corev1.Node) { node.Status.Conditions = nil }) // as a client that has declared it dead
	beats := m.Beats
	m.Surface()
	require.Equal(t, beats+1, m.Beats)
	require.Equal(t, w.Elapsed(), m.LastBeat)
	require.Len(t, w.Node("a").Status.Conditions, len(conditions), "it reports")
	require.False(t, m.Reaches())
	run(w, 2*time.Minute)
	require.Equal(t, beats+1, m.Beats)
	restore()
	run(w, 3*time.Minute)
	require.Greater(t, m.Beats, beats+1)
}

// A list from the past is followed by what has changed since, at once, and is
// never older than what the watch has shown. A later moment of a past is one.
func TestListsOfThePastAreFollowedAtOnce(t *testing.T) {
	w, s := world(t)
	all := func(*network.Client, network.Kind) bool { return true }
	cordon := func() { w.Machine("a").Edit(func(n *corev1.Node) { n.Spec.Unschedulable = !n.Spec.Unschedulable }) }
	past := w.Remember()
	run(w, 2*time.Second)
	cordon()
	between := w.Node("a").ResourceVersion
	w.AddMachine("c", "z", "z/0")
	w.Machine("b").Unregister()
	run(w, 4*time.Second)
	later := past.At(3 * time.Second)
	cordon()
	run(w, 5*time.Second)

	end := w.ListPast(later, all)
	var versions, names []string
	client := w.NewClient("controller", 2, func() {})
	tell := func(object any) {
		node, _ := object.(*corev1.Node)
		versions, names = append(versions, node.ResourceVersion), append(names, node.Name)
	}
	client.Inform(network.Nodes, cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, after any) { tell(after) },
	})
	run(w, 5*time.Second+10*time.Millisecond)
	require.Equal(t, []string{"a", "c"}, names, "what there was at 3 s")
	require.Equal(t, between, versions[0])
	run(w, 5*time.Second+30*time.Millisecond)
	require.Equal(t, w.Node("a").ResourceVersion, CachedNode(client, "a").ResourceVersion)

	require.Equal(t, []string{"a", "c", "a"}, names)

	w.BreakWatches(all)() // both list again
	run(w, 6*time.Second)
	require.Len(t, versions, 3, "there is nothing new")
	require.Equal(t, w.Node("a").ResourceVersion, CachedNode(s.client, "a").ResourceVersion)
	end()
	later.Forget()
	past.Forget()
}
