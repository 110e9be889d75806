package invariant

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// target is the object that a client writes to, as it sees it.
type target struct {
	kind network.Kind
	name string
	uid  types.UID
}

// targetOf returns what a call of a client is about. Its UID is empty if the
// client does not see it.
func (v *view) targetOf(call *network.Call) target {
	t := target{kind: call.Kind, name: call.Name}
	switch call.Kind {
	case network.Nodes:
		if node := model.CachedNode(v.client, call.Name); node != nil {
			t.uid = node.UID
		}
	case network.Pods:
		if pod := model.CachedPod(v.client, call.Name); pod != nil {
			t.uid = pod.UID
		}
	case network.Leases, network.LeaderLease:
	}
	return t
}

// isComputed reports whether a call is a patch that is computed from an object
// as the client sees it: each of a node, and a JSON Patch of a pod. That a pod
// is about to be evicted is written whatever the pod is.
func isComputed(call *network.Call) bool {
	return call.Verb == network.Patch && (call.Kind == network.Nodes || call.PatchType == types.JSONPatchType)
}

// isRefusal reports whether the API server has refused a patch because the
// object is not the one that it was computed from, or is gone.
func isRefusal(call *network.Call) bool {
	return call.Reached && isComputed(call) &&
		(apierrors.IsConflict(call.Err) || apierrors.IsInvalid(call.Err) || apierrors.IsNotFound(call.Err))
}

// sentAgain judges a write to an object of which the last one was refused.
func (j *Judge) sentAgain(s *sent, call *network.Call) {
	if !isComputed(call) {
		return
	}
	s.target = s.view.targetOf(call)
	if s.view.refused[s.target] {
		j.violated(ReadFirst, call.Kind.String()+call.Name,
			"%s sends another patch of %s %s%s, of which the last one was refused, and has not read it since",
			s.view.client.Name, call.Kind, call.Name, ofSubresource(call))
	}
}

// answeredRefusal records whether the last write of an object was refused. A
// node that is not read to confirm the eviction of a pod is taken for what it
// is.
func (v *view) answeredRefusal(s *sent, call *network.Call) {
	switch {
	case isRefusal(call):
		if s.target.uid != "" {
			v.refused[s.target] = true
		}
	case call.Err != nil:
	case isComputed(call):
		delete(v.refused, s.target)
	case call.Verb == network.Get:
		seen := v.targetOf(call)
		if call.Kind == network.Nodes && (v.refused[seen] || !v.confirms(call.Name)) {
			v.readNode(call.Node)
		}
		delete(v.refused, seen)
	}
}

// confirms reports whether a client may read a node to confirm the eviction of
// a pod, which says nothing of the node to it.
func (v *view) confirms(node string) bool {
	for _, c := range v.confirmed {
		if c.node == node {
			return true
		}
	}
	return false
}
