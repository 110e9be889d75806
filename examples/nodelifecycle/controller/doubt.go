package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// DoubtKind is why a silent node is not declared, or why a declared node is not
// tainted NoExecute.
type DoubtKind string

const (
	// DoubtBlind: nothing is heard, no heartbeat and no answer to a write, or that
	// is not over for long enough, or many writes fail. No node can be found silent.
	DoubtBlind DoubtKind = "blind"
	// DoubtWatch: live reads have shown heartbeats that the watch of leases has
	// not. A silence says nothing before such a read.
	DoubtWatch DoubtKind = "watch"
	// DoubtUnconfirmed: silent nodes wait for a live read of their leases.
	DoubtUnconfirmed DoubtKind = "unconfirmed"
	// DoubtUnread: live reads fail.
	DoubtUnread DoubtKind = "unread"
	// DoubtHolding: all zones may be down, which depends on unconfirmed nodes, or
	// on nodes that were not heard since a blindness.
	DoubtHolding DoubtKind = "holding"
	// DoubtSuspended: all zones are down.
	DoubtSuspended DoubtKind = "suspended"
	// DoubtPaused: the policy for the cluster asks for a pause.
	DoubtPaused DoubtKind = "paused"
	// DoubtRecovering: a stabilization window is under way, after a start, a
	// takeover, a suspension or a pause.
	DoubtRecovering DoubtKind = "recovering"
)

// DoubtKinds are all kinds, in the order of Doubts.
func DoubtKinds() []DoubtKind { return slices.Clone(doubtKinds[:]) }

var doubtKinds = [...]DoubtKind{
	DoubtBlind, DoubtWatch, DoubtUnread, DoubtUnconfirmed, DoubtHolding, DoubtSuspended,
	DoubtPaused, DoubtRecovering,
}

// Moment is what a latest moment is counted from that is not known yet.
type Moment string

const (
	// MomentAnswer is when the API server answers again, nearly each time and
	// without another gap.
	MomentAnswer Moment = "the API server answers"
	// MomentRead is when the API server answers live reads of leases again.
	MomentRead Moment = "live reads succeed"
	// MomentHeartbeat is the last heartbeat of the node that is dead.
	MomentHeartbeat Moment = "its last heartbeat"
	// MomentReady is when a node is ready.
	MomentReady Moment = "one node is ready"
	// MomentPolicy is when the policy for the cluster asks for no pause.
	MomentPolicy Moment = "the policy for the cluster asks for no pause"
)

// A Doubt is one reason for not acting against nodes, and when it ends at the
// latest for a node that is dead. What the API server takes to answer and the
// jitter of backoffs come in addition. A node that has never reported has its
// StartupGracePeriod instead of the GracePeriod.
type Doubt struct {
	Kind DoubtKind
	// Since is when it began.
	Since time.Time
	// Nodes is how many nodes it concerns, zero if all.
	Nodes int
	// After and Within are the latest moment, if it depends on what has yet to
	// happen. Else After is empty, and the moment is Latest.
	After  Moment
	Within time.Duration
	Latest time.Time
}

// HoldsTaints reports whether the doubt delays only NoExecute taints, and the
// evictions that follow from them. Other doubts delay the declaration.
func (d Doubt) HoldsTaints() bool {
	return d.Kind == DoubtSuspended || d.Kind == DoubtPaused || d.Kind == DoubtRecovering
}

// String says in plain words what is doubted, since when, and until when.
func (d Doubt) String() string {
	what := map[DoubtKind]string{
		DoubtBlind: "the API server does not answer, or not every write, so heartbeats may be missed: no node is declared " +
			"silent. While nothing is heard none is tainted NoExecute either, and no pod evicted for one of our taints",
		DoubtWatch:       fmt.Sprintf("the watch of leases is behind: live reads show heartbeats of %s", d.silent()),
		DoubtUnread:      fmt.Sprintf("live reads of leases fail, and leave %s undeclared", d.silent()),
		DoubtUnconfirmed: fmt.Sprintf("a live read of leases has yet to confirm %s", d.silent()),
		DoubtHolding: "all zones may be down, which is not confirmed: no taint is set or removed and no pod evicted " +
			"for one of ours",
		DoubtSuspended: "all zones are down: nodes are declared, and none is tainted NoExecute",
		DoubtPaused: "the policy for the cluster asks for a pause: nodes are declared, none is tainted NoExecute, and no " +
			"pod evicted for one of our taints",
		DoubtRecovering: "a stabilization window is under way: nodes are declared, and none is tainted NoExecute",
	}[d.Kind]
	verb := "declared"
	if d.HoldsTaints() {
		verb = "released to the rate of its zone"
	}
	if d.After == "" {
		return fmt.Sprintf("Since %s %s. A dead node is %s at %s at the latest.",
			utc(d.Since), what, verb, utc(d.Latest))
	}
	return fmt.Sprintf("Since %s %s. A dead node is %s at the latest %v after %s.",
		utc(d.Since), what, verb, d.Within.Round(time.Second), d.After)
}

func (d Doubt) silent() string {
	if d.Nodes == 1 {
		return "1 silent node"
	}
	return fmt.Sprintf("%d silent nodes", d.Nodes)
}

func utc(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// doubtFacts is what doubts follow from.
type doubtFacts struct {
	now   time.Time
	sight nodehealth.Sight
	// regainedAt is when the last blindness ended.
	regainedAt time.Time
	// behind and refutedAt are the nodes whose last sign of life is a live read,
	// and when there was none of them last.
	behind    int
	refutedAt time.Time
	// unconfirmed are the silent nodes without a confirmation, since suspectedAt
	// some are. Unread says that live reads have failed since failedAt.
	unconfirmed           int
	suspectedAt, failedAt time.Time
	unread                bool
	phase                 zone.Phase
	phaseAt, resumeAt     time.Time

	grace, unbroken, timeout, backoff, window time.Duration
	// perSecond is how many requests declarations have at least, zero for no
	// limit.
	perSecond float64
	// undeclared are the confirmed nodes that wait to be written.
	undeclared int
}

// appendDoubts appends all doubts that there are, in the order of doubtKinds.
func appendDoubts(doubts []Doubt, f doubtFacts) []Doubt {
	if !f.sight.Counts() {
		doubts = append(doubts, f.blindness())
	}
	if f.behind > 0 {
		// The read that shows its last heartbeat begins a grace period, and was made
		// within one of that heartbeat.
		doubts = append(doubts, Doubt{
			Kind: DoubtWatch, Since: f.refutedAt, Nodes: f.behind,
			After: MomentHeartbeat, Within: 2*(f.grace+readPeriod) + f.requests(),
		})
	}
	switch {
	case f.unconfirmed == 0:
	case f.unread:
		doubts = append(doubts, f.untilRead(DoubtUnread, f.failedAt))
	default:
		doubts = append(doubts, Doubt{
			Kind: DoubtUnconfirmed, Since: f.suspectedAt, Nodes: f.unconfirmed,
			Latest: f.now.Add(readPeriod + f.requests()),
		})
	}
	switch f.phase {
	case zone.PhaseHolding:
		doubts = append(doubts, f.holding())
	case zone.PhaseSuspended:
		doubts = append(doubts, Doubt{
			Kind: DoubtSuspended, Since: f.phaseAt, After: MomentReady, Within: f.window,
		})
	case zone.PhasePaused:
		doubts = append(doubts, Doubt{
			Kind: DoubtPaused, Since: f.phaseAt, After: MomentPolicy, Within: f.window,
		})
	case zone.PhaseRecovering:
		doubts = append(doubts, Doubt{Kind: DoubtRecovering, Since: f.phaseAt, Latest: f.resumeAt})
	case zone.PhaseActive:
	}
	return doubts
}

// blindness returns the doubt of an observer that cannot hear. If a node has
// died with it, none of the node's grace period was seen. After a gap the seen
// time stands still for up to the timeout.
func (f *doubtFacts) blindness() Doubt {
	d := Doubt{Kind: DoubtBlind, Since: f.sight.LostAt}
	within := f.untilSilent() + readPeriod + f.requests()
	if f.sight.Blind || f.sight.Failing {
		d.After, d.Within = MomentAnswer, within
	} else {
		d.Latest = f.sight.RegainedAt.Add(within)
	}
	return d
}

// untilSilent is how long it takes at most until a node that is dead is found
// silent. It counts from when heartbeats can be heard, if no gap follows.
func (f *doubtFacts) untilSilent() time.Duration { return max(f.unbroken, f.timeout+f.grace) }

// holding returns the doubt that all zones may be down. A node that was not
// heard since a blindness is found silent, and read, before it can end.
func (f *doubtFacts) holding() Doubt {
	d := f.untilRead(DoubtHolding, f.phaseAt)
	if f.sight.Blind {
		d.After = MomentAnswer
		d.Within += f.untilSilent()
		return d
	}
	silentIn := max(f.regainedAt.Add(f.untilSilent()).Sub(f.now), 0)
	if f.unread {
		d.Within += silentIn
		return d
	}
	return Doubt{
		Kind: DoubtHolding, Since: f.phaseAt, Nodes: f.unconfirmed,
		Latest: f.now.Add(silentIn + readPeriod + f.requests()),
	}
}

// untilRead returns a doubt that a live read ends. The next one is tried after
// the longest backoff.
func (f *doubtFacts) untilRead(kind DoubtKind, since time.Time) Doubt {
	return Doubt{
		Kind: kind, Since: since, Nodes: f.unconfirmed,
		After: MomentRead, Within: f.backoff + readPeriod + f.requests(),
	}
}

// requests returns how long the budget of requests takes for the reads and
// declarations of all nodes that are silent. When a confirmation no longer
// lasts, one more list is read.
func (f *doubtFacts) requests() time.Duration {
	if f.perSecond == 0 {
		return 0
	}
	requests := float64(f.unconfirmed + f.undeclared + mostSingleReads + 2)
	seconds := requests / f.perSecond
	seconds += seconds / (f.perSecond * confirmationLasts.Seconds())
	return time.Duration(seconds * float64(time.Second))
}
