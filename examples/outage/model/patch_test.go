package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// patched asks for a patch of a node and returns the answer.
func patched(w *World, s *seen, kind types.PatchType, subresource, data string) *network.Call {
	call := &network.Call{
		Verb: network.Patch, Kind: network.Nodes, Name: "a",
		PatchType: kind, Data: []byte(data), Subresource: subresource,
	}
	s.client.Call(call, func(*network.Call) {})
	run(w, w.Elapsed()+10*time.Millisecond)
	return call
}

// The rules are those of examples/simulation/apiserver, and so are the answers.
func TestPatchesAreRefusedAsByTheAPIServer(t *testing.T) {
	w, s := world(t)
	before := w.Node("a")
	copied := before.DeepCopy()
	own := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"a":"b"}}}`, before.UID)
	answer := patched(w, s, types.StrategicMergePatchType, "", own)
	require.NoError(t, answer.Err)
	require.Same(t, w.Node("a"), answer.Node, "objects are shared")
	require.Equal(t, "b", w.Node("a").Labels["a"])
	require.Equal(t, copied, before, "what was stored is not modified")

	foreign := patched(w, s, types.StrategicMergePatchType, "", `{"metadata":{"uid":"other"}}`)
	require.True(t, apierrors.IsInvalid(foreign.Err), "a foreign UID is 422 (v1.37.1)")
	stale := patched(w, s, types.StrategicMergePatchType, "status", `{"metadata":{"resourceVersion":"1"}}`)
	require.True(t, apierrors.IsConflict(stale.Err), "another version is 409")
	guarded := patched(w, s, types.JSONPatchType, "", `[{"op":"test","path":"/metadata/uid","value":"other"}]`)
	require.True(t, apierrors.IsInvalid(guarded.Err), "a test that fails is 422")
	require.Nil(t, guarded.Node)
	broken := patched(w, s, types.JSONPatchType, "", `[{`)
	require.True(t, apierrors.IsBadRequest(broken.Err))
	missing := &network.Call{
		Verb: network.Patch, Kind: network.Pods, Name: "none", PatchType: types.JSONPatchType, Data: []byte(`[]`),
	}
	s.client.Call(missing, func(*network.Call) {})
	run(w, w.Elapsed()+10*time.Millisecond)
	require.True(t, apierrors.IsNotFound(missing.Err))
}

// Witnesses are told by which call an object has changed, and of what the
// cluster does by itself with no call.
func TestWritesNameTheirCall(t *testing.T) {
	w, s := world(t)
	var writes []*network.Call
	same := 0
	w.Watch(writeWatcher{tell: func(write NodeWrite) {
		writes = append(writes, write.Call)
		if write.Before == write.After {
			same++
		}
	}})
	answer := patched(w, s, types.StrategicMergePatchType, "", `{"metadata":{"labels":{"a":"b"}}}`)
	require.Equal(t, []*network.Call{answer}, writes)
	again := patched(w, s, types.StrategicMergePatchType, "", `{"metadata":{"labels":{"a":"b"}}}`)
	require.NoError(t, again.Err)
	require.Equal(t, answer.Node, again.Node, "a write that changes nothing keeps the version")
	run(w, w.Elapsed()+time.Second)
	require.Equal(t, []string{"nodes update a"}, s.of(network.Nodes)[2:], "and no watch shows it")
	w.Machine("a").Fail()
	require.Equal(t, []*network.Call{answer, again, nil}, writes)
	require.Equal(t, 1, same)
}

type writeWatcher struct {
	Unimpressed
	tell func(NodeWrite)
}

func (w writeWatcher) WroteNode(write NodeWrite) { w.tell(write) }
