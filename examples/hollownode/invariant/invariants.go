package invariant

import (
	"fmt"
	"time"
)

// Invariant is a promise that kubelets make to the users of a cluster.
type Invariant string

// The promises about containers.
const (
	// OneSync: no two syncs of a pod overlap.
	OneSync Invariant = "OneSync"
	// OneRun: no two runs of a container overlap.
	OneRun Invariant = "OneRun"
	// EndedFirst: no container of a pod runs when its kubelet removes the pod or
	// writes that its phase is final.
	EndedFirst Invariant = "EndedFirst"
	// StaysEnded: no container starts of a pod whose phase is final or that its
	// kubelet has removed.
	StaysEnded Invariant = "StaysEnded"
	// StaysDeleted: no kubelet has a container started once it knows that its pod
	// is deleted.
	StaysDeleted Invariant = "StaysDeleted"
	// WithinPolicy: no container is restarted that its restart policy leaves.
	WithinPolicy Invariant = "WithinPolicy"
	// BackedOff: a container that crashes again waits ever longer.
	BackedOff Invariant = "BackedOff"
	// InOrder: init containers run one after the other and before all others, and
	// nothing runs before the volumes of its pod are there.
	InOrder Invariant = "InOrder"
	// GraceKept: no container of a deleted pod is killed before its grace period
	// is over.
	GraceKept Invariant = "GraceKept"
	// OneStatic: no two static pods of a name run on a node at a time.
	OneStatic Invariant = "OneStatic"
	// StaysUp: no container of a static pod is stopped while its manifest is there
	// and its probes say nothing.
	StaysUp Invariant = "StaysUp"
	// WithinCapacity: the pods that run on a node fit it together.
	WithinCapacity Invariant = "WithinCapacity"
)

// The promises about writes.
const (
	// Forward: no phase, count of restarts or end of a container is taken back.
	Forward Invariant = "Forward"
	// OwnPods: a kubelet writes pods of its node only, and removes none that is to
	// stay.
	OwnPods Invariant = "OwnPods"
	// EndShown: a kubelet removes a pod when the API shows its end, not before.
	EndShown Invariant = "EndShown"
	// PhaseTrue: a pod that has ended by itself is shown as succeeded exactly if
	// its containers have.
	PhaseTrue Invariant = "PhaseTrue"
	// ReadyTrue: no pod is shown as ready whose containers were not.
	ReadyTrue Invariant = "ReadyTrue"
	// ReadyInTime: a pod is shown as ready within 10 s, its probes and its calls
	// from when it is and its node works.
	ReadyInTime Invariant = "ReadyInTime"
)

// The promises about the end, when nothing has happened for a long time.
const (
	// Finished: deleted pods are gone, and no container runs of a pod that is gone
	// or final.
	Finished Invariant = "Finished"
	// Started: what a restart policy or a new pod wants to run has started.
	Started Invariant = "Started"
	// StatusConverged: the statuses of pods and nodes say what there is.
	StatusConverged Invariant = "StatusConverged"
	// MirrorShown: each static pod has one mirror, which is of its manifest, and
	// no other mirror is there.
	MirrorShown Invariant = "MirrorShown"
	// Quiet: nothing is written that nothing asks for.
	Quiet Invariant = "Quiet"
)

// A Violation is a promise that was broken, when, and how.
type Violation struct {
	Invariant Invariant
	At        time.Time
	Text      string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at %s: %s", v.Invariant, v.At.Format("15:04:05.000"), v.Text)
}
