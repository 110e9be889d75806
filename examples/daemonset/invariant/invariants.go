package invariant

import (
	"fmt"
	"time"
)

// Invariant is a promise that a controller of daemon sets makes to its users.
type Invariant string

// The promises about single writes. What the controller could not know when it
// decided counts as if it had not happened.
const (
	// OnePerNode: no pod is created on a node that has one of the set, except the
	// new one of a surge.
	OnePerNode Invariant = "OnePerNode"
	// RightPlace: a pod is created only on a node that its template fits, and for
	// a set that exists.
	RightPlace Invariant = "RightPlace"
	// OthersUntouched: no pod and no revision of another owner is deleted, adopted
	// or released.
	OthersUntouched Invariant = "OthersUntouched"
	// Reasoned: no pod is deleted without a reason that is true. A pod of the
	// present template is none, whichever process has made it.
	Reasoned Invariant = "Reasoned"
	// BetterStays: of several pods on a node an available one stays.
	BetterStays Invariant = "BetterStays"
	// WithinUnavailable: a rollout takes no available pod while maxUnavailable
	// nodes are without one.
	WithinUnavailable Invariant = "WithinUnavailable"
	// WithinSurge: a rollout creates no second pod while maxSurge nodes have one.
	WithinSurge Invariant = "WithinSurge"
	// Halted: no pod is deleted while the controller is halted.
	Halted Invariant = "Halted"
	// OneRevision: no second revision of a template is created, and no two
	// templates have one hash.
	OneRevision Invariant = "OneRevision"
	// LiveRevisions: no revision is deleted that the set, a pod or the history
	// limit needs.
	LiveRevisions Invariant = "LiveRevisions"
	// StatusTrue: the status is that of the generation that it names, and no
	// generation falls.
	StatusTrue Invariant = "StatusTrue"
	// Patient: of what is not done now no other try follows at once.
	Patient Invariant = "Patient"
	// Backoff: failed pods of a node are replaced ever more slowly.
	Backoff Invariant = "Backoff"
	// WithinRequests: the budget of requests holds.
	WithinRequests Invariant = "WithinRequests"
)

// The promises about the end, when nothing has happened for a long time.
const (
	// Converged: there are the pods that the sets want.
	Converged Invariant = "Converged"
	// HistoryKept: there is one revision of each template, and not too many.
	HistoryKept Invariant = "HistoryKept"
	// StatusConverged: the status says what there is.
	StatusConverged Invariant = "StatusConverged"
	// Quiet: no more requests are sent.
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
