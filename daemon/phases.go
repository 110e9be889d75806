package daemon

import "time"

// placed is the part of a [Decision] that a record keeps.
type placed struct{ shouldRun, shouldContinue bool }

// creationPhase is the life of the creations for a node:
//
//	idle ──handed out──► underWay ──answered──► idle
//	                     underWay ──no answer─► unclear
//	unclear ──the same one handed out──► retried
//	                             retried ──answered late──► idle
//	                             retried ──otherwise──────► unclear
//	unclear ──read handed out──► reading ──there, or not──► idle
//	                             reading ──no answer──────► unclear
//	unclear, not retried ──shown──► idle
//
// An answer to a retry is late if it comes when the creation may be read. Until
// then the first call may still arrive, after the pod of the retry has gone.
//
// Only idle permits a creation under another name. The pod of the unclear one
// may still appear, and two pods of the set would run on the node.
type creationPhase uint8

const (
	creationIdle creationPhase = iota
	// creationUnderWay: a task is handed out.
	creationUnderWay
	// creationUnclear: an answer was lost, and the pod may exist or appear. The
	// next creation of its revision has the same name.
	creationUnclear
	// creationRetried: a task is handed out, and an earlier one is unclear.
	creationRetried
	// creationReading: the pod of the unclear creation is being read. Only the
	// result ends this phase, so that two reads never overlap.
	creationReading
)

func (c creationPhase) String() string {
	return [...]string{"idle", "underWay", "unclear", "retried", "reading"}[c]
}

// unclearCreation is a creation whose answer was lost.
type unclearCreation struct {
	Creation

	// readFrom is when the call has arrived, or never will, so that a read says
	// whether there is a pod.
	readFrom time.Time
	retried  bool // more than one call for it may arrive
}

// podPhase is the life of a pod's record:
//
//	gone ──shown by the watch──► observed
//	gone ──answer to our creation──► created ──read──► read
//	                                 created, read ──shown──► observed
//
//	observed, created, read ──task handed out──► deleting
//	deleting ──refused, or shown being deleted──► the former phase
//	deleting ──agreed──► accepted
//	deleting ──no answer──► unclear ──read, and stays──► inFlight
//
//	accepted, unclear, inFlight ──being deleted──► the former phase
//	accepted, inFlight ──read, and stays──► the former phase
//
// A pod whose deletion is under way may be shown or read meanwhile. Then the
// former phase becomes observed or read. Each phase ends in gone.
type podPhase uint8

const (
	// podGone: there is no such record.
	podGone podPhase = iota
	// podObserved: the watch has shown it.
	podObserved
	// podCreated: we created it, and neither watch nor a read has shown it. It
	// counts against the burst of creations.
	podCreated
	// podRead: we created and read it, and the watch has not shown it.
	podRead
	// podDeleting: its deletion is handed out.
	podDeleting
	// podDeletionAccepted: the API server has agreed, and nothing was shown yet.
	podDeletionAccepted
	// podDeletionUnclear: the answer was lost. The pod is read at once.
	podDeletionUnclear
	// podDeletionInFlight: it was read since and is not being deleted. The call
	// may still arrive, so it is read once more.
	podDeletionInFlight
)

func (p podPhase) String() string {
	return [...]string{
		"gone", "observed", "created", "read", "deleting", "accepted", "unclear", "inFlight",
	}[p]
}

// isDeletion reports whether a deletion of ours is not resolved yet.
func (p podPhase) isDeletion() bool { return p >= podDeleting }
