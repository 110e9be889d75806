package daemon

import (
	"time"
)

// A Wait is why nothing is done for a node that is not as it should be.
type Wait struct {
	Node   string
	Pod    string // that the reason is about; empty: none
	Reason WaitReason
	// Until is when the wait ends by itself; zero: an event ends it.
	Until time.Time
}

// WaitReason is what a node waits for.
type WaitReason string

const (
	// WaitPlanned: one of the next tasks is for the node.
	WaitPlanned WaitReason = "Planned"
	// WaitEvaluation: more nodes are to be evaluated before anything is decided.
	WaitEvaluation WaitReason = "Evaluation"
	// WaitUnderWay: a pod is being created.
	WaitUnderWay WaitReason = "UnderWay"
	// WaitTerminating: the former pod has to be gone before the next one comes.
	WaitTerminating WaitReason = "Terminating"
	// WaitBackoff: a pod has terminated, after others.
	WaitBackoff WaitReason = "Backoff"
	// WaitCreationRefused: the API server did not create the pod, or did not
	// answer.
	WaitCreationRefused WaitReason = "CreationRefused"
	// WaitCreationUnclear: the answer to the creation of another revision's pod
	// was lost. That pod may exist until it is shown or a read does not find it.
	WaitCreationUnclear WaitReason = "CreationUnclear"
	// WaitDeletionRefused: the API server did not delete the pod, or did not
	// answer.
	WaitDeletionRefused WaitReason = "DeletionRefused"
	// WaitBurst: the most creations or deletions are under way.
	WaitBurst WaitReason = "Burst"
	// WaitHeld: a call for another node was refused, which pauses all for a time.
	WaitHeld WaitReason = "Held"
	// WaitHalted: the pod is deleted after [Planner.Resume].
	WaitHalted WaitReason = "Halted"
	// WaitMinReady: a pod is ready, but not for long enough yet.
	WaitMinReady WaitReason = "MinReady"
	// WaitNotAvailable: the new pod is not ready.
	WaitNotAvailable WaitReason = "NotAvailable"
	// WaitLimited: the old pod stays until MaxUnavailable or MaxSurge let it go.
	WaitLimited WaitReason = "Limited"
	// WaitPartitioned: the old pod stays because of the Partition.
	WaitPartitioned WaitReason = "Partitioned"
	// WaitOnDelete: the old pod stays until another client deletes it.
	WaitOnDelete WaitReason = "OnDelete"
	// WaitPaused: the old pod stays because the rollout is paused.
	WaitPaused WaitReason = "Paused"
	// WaitRolloutInvalid: the old pod stays because the rollout has
	// [Spec.Problems].
	WaitRolloutInvalid WaitReason = "RolloutInvalid"
	// WaitSpecRefused: nothing is done because the latest spec was refused.
	WaitSpecRefused WaitReason = "SpecRefused"
	// WaitNotEligible: the old pod stays because the node is not Config.Eligible.
	WaitNotEligible WaitReason = "NotEligible"
)
