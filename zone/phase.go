package zone

// Phase is what the cluster as a whole allows; see the package comment.
type Phase string

const (
	// PhaseActive allows a controller to act against nodes, at the rate of their
	// zone.
	PhaseActive Phase = "Active"
	// PhaseHolding means that unconfirmed nodes decide whether the cluster has to
	// be paused or suspended. A controller acts against no node until enough of
	// them are heard or confirmed, and undoes nothing.
	PhaseHolding Phase = "Holding"
	// PhasePaused means that Config.Phase calls for a pause. A controller acts
	// against no node, holds what it has begun, and undoes nothing.
	PhasePaused Phase = "Paused"
	// PhaseSuspended means that every zone is fully disrupted, or that
	// Config.Phase calls for a suspension. A controller acts against no node, and
	// undoes what it did.
	PhaseSuspended Phase = "Suspended"
	// PhaseRecovering means that a pause or a suspension has ended, or the tracker
	// has started, less than a StabilizationWindow ago. A controller acts against
	// no node, whatever its stored condition says: it may not have reported since.
	PhaseRecovering Phase = "Recovering"
)

// Cluster is all zones together. Each unconfirmed node counts as ready, or each
// as not ready.
type Cluster struct {
	// Counts are those of all zones, without unconfirmed nodes.
	Counts Counts
	// Zones is how many zones have nodes that count. PartiallyDisrupted and
	// FullyDisrupted of them are in that state.
	Zones, PartiallyDisrupted, FullyDisrupted int
	// Stopped reports whether the cluster has not been in PhaseActive since it was
	// last paused or suspended, or since the tracker started. A policy may ask for
	// more ready nodes to resume than to go on.
	Stopped bool
}

// DefaultPhase returns PhaseSuspended if every zone in which nodes count is
// fully disrupted, as kube-controller-manager v1.37 does, and else PhaseActive.
// A cluster without such a zone is not disrupted.
func DefaultPhase(c Cluster) Phase {
	if c.Zones > 0 && c.FullyDisrupted == c.Zones {
		return PhaseSuspended
	}
	return PhaseActive
}

// add adds a zone, or with -1 subtracts it.
func (c *Cluster) add(counts Counts, state State, delta int) {
	if counts.Size() == 0 {
		return
	}
	c.Counts.Ready += delta * counts.Ready
	c.Counts.NotReady += delta * counts.NotReady
	c.Zones += delta
	switch state {
	case PartialDisruption:
		c.PartiallyDisrupted += delta
	case FullDisruption:
		c.FullyDisrupted += delta
	}
}
