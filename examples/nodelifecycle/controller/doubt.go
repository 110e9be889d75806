package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// A Doubt is one reason for not acting against nodes. It ends within a grace
// period, two heartbeat intervals and a live read of the end of its cause.
type Doubt struct {
	Kind DoubtKind
	// Since is when it began.
	Since time.Time
	// Nodes is how many nodes it concerns, zero if all.
	Nodes int
}

// HoldsTaints reports whether the doubt delays only NoExecute taints, and the
// evictions that follow from them. Other doubts delay the declaration.
func (d Doubt) HoldsTaints() bool {
	return d.Kind == DoubtSuspended || d.Kind == DoubtPaused || d.Kind == DoubtRecovering
}

// String says in plain words what is doubted, and since when.
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
	return fmt.Sprintf("Since %s %s.", utc(d.Since), what)
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
	sight nodehealth.Sight
	// behind are the nodes whose last sign of life is a live read, and unconfirmed
	// the silent nodes without a confirmation.
	behind, unconfirmed tally
	// unread: live reads have failed since failedAt.
	unread   bool
	failedAt time.Time
	// phase is what the zones have called for since phaseAt.
	phase   zone.Phase
	phaseAt time.Time
}

// appendDoubts appends all doubts that there are, in the order of doubtKinds.
func appendDoubts(doubts []Doubt, f doubtFacts) []Doubt {
	if !f.sight.Counts() {
		doubts = append(doubts, Doubt{Kind: DoubtBlind, Since: f.sight.LostAt})
	}
	if f.behind.count > 0 {
		doubts = append(doubts, Doubt{DoubtWatch, f.behind.since, f.behind.count})
	}
	silent := f.unconfirmed.count
	switch {
	case silent == 0:
	case f.unread:
		doubts = append(doubts, Doubt{DoubtUnread, f.failedAt, silent})
	default:
		doubts = append(doubts, Doubt{DoubtUnconfirmed, f.unconfirmed.since, silent})
	}
	switch f.phase {
	case zone.PhaseHolding:
		doubts = append(doubts, Doubt{DoubtHolding, f.phaseAt, silent})
	case zone.PhaseSuspended:
		doubts = append(doubts, Doubt{Kind: DoubtSuspended, Since: f.phaseAt})
	case zone.PhasePaused:
		doubts = append(doubts, Doubt{Kind: DoubtPaused, Since: f.phaseAt})
	case zone.PhaseRecovering:
		doubts = append(doubts, Doubt{Kind: DoubtRecovering, Since: f.phaseAt})
	case zone.PhaseActive:
	}
	return doubts
}

// tellPeriod is the shortest time between two Events that a doubt of the same
// kind has begun. So a doubt that comes and goes is told of now and then.
const tellPeriod = 5 * time.Minute

// doubtLog is what is recorded of each kind of doubt, by its place in
// doubtKinds.
type doubtLog [len(doubtKinds)]doubtRecord

type doubtRecord struct {
	// since is when the doubt began, zero if there is none.
	since time.Time
	// lasted is how long all doubts of the kind lasted that have ended.
	lasted time.Duration
	// told says that its beginning was told, at toldAt; its end will be.
	told   bool
	toldAt time.Time
}

// note records the doubts that there are now. The Events to record are appended
// to events.
func (l *doubtLog) note(now time.Time, doubts []Doubt, grace time.Duration, events []*Record) []*Record {
	for i, kind := range doubtKinds {
		r := &l[i]
		if len(doubts) == 0 || doubts[0].Kind != kind {
			events = r.end(now, kind, events)
			continue
		}
		d := doubts[0]
		doubts = doubts[1:]
		if r.since.IsZero() {
			r.since = d.Since
		}
		if at, tells := r.tells(kind, grace); tells && !now.Before(at) {
			r.told, r.toldAt = true, now
			events = append(events, &Record{
				Type: corev1.EventTypeWarning, Reason: ReasonDoubt, Message: d.String(),
			})
		}
	}
	return events
}

// tells returns when the beginning of a doubt is told, if it has yet to be. A
// suspension is told at once. Other doubts that end before a grace period
// has passed are no news, nor is a stabilization window, which ends by itself.
func (r *doubtRecord) tells(kind DoubtKind, grace time.Duration) (time.Time, bool) {
	if r.since.IsZero() || r.told || kind == DoubtRecovering {
		return time.Time{}, false
	}
	at := r.since
	if kind != DoubtSuspended {
		at = at.Add(grace)
	}
	if again := r.toldAt.Add(tellPeriod); !r.toldAt.IsZero() && at.Before(again) {
		at = again
	}
	return at, true
}

// untell records that nothing was told.
func (l *doubtLog) untell() {
	for i := range l {
		l[i].told, l[i].toldAt = false, time.Time{}
	}
}

func (r *doubtRecord) end(now time.Time, kind DoubtKind, events []*Record) []*Record {
	if r.since.IsZero() {
		return events
	}
	if r.told {
		events = append(events, &Record{
			Type: corev1.EventTypeNormal, Reason: ReasonDoubtEnded,
			Message: "Doubt of the kind " + string(kind) + " has ended. It began at " + utc(r.since) + ".",
		})
	}
	r.lasted += max(now.Sub(r.since), 0)
	r.since, r.told = time.Time{}, false
	return events
}

// next returns when the beginning of a doubt has to be told.
func (l *doubtLog) next(grace time.Duration) (next time.Time, ok bool) {
	for i, kind := range doubtKinds {
		if at, tells := l[i].tells(kind, grace); tells && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}
