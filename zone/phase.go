package zone

// Phase is what the cluster as a whole allows; see the package comment.
type Phase string

const (
	// PhaseActive allows a controller to act against nodes, at the rate of their
	// zone.
	PhaseActive Phase = "Active"
	// PhaseHolding means that every zone may be fully disrupted: whether one is
	// not depends on nodes that are unconfirmed. A controller acts against no
	// node until that is known, and takes nothing back.
	PhaseHolding Phase = "Holding"
	// PhaseSuspended means that every zone is fully disrupted. A controller acts
	// against no node, and takes back what it did.
	PhaseSuspended Phase = "Suspended"
	// PhaseRecovering means that a suspension has ended, or the tracker has
	// started, less than a grace period ago. A controller acts against no node,
	// whatever its stored condition says: it may not have had the time to report.
	PhaseRecovering Phase = "Recovering"
)
