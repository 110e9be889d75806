package controller

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An Action is what to do for a set: Claim, Revise, ChangePod, WriteStatus or
// Record.
type Action interface{ action() }

// Claim adopts and releases. Each object needs one patch.
type Claim struct {
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
}

// Revise applies a plan for the history.
type Revise struct {
	Plan revision.Plan

	partial bool // there is more to do
}

// ChangePod creates, deletes or reads a pod.
type ChangePod struct{ Task rollout.Task }

// WriteStatus patches the status of the set, with a patch of type
// [rollout.StatusPatchType].
type WriteStatus struct{ Patch []byte }

// Record records an Event. It sends no request that counts.
type Record struct{ Event Event }

func (Claim) action()       {}
func (Revise) action()      {}
func (ChangePod) action()   {}
func (WriteStatus) action() {}
func (Record) action()      {}

// A Task is an action for one set. Start hands it out and Finish takes the
// [Result].
type Task struct {
	// Owner is the set as it was when the task started.
	Owner  ownership.Owner
	Action Action

	of    *record
	item  timedqueue.Item[types.UID, *record] // of a claim, a revision or a status
	grant timedqueue.Grant
}

// MostRequests returns how many requests the task may send.
func (t *Task) MostRequests() int { return t.grant.Tokens() }

// Outcome is how a task ended. The zero value counts as OutcomeFailed, as does
// any other string.
type Outcome string

const (
	// OutcomeDone: all was done. With an error it counts as OutcomeFailed.
	OutcomeDone Outcome = "Done"
	// OutcomeFailed: something was not done, or it is unknown whether it was.
	OutcomeFailed Outcome = "Failed"
)

// A Result is how a task ended. What was done counts also if the outcome is
// OutcomeFailed. The zero value is a failure.
type Result struct {
	Outcome Outcome
	Err     error
	// Pods and Revisions are the result of a Claim.
	Pods      ownership.Claimed[*corev1.Pod]
	Revisions ownership.Claimed[*appsv1.ControllerRevision]
	// Revision is the result of a Revise.
	Revision revision.Result
	// Pod is the result of a ChangePod, whose Outcome and Err count instead of
	// those above.
	Pod rollout.Result
	// Set is the set after a WriteStatus, as the API server has returned it.
	Set *Set
	// Unused is how many requests of Task.MostRequests were not sent.
	Unused int
}

// Failed returns why a task has failed, and nil if it was done.
func (r *Result) Failed(action Action) error {
	err, done := r.Err, r.Outcome == OutcomeDone
	switch action.(type) {
	case ChangePod:
		err, done = r.Pod.Err, r.Pod.Outcome != "" && r.Pod.Outcome != rollout.OutcomeFailed &&
			r.Pod.Outcome != rollout.OutcomeRefused
	case WriteStatus:
		done = done && r.Set != nil
	case Record:
		return nil
	}
	if err == nil && !done {
		return errNoResult
	}
	return err
}

var errNoResult = errors.New("the task has ended without a result")
