package model

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// mark is a call that annotates a node.
func mark(node string) *network.Call {
	return &network.Call{
		Verb: network.Patch, Kind: network.Nodes, Name: node, PatchType: types.MergePatchType,
		Data: []byte(`{"metadata": {"annotations": {"mark": "yes"}}}`),
	}
}

func marked(w *World, node string) bool { return w.Node(node).Annotations["mark"] != "" }

// A connection that breaks when a call was dealt with is seen at once, and not
// after the timeout of the client.
func TestAnswerThatIsResetIsLostAtOnce(t *testing.T) {
	w, s := world(t)
	defer w.ResetAnswers(1)()
	began, answered := w.Elapsed(), time.Duration(0)
	call := mark("a")
	s.client.Call(call, func(*network.Call) { answered = w.Elapsed() })
	run(w, began+time.Minute)
	require.True(t, marked(w, "a"))
	require.Error(t, call.Err)
	require.Nil(t, call.Node)
	require.Equal(t, began+10*time.Millisecond, answered)
}

// A call on its way when its client gives up arrives all the same.
func TestCallArrivesAfterItsClientHasGivenUp(t *testing.T) {
	w, s := world(t)
	end := w.DetainCalls(1, network.Span{Min: 40 * time.Second, Max: 40 * time.Second})
	began, answered := w.Elapsed(), time.Duration(0)
	call := mark("a")
	s.client.Call(call, func(*network.Call) { answered = w.Elapsed() })
	run(w, began+39*time.Second)
	require.Equal(t, began+network.CallTimeout, answered)
	require.True(t, os.IsTimeout(call.Err))
	require.False(t, marked(w, "a"))
	run(w, began+41*time.Second)
	require.True(t, marked(w, "a"))
	require.True(t, os.IsTimeout(call.Err), "what arrives late does not change what the client was told")
	require.Nil(t, call.Node)

	end()
	again := mark("b")
	s.client.Call(again, func(*network.Call) {})
	run(w, w.Elapsed()+time.Second)
	require.NoError(t, again.Err)
}

// A call that is detained for less than its timeout is only slow.
func TestDetainedCallIsAnswered(t *testing.T) {
	w, s := world(t)
	defer w.DetainCalls(1, network.Span{Min: 10 * time.Second, Max: 10 * time.Second})()
	began, answered := w.Elapsed(), time.Duration(0)
	call := mark("a")
	s.client.Call(call, func(*network.Call) { answered = w.Elapsed() })
	run(w, began+time.Minute)
	require.NoError(t, call.Err)
	require.Equal(t, began+20*time.Second+10*time.Millisecond, answered)
	require.Equal(t, began+10*time.Second+5*time.Millisecond, call.ProcessedAt)
}

// Of the calls, those that match are refused, and do nothing.
func TestRefusedCallsAreThoseThatMatch(t *testing.T) {
	w, s := world(t)
	defer w.RefuseCalls(1, []int{0}, func(call *network.Call) bool { return call.Name == "a" })()
	refused, other := mark("a"), mark("b")
	s.client.Call(refused, func(*network.Call) {})
	s.client.Call(other, func(*network.Call) {})
	run(w, w.Elapsed()+time.Second)
	require.ErrorContains(t, refused.Err, "reset")
	require.Empty(t, apierrors.ReasonForError(refused.Err), "no server has said anything")
	require.False(t, marked(w, "a"))
	require.NoError(t, other.Err)
	require.True(t, marked(w, "b"))
}

// What an informer's transform drops is in no report and not in the cache, and
// stays in the API server and in other caches.
func TestInformerTransforms(t *testing.T) {
	w, s := world(t)
	var told []*corev1.Node
	tell := func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			told = append(told, node)
		}
	}
	client := w.NewClient("other", 1, func() {})
	client.InformTransformed(network.Nodes, cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, after any) { tell(after) }, DeleteFunc: tell,
	}, func(object network.Object) network.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: object.GetName(), ResourceVersion: object.GetResourceVersion(),
		}}
	})
	run(w, w.Elapsed()+time.Second)
	w.Machine("a").Edit(func(node *corev1.Node) { node.Spec.Unschedulable = true })
	run(w, w.Elapsed()+time.Second)
	w.Machine("a").Unregister()
	run(w, w.Elapsed()+time.Second)
	require.Len(t, told, 4, "two are added, one is changed and deleted")
	for _, node := range told {
		require.Empty(t, node.Labels)
	}
	require.Empty(t, CachedNode(client, "b").Labels)
	require.NotEmpty(t, CachedNode(s.client, "b").Labels)
	require.NotEmpty(t, w.Node("b").Labels)
}
