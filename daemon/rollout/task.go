package rollout

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Task is one step: a pod to create, to delete or to read. [Planner.Start]
// hands it out, [Executor.Act] performs it, and [Planner.Finish] takes the
// [Result].
type Task struct {
	// Owner is the UID that [Config] names. [Executor.Act] performs the task for
	// no other owner.
	Owner types.UID
	// Spec is the one that the task was planned for. For a creation that is sent
	// again because it was not answered, that may be a former one. Do not change
	// it.
	Spec *Spec

	// One of the three is set.

	Create *Creation
	Delete *Deletion
	// Refresh is a pod for which the watch has shown nothing for too long after
	// one of our writes. An event or an answer may be lost, so the pod is read.
	Refresh *Refresh
}

// A Creation is a pod to create.
type Creation struct {
	Node   string
	Reason StepReason
	// Attempt is part of the pod's name. It stays the same until the outcome of
	// the creation is known, so that a retry after a lost answer makes no second
	// pod. It counts from when the planner was made, and skips the names of pods
	// that are known.
	Attempt int
	// Revision is the one that the pod gets: that of Task.Spec.
	Revision string
}

// A Deletion is a pod to delete, if it still has the UID. A caller that updates
// pods in place does that instead if the Reason is [StepOutdated] or
// [StepOutdatedUnavailable], and says [OutcomeUpdated].
type Deletion struct {
	Pod    string
	UID    types.UID
	Node   string
	Reason StepReason
}

// A Refresh is a pod to read from the API server.
type Refresh struct {
	Pod string
	UID types.UID
}

// StepReason is why a pod is created or deleted.
type StepReason string

// Why pods are created.
const (
	// StepMissing: a node where a pod belongs has none.
	StepMissing StepReason = "Missing"
	// StepSurging: the new pod starts before the old one is deleted.
	StepSurging StepReason = "Surging"
)

// Why pods are deleted.
const (
	// StepOutdated: the pod has a former revision and is available.
	StepOutdated StepReason = "Outdated"
	// StepOutdatedUnavailable: the pod has a former revision and is not available.
	StepOutdatedUnavailable StepReason = "OutdatedUnavailable"
	// StepReplaced: the new pod on the node is available, or the old one is not
	// ready.
	StepReplaced StepReason = "Replaced"
	// StepPodFailed: the pod has failed. The next one takes its place.
	StepPodFailed StepReason = "PodFailed"
	// StepPodSucceeded: the pod has terminated. A daemon should not.
	StepPodSucceeded StepReason = "PodSucceeded"
	// StepDuplicate: another pod is on the node, and stays.
	StepDuplicate StepReason = "Duplicate"
	// StepMisscheduled: the pod does not belong on the node. With MaxSurge this
	// includes a new pod that cannot be scheduled because of a later taint.
	StepMisscheduled StepReason = "Misscheduled"
	// StepNodeGone: the node was deleted before the pod was scheduled. The pod
	// would wait forever.
	StepNodeGone StepReason = "NodeGone"
)

// ofTerminal reports whether a pod is deleted because it has terminated.
func (r StepReason) ofTerminal() bool { return r == StepPodFailed || r == StepPodSucceeded }

// ofRollout reports whether the limits of the rollout hold for a deletion.
func (r StepReason) ofRollout() bool { return r == StepOutdated || r == StepOutdatedUnavailable }

// Outcome is how a [Task] ended. The zero value counts as OutcomeFailed, as
// does any other string.
type Outcome string

const (
	// OutcomeDone: the pod was created or read and is Result.Pod, or the API
	// server has accepted the deletion. The pod may still take its time.
	OutcomeDone Outcome = "Done"
	// OutcomeGone: there is no pod with the name and UID that were to be deleted
	// or read.
	OutcomeGone Outcome = "Gone"
	// OutcomeReleased: the pod that was read exists, and the set no longer owns
	// it.
	OutcomeReleased Outcome = "Released"
	// OutcomeNameTaken: another pod has the name, so the next attempt needs a new
	// one. Result.Pod is that pod if it is the set's. Otherwise another owner has
	// the name, which counts as a refusal.
	OutcomeNameTaken Outcome = "NameTaken"
	// OutcomeUpdated: instead of a deletion for a rollout, the caller has updated
	// the pod in place. It is Result.Pod, with the labels of Task.Spec. It counts
	// as unavailable until its condition Ready has changed, so the update must
	// restart it, or use a readiness gate. A new Planner does not know of it.
	OutcomeUpdated Outcome = "Updated"
	// OutcomeNotNow: nothing was done, because something else comes first, for
	// example a hook before a deletion, or a budget of the caller. That is no
	// failure: other nodes go on, and none waits longer for it. The call for the
	// node is tried again, later each time, and the node does not count meanwhile.
	OutcomeNotNow Outcome = "NotNow"
	// OutcomeRefused: certainly nothing was done. The API server has said so, or
	// was not called.
	OutcomeRefused Outcome = "Refused"
	// OutcomeFailed: it is unknown whether anything was done. Until that is known
	// it counts as done, and a creation or deletion is sent again.
	OutcomeFailed Outcome = "Failed"
)

// Result is how a [Task] ended. The zero value is a failure of unknown effect.
type Result struct {
	Outcome Outcome
	// Pod is the pod that was created, read or updated, or the set's pod that has
	// the name.
	Pod *corev1.Pod
	// Err is why the task was refused, has failed or is not done now. With an error
	// no outcome counts as success. The planner retries what is still needed.
	Err error
}

// outcome returns the outcome that counts.
func (r *Result) outcome() Outcome {
	if r.Err != nil && !r.Outcome.undone() {
		return OutcomeFailed
	}
	return r.Outcome
}

// undone reports whether certainly nothing was done.
func (o Outcome) undone() bool { return o == OutcomeRefused || o == OutcomeNotNow }
