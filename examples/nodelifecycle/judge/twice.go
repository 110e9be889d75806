package judge

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// NotTwice: what was answered is not written, or deleted, again. A write that
// was refused because the object is another one is not sent again before the
// object was read. [T3, E5]
const NotTwice Invariant = "not twice"

var twice = rules{
	sent:      []func(*sent){readsFirst},
	leaving:   []func(*sent){leavesOnce},
	nodeWrite: []func(*sent, model.NodeWrite){nodeWrittenOnce},
	podWrite:  []func(*sent, model.PodWrite){podWrittenOnce},
}

// target is the object that a process writes to, as its watch shows it.
type target struct {
	kind network.Kind
	name string
	uid  types.UID
}

// targetOf returns what a call is about. Its UID is empty if the process is not
// shown it.
func (p *process) targetOf(call *network.Call) target {
	t := target{kind: call.Kind, name: call.Name}
	if node := model.CachedNode(p.client, call.Name); call.Kind == network.Nodes && node != nil {
		t.uid = node.UID
	}
	if pod := model.CachedPod(p.client, call.Name); call.Kind == network.Pods && pod != nil {
		t.uid = pod.UID
	}
	return t
}

// isComputed reports whether a call is a patch that is computed from an object:
// each of a node, and a JSON Patch of a pod. That a pod is about to be evicted is
// written whatever the pod is.
func (s *sent) isComputed() bool {
	return s.call.Verb == network.Patch && (s.call.Kind == network.Nodes || s.call.PatchType == types.JSONPatchType)
}

// An object whose last write was refused, because it is not the one that the write
// was computed from or is gone, is read before it is written again.
func readsFirst(s *sent) {
	s.target = s.process.targetOf(s.call)
	s.answered = s.process.answered[s.target]
	if s.isComputed() && s.process.refused[s.target] {
		s.accuse(NotTwice, "the last patch of it was refused, and the process has not read it since")
	}
}

// learn takes what the answer to a call tells of its object.
func (s *sent) learn() {
	p, call := s.process, s.call
	switch {
	case call.Err != nil:
		if s.isRefused() && s.target.uid != "" {
			p.refused[s.target] = true
		}
	case call.Verb == network.Get:
		delete(p.refused, p.targetOf(call))
	case call.Verb == network.Patch:
		if s.isComputed() {
			delete(p.refused, s.target)
		}
		if written, ok := call.Result().(metav1.Object); ok {
			p.answered[s.target] = version(written.GetResourceVersion())
		}
	case s.deletes():
		if cached := model.CachedPod(p.client, call.Name); cached != nil && cached.UID == call.Pod.UID {
			p.deleted[call.Pod.UID] = s.world.Elapsed()
		}
	}
}

// isRefused reports whether the API server has refused a patch because the object
// is not the one that it was computed from, or is gone.
func (s *sent) isRefused() bool {
	err := s.call.Err
	return s.call.Reached && s.isComputed() &&
		(apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err))
}

// believed is how long an answer counts more than a watch that does not show
// what was answered: later the pod may be back from a backup.
const believed = time.Minute

// A pod that the process was answered to have made leave is not deleted again.
func leavesOnce(s *sent) {
	at, told := s.process.deleted[s.pod.uid]
	pod := model.CachedPod(s.process.client, s.pod.name)
	shown := pod != nil && pod.UID == s.pod.uid && pod.DeletionTimestamp != nil
	if told && (shown || s.at < at+believed) {
		s.accuse(NotTwice, "it was answered to have made it leave at %v", at)
	}
}

// A node is not written again as the process was answered to have written it.
func nodeWrittenOnce(s *sent, w model.NodeWrite) {
	if s.answered != 0 && s.answered == version(w.Before.ResourceVersion) && sameNode(w.Before, w.After) {
		s.accuse(NotTwice, "it was answered to have written the same, and no client has changed it since")
	}
}

// A pod is not written again as the process was answered to have written it.
func podWrittenOnce(s *sent, w model.PodWrite) {
	if s.answered != 0 && s.answered == version(w.Before.ResourceVersion) && samePod(w.Before, w.After) {
		s.accuse(NotTwice, "it was answered to have written the same, and no client has changed it since")
	}
}

// sameNode reports whether a write has changed nothing that says something.
func sameNode(before, after *corev1.Node) bool {
	return sameTaints(before.Spec.Taints, after.Spec.Taints) && maps.Equal(before.Labels, after.Labels) &&
		slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b corev1.NodeCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
		})
}

// samePod reports whether a write has changed nothing that says something.
func samePod(before, after *corev1.Pod) bool {
	return slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b corev1.PodCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
	})
}
