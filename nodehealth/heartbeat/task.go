package heartbeat

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
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

// beatTask is a beat of one node that is due.
type beatTask struct {
	kind beatKind
	item timedqueue.Item[string, *record]
	// withheld is why the beat must not be sent, or nil.
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

// beatResult is how a task ended. The zero value, which is that of a panic, has
// failed.
type beatResult struct {
	started time.Time
	// outcome is done, failed, or postponed: the beat was withheld.
	outcome timedqueue.Outcome
	// reported is why a status was written, notDue when none was.
	reported reportCause
	// err is nil when the beat is done.
	err error
}
