package heartbeat

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// beatKind is one of the two things that a node does on time.
type beatKind int

const (
	leaseBeat  beatKind = iota // renew the lease
	statusBeat                 // check the status, and report it when that is due
	beatKinds
)

// record is what is known of one node. The schedule owns all of it except lease
// and report. These belong to the task of their kind that is under way, of
// which there is at most one.
type record struct {
	node  Node
	beats [beatKinds]beatRecord
	gate  gateRecord

	lastSuccess time.Time // when a renewal or report last succeeded; zero: never
	reportDue   time.Time // when the period between reports is over; zero: nothing reported yet
	reassert    bool      // another client may have changed the status: report next
	reporting   bool      // a task is under way that will report
	gone        bool      // see outcomeGone; a report that arrives ends it

	lease  *coordinationv1.Lease // as we last wrote or read it
	report statusReport
}

// beatPhase is where a node's beat of one kind is:
//
//	scheduled ──due, may be sent or is withheld──► acting
//	scheduled ──due, its gate has not answered───► gated
//	gated     ──the gate has answered or hangs───► scheduled, due now
//	acting    ──finished─────────────────────────► scheduled, at its next time
type beatPhase uint8

const (
	beatScheduled beatPhase = iota // in its queue
	beatGated                      // in its queue without a due time
	beatActing                     // handed out
)

// String is for logs and tests.
func (p beatPhase) String() string { return [...]string{"scheduled", "gated", "acting"}[p] }

// beatRecord is what is known of one node's beats of one kind.
type beatRecord struct {
	phase     beatPhase
	due       time.Time // of a beat that is gated
	failures  int       // in a row
	withheld  bool      // the last one was
	spread    bool      // the first one is over, and the node has its own offset
	expedited bool      // since the last one began, another was requested for now
}

// gateState is the latest answer of a node's gate. From each state a call leads
// to any of the three last ones:
//
//	unasked           the first call has not ended
//	   │
//	   ├──nil───────► open
//	   ├──error─────► shut
//	   └──too late──► hung: in quarantine until an answer in time
type gateState uint8

const (
	gateUnasked gateState = iota
	gateOpen
	gateShut
	gateHung // and so it is in quarantine
)

// String is for logs and tests.
func (s gateState) String() string { return [...]string{"unasked", "open", "shut", "hung"}[s] }

// gateRecord is what is known of one node's gate.
type gateRecord struct {
	state    gateState
	asked    time.Time            // when the call began that gave the latest answer
	err      error                // why it is shut or hung
	hangs    int                  // in a row
	call     *gateCall            // the one under way, or nil
	requests [beatKinds]time.Time // when it must be called, by the kind of beat
}

// gatePool is one of the two sets of workers that call gates.
type gatePool uint8

const (
	poolPrompt     gatePool = iota // for gates that answer in time
	poolQuarantine                 // for the others
	gatePools
)

// gateCall is one call of a node's gate.
type gateCall struct {
	record *record
	item   timedqueue.Item[*record, struct{}]
	from   gatePool // in whose queue the item was
	worker gatePool // whose worker it occupies
	began  time.Time
	hangs  bool // it has not answered in time
	random float64
}
