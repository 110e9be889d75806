package heartbeat

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
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

	// aliveUntil is when the node must fall silent. Zero means never.
	aliveUntil time.Time
	// silent changes in schedule.fallSilent and schedule.comeBack only:
	//
	//	beating ──Pause, or a beat is due after aliveUntil──► silent
	//	silent  ──Resume or AliveFor────────────────────────► beating
	silent bool

	lastSuccess time.Time // when a renewal or report last succeeded; zero: never
	reportDue   time.Time // when the period between reports is over; zero: nothing reported yet
	reassert    bool      // another client may have changed the status: report next
	reporting   bool      // a task is under way that will report
	gone        bool      // the API server has no such Node; a report that arrives ends it

	lease  *coordinationv1.Lease // as we last wrote or read it
	report statusReport
}

// beatRecord is what is known of one node's beats of one kind.
type beatRecord struct {
	failures int  // in a row
	spread   bool // the node has its own offset since it was added or silent
}

// alive reports whether a beat may begin.
func (r *record) alive(now time.Time) bool {
	return r.aliveUntil.IsZero() || now.Before(r.aliveUntil)
}
