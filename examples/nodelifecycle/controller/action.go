package controller

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A Task is an action that may be performed now.
type Task struct {
	Action Action

	grant timedqueue.Grant
	// startedAt is when Start handed it out.
	startedAt time.Time
}

// MostRequests returns how many requests to the API server the action may send.
// Config.Requests has been charged for them.
func (t Task) MostRequests() int { return t.grant.Tokens() }

// An Action is one thing to do, complete with what to write. It is one of
// [ReadLease], [ListLeases], [DeclareUnknown], [ReadNode], [PatchTaints],
// [PatchLabels], [ReadPod], [MarkPodNotReady], [Evict] and [Record]. Each but
// Evict and Record sends one request.
type Action interface{ action() }

// Patch is a write to the API server.
type Patch struct {
	Type types.PatchType
	Data []byte
	// Subresource is "status" or empty.
	Subresource string
}

// ReadLease reads the lease of a silent node from the API server, not from a
// cache.
type ReadLease struct {
	Node *corev1.Node

	silence *silence
}

// ListLeases reads all leases of the namespace kube-node-lease, which are those
// of nodes, from the API server and not from a cache. The list is not older
// than the request: it is asked for without a resourceVersion.
type ListLeases struct{}

// DeclareUnknown says that a node is silent.
type DeclareUnknown struct {
	Node  *corev1.Node
	Patch Patch

	silence *silence
	item    timedqueue.Item[string, *node]
}

// ReadNode reads a node from the API server, which has refused a write that was
// computed from this version of it.
type ReadNode struct {
	Node *corev1.Node

	silent bool // when it was handed out
	item   timedqueue.Item[string, *node]
}

// PatchTaints gives a node other taints.
type PatchTaints struct {
	Node   *corev1.Node
	Taints []corev1.Taint
	Patch  Patch
	// Zone is the node's.
	Zone string
	// Released says that the taints include a NoExecute taint that the zone's rate
	// has released: the pods of the node are going to leave.
	Released bool

	item timedqueue.Item[string, *node]
}

// PatchLabels makes a node's older operating system and architecture labels say
// what the newer ones do.
type PatchLabels struct {
	Node  *corev1.Node
	Patch Patch

	item timedqueue.Item[string, *node]
}

// ReadPod is like ReadNode for a pod that was to be marked not ready.
type ReadPod struct {
	Pod *corev1.Pod

	item timedqueue.Item[types.UID, *pod]
}

// MarkPodNotReady says of a pod on a node that is not ready that it is not
// ready either.
type MarkPodNotReady struct {
	Pod   *corev1.Pod
	Patch Patch

	episode int // of the node
	item    timedqueue.Item[types.UID, *pod]
}

// Evict makes a pod leave its node.
type Evict struct {
	Task eviction.Task
}

// ReasonEviction is the reason of the Event about a pod that is evicted. In
// kube-controller-manager that Event comes from another controller than the
// rest.
const ReasonEviction = "TaintManagerEviction"

// ReasonNodeEviction is its reason for a pod that leaves because its whole node
// is evicted. That one comes from the same controller as the rest.
const ReasonNodeEviction = "NodeControllerEviction"

// Record tells about an object in an Event.
type Record struct {
	// Object is what it is about. It is empty for the controller itself, for which
	// a program names an object, for example the leader's lease.
	Object corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type, Reason, Message string
}

func (ReadLease) action()       {}
func (ListLeases) action()      {}
func (DeclareUnknown) action()  {}
func (ReadNode) action()        {}
func (PatchTaints) action()     {}
func (PatchLabels) action()     {}
func (ReadPod) action()         {}
func (MarkPodNotReady) action() {}
func (Evict) action()           {}
func (Record) action()          {}

// errNoResult is why an action failed whose result holds nothing.
var errNoResult = errors.New("the action has no result")

// Result is the result of an action. The zero value counts as failed, except
// for Record: it is the result of an action that panics.
type Result struct {
	// Err is why it failed. eviction.SaysGone tells whether the object is gone.
	Err error
	// Leases are the resourceVersions by name of the leases that ReadLease or
	// ListLeases has found. Not nil, unless it failed.
	Leases map[string]string
	// Node or Pod is the object as the API server has it after the write, or when
	// it was read.
	Node *corev1.Node
	Pod  *corev1.Pod
	// Eviction is the result of Evict.
	Eviction eviction.Result
	// Unused is how many of the task's MostRequests were not sent.
	Unused int
}

// hasWritten reports whether the API server has stored what the task was to
// write, or refused it for what it has stored. Its store can be written then,
// also by kubelets. A read does not show that.
func (t Task) hasWritten(result Result) bool {
	switch t.Action.(type) {
	case DeclareUnknown, PatchTaints, PatchLabels, MarkPodNotReady:
		return result.Node != nil || result.Pod != nil ||
			apierrors.IsConflict(result.Err) || apierrors.IsInvalid(result.Err)
	case Evict:
		return result.Eviction.Outcome == eviction.OutcomeEvicted
	default:
		return false
	}
}

// errUndone is why a write is tried again only after a backoff.
var errUndone = errors.New("the API server answers with an object that lacks what was written")

// orUndone returns why a write failed, nil if it did not. A write that a
// webhook has undone would be sent again at once, for ever.
func (r Result) orUndone(undone bool) error {
	if err := r.orFailed().Err; err != nil || !undone {
		return err
	}
	return errUndone
}

// orFailed returns the result of a write, with an error if it holds nothing.
func (r Result) orFailed() Result {
	if r.Err == nil && r.Leases == nil && r.Node == nil && r.Pod == nil {
		r.Err = errNoResult
	}
	return r
}
