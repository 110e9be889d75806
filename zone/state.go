package zone

import (
	"errors"
	"fmt"
	"math"
)

// ErrInvalidConfig is wrapped by every error that NewTracker returns.
var ErrInvalidConfig = errors.New("invalid zone config")

// State is how disrupted a zone is. The names are those of
// kube-controller-manager.
type State string

const (
	// Initial is the state of a zone that has not been evaluated yet.
	Initial State = "Initial"
	// Normal is the state of a zone with few or no nodes that are not ready.
	Normal State = "Normal"
	// PartialDisruption is the state of a zone with so many nodes not ready that
	// something other than the nodes may be at fault.
	PartialDisruption State = "PartialDisruption"
	// FullDisruption is the state of a zone without a ready node.
	FullDisruption State = "FullDisruption"
)

// Counts holds how many nodes of a zone are ready and how many are not.
type Counts struct {
	Ready, NotReady int
	// Unconfirmed are nodes that may be either; see [Node].
	Unconfirmed int
}

// Size is the number of nodes that count.
func (c Counts) Size() int { return c.Ready + c.NotReady + c.Unconfirmed }

// ReadyFraction is the fraction of nodes that are ready, from 0 to 1. It is 1
// if no node counts.
func (c Counts) ReadyFraction() float64 {
	if c.Size() == 0 {
		return 1
	}
	return float64(c.Ready) / float64(c.Size())
}

// atBest and atWorst are the counts if the unconfirmed nodes are ready, and if
// none of them is.
func (c Counts) atBest() Counts {
	return Counts{Ready: c.Ready + c.Unconfirmed, NotReady: c.NotReady}
}

func (c Counts) atWorst() Counts {
	return Counts{Ready: c.Ready, NotReady: c.NotReady + c.Unconfirmed}
}

// Thresholds evaluates a zone by its fraction of nodes that are not ready. Zero
// means zero: start from [DefaultThresholds].
type Thresholds struct {
	// Unhealthy is the smallest fraction of nodes not ready, from 0 to 1, at which
	// a zone is partially disrupted.
	Unhealthy float64
	// MinNotReady is the smallest number of nodes not ready at which a zone is
	// partially disrupted.
	MinNotReady int
}

// DefaultThresholds returns those of kube-controller-manager v1.37: 0.55, the
// default of --unhealthy-zone-threshold, and 3, which is its "more than two".
func DefaultThresholds() Thresholds { return Thresholds{Unhealthy: 0.55, MinNotReady: 3} }

// Validate joins all that is wrong with the thresholds.
func (t Thresholds) Validate() error {
	var problems []error
	if !(t.Unhealthy >= 0 && t.Unhealthy <= 1) { // also NaN
		problems = append(problems, fmt.Errorf("%w: Thresholds.Unhealthy is %v, want 0 to 1",
			ErrInvalidConfig, t.Unhealthy))
	}
	if t.MinNotReady < 0 {
		problems = append(problems, fmt.Errorf("%w: Thresholds.MinNotReady is %d, want zero or more",
			ErrInvalidConfig, t.MinNotReady))
	}
	return errors.Join(problems...)
}

// State returns the state of a zone with such counts. An empty zone is Normal.
func (t Thresholds) State(c Counts) State {
	switch {
	case c.NotReady == 0:
		return Normal
	case c.Ready == 0:
		return FullDisruption
	// As float32, like upstream: 0.55 is exact in neither type, and 11 of 20 nodes
	// must be decided alike.
	case c.NotReady >= t.MinNotReady && float32(c.NotReady)/float32(c.Size()) >= float32(t.Unhealthy):
		return PartialDisruption
	}
	return Normal
}

// Rates are how many nodes a second may be acted against in a zone. Zero means
// none: start from [DefaultRates].
type Rates struct {
	// Normal is the rate in a zone that is not partially disrupted.
	Normal float64
	// Secondary is the rate in a partially disrupted zone of more than LargeZone
	// nodes. Smaller zones that are partially disrupted have the rate zero.
	Secondary float64
	// LargeZone is the largest size of a zone in which Secondary does not apply.
	LargeZone int
	// Fraction raises Normal for large zones to this fraction of the zone's nodes
	// a second. At 0.1 nodes a second a zone of 33,000 takes 92 hours; with a
	// Fraction of 0.0001 it takes under three. Upstream has no such setting.
	Fraction float64
}

// DefaultRates returns those of kube-controller-manager v1.37: the defaults of
// --node-eviction-rate, --secondary-node-eviction-rate and
// --large-cluster-size-threshold.
func DefaultRates() Rates { return Rates{Normal: 0.1, Secondary: 0.01, LargeZone: 50} }

// Validate joins all that is wrong with the rates.
func (r Rates) Validate() error {
	var problems []error
	for _, f := range []struct {
		name string
		rate float64
	}{{"Normal", r.Normal}, {"Secondary", r.Secondary}, {"Fraction", r.Fraction}} {
		if !(f.rate >= 0) || math.IsInf(f.rate, 1) { // infinity times zero is NaN
			problems = append(problems, fmt.Errorf("%w: Rates.%s is %v, want zero or more, and finite",
				ErrInvalidConfig, f.name, f.rate))
		}
	}
	if r.LargeZone < 0 {
		problems = append(problems, fmt.Errorf("%w: Rates.LargeZone is %d, want zero or more",
			ErrInvalidConfig, r.LargeZone))
	}
	return errors.Join(problems...)
}

// Rate returns the rate for a zone in that state. A fully disrupted zone has
// the normal one: its nodes are dead and other zones can take their pods. If
// all zones are in that state, the [Tracker] suspends the cluster.
func (r Rates) Rate(s State, c Counts) float64 {
	if s != PartialDisruption {
		return max(r.Normal, r.Fraction*float64(c.Size()))
	}
	if c.Size() > r.LargeZone {
		return r.Secondary
	}
	return 0
}
