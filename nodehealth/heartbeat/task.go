package heartbeat

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// outcome is how a task ended.
type outcome int

const (
	// outcomeFailed: it must be retried. It is also the outcome of a panic.
	outcomeFailed outcome = iota
	// outcomeDone: the lease is renewed, the status is checked, the gate is open.
	outcomeDone
	// outcomeWithheld: the node is not alive and has sent nothing.
	outcomeWithheld
	// outcomeGone: the API server has no such node, or another one of its name.
	outcomeGone
	// outcomeHung: the gate has returned after its time.
	outcomeHung
)

// reportCause is why a status is reported.
type reportCause int

const (
	notDue       reportCause = iota // as far as the schedule knows; the status may have changed
	firstReport                     // nothing has been reported yet
	reassertion                     // we were silent, another client may have changed the status
	periodReport                    // ReportInterval is over
	statusChange                    // the API server has something else
)

// String is for logs.
func (c reportCause) String() string {
	return [...]string{"none", "first", "reassertion", "period", "change"}[c]
}

// beatTask is what the schedule hands out: a beat of one node to send or, if
// call is set, its gate to call.
type beatTask struct {
	call *gateCall

	kind beatKind
	item timedqueue.Item[string, *record]
	// due is when the beat was due, before it waited for its gate.
	due time.Time
	// withheld is why the node counts as not alive, or nil.
	withheld error
	// failures counts the tasks of this kind that have failed since the last
	// success.
	failures int
	// cause is why a report is due whatever the status is.
	cause reportCause
	// random is drawn at the start, because starts come one at a time. Ends come
	// in any order, and no run with an injected Rand would be repeatable.
	random float64
}

func (t beatTask) node() Node {
	if t.call != nil {
		return t.call.record.node
	}
	return t.item.Value.node
}

// beatResult is how a task ended.
type beatResult struct {
	started time.Time
	outcome outcome
	// reported is why a status was written, notDue when none was.
	reported reportCause
	// err is what the gate returned.
	err error
}
