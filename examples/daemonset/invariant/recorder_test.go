package invariant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// recorded is a world with a recorder and a process that watches.
type recorded struct {
	*model.World
	*Recorder

	client *network.Client
	decide func(*network.Client) any
}

func newRecorded() *recorded {
	w := model.New(model.Config{WatchDelay: network.Span{Min: time.Second, Max: time.Second}})
	r := &recorded{World: w, Recorder: Record(w), client: w.NewClient("controller", 1, func() {})}
	for _, kind := range Kinds {
		r.client.Inform(kind, cache.ResourceEventHandlerFuncs{})
	}
	r.decide = r.Begin()
	r.Advance(time.Second)
	return r
}

// send sends a call for a new decision, and lets a minute pass.
func (r *recorded) send(verb network.Verb, name string) *Call {
	call := &network.Call{Verb: verb, Kind: Pods, Name: name, Cause: r.decide(r.client)}
	if verb == network.Create {
		call.Object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	r.client.Call(call, func(*network.Call) {})
	r.Advance(r.Elapsed() + time.Minute)
	return r.History.Calls[len(r.History.Calls)-1]
}

// A change names its call, and a call says what its client knows by it.
func TestRecorderSaysWhatCallsHaveDone(t *testing.T) {
	r := newRecorded()
	created := r.send(network.Create, "a")
	require.Equal(t, "create pods", created.Request)
	require.True(t, created.Answered)
	require.NotNil(t, created.Answer)
	require.Zero(t, created.Missing)
	require.Greater(t, created.Ended, created.Decision.Order)
	require.Same(t, created, r.History.Changes[0].By)

	require.NoError(t, r.Users().Create(network.Pods.Resource(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}}))
	require.Nil(t, r.History.Changes[1].By, "a user has made it")
	seen := r.send(network.Get, "b").Decision.Seen[Pods]
	require.Equal(t, r.History.Changes[0].Version, seen, "the watch is late")

	// Of a pod on no node nothing is left: one change.
	deleted := r.send(network.Delete, "a")
	require.True(t, deleted.Answered)
	require.Nil(t, deleted.Answer)
	require.Equal(t, r.History.Changes[2].Version, deleted.Missing)
	require.Same(t, deleted, r.History.Changes[2].By)
	require.Nil(t, r.History.Changes[2].After)
	missing := r.send(network.Get, "a")
	require.True(t, missing.Answered)
	require.NotZero(t, missing.Missing)
}

// A call without an answer is over for its client, and may have done something,
// also after that. One of a process that has ended is never over.
func TestRecorderTellsCallsWithoutAnAnswer(t *testing.T) {
	r := newRecorded()
	end := r.ResetAnswers(1)
	lost := r.send(network.Create, "a")
	end()
	require.False(t, lost.Answered)
	require.NotZero(t, lost.Ended)
	require.Same(t, lost, r.History.Changes[0].By)

	end = r.DetainCalls(1, network.Span{Min: 40 * time.Second, Max: 40 * time.Second})
	late := r.send(network.Create, "b")
	end()
	require.False(t, late.Answered)
	require.NotZero(t, late.Ended)
	require.Same(t, late, r.History.Changes[1].By)

	r.DetainCalls(1, network.Span{Min: 10 * time.Second, Max: 10 * time.Second})
	r.After(5*time.Second, r.client.Stop)
	orphaned := r.send(network.Create, "c")
	require.Zero(t, orphaned.Ended)
	require.Same(t, orphaned, r.History.Changes[2].By)
}

// A halt goes on until it is over, however often it is begun.
func TestRecorderTellsHalts(t *testing.T) {
	r := newRecorded()
	r.Recorder.Halt()
	r.Recorder.Halt()
	r.Resume()
	r.Resume()
	r.Recorder.Halt()
	require.Equal(t, []Span{{From: 1, To: 2}, {From: 3}}, r.History.Lives[0].Halts)
}
