package nodehealth

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// State is what a [Task] says of its key.
type State string

const (
	// StateSilent: the key was not heard for a whole grace period.
	StateSilent State = "Silent"
	// StateAlive: the key was silent and is heard again.
	StateAlive State = "Alive"
)

// A Task asks the caller to record that a key is silent, or alive again. The
// tasks of a key alternate, with two exceptions. After a task StateSilent
// another follows if the key fell silent before its return was recorded. So it
// does if the record of its silence was set back.
type Task[K comparable] struct {
	Key   K
	State State
	// Since is when the key was last heard, by the observer's clock, or when it
	// was first seen if it was not heard since.
	Since time.Time
	// GracePeriod is the grace period of the key.
	GracePeriod time.Duration
	// Attempts counts the failures since the last success.
	Attempts int

	record *record[K]
	round  uint32 // of the record; the result of another round is ignored
	item   timedqueue.Item[K, *record[K]]
}

// Outcome is how a task ended. The zero value counts as OutcomeFailed, as does
// any other string.
type Outcome string

const (
	// OutcomeDone: the state of the task is recorded now, or was already.
	OutcomeDone Outcome = "Done"
	// OutcomeAlive: a live read found a heartbeat, and nothing was recorded. It
	// counts as a heartbeat at the time of Finish.
	OutcomeAlive Outcome = "Alive"
	// OutcomeFailed: the read or the write failed. The task is handed out again
	// after a backoff, unless the key is heard.
	OutcomeFailed Outcome = "Failed"
)

// Result is what the caller reports about a task. The zero value is a failure.
type Result struct {
	Outcome Outcome
	// Err is the cause of a failure. With an error no outcome counts as success.
	// An answer 404 is a failure like others: only the watch reports that an
	// object is gone.
	Err error
}

// outcome returns the outcome as it counts.
func (r Result) outcome() Outcome {
	if r.Err != nil || r.Outcome != OutcomeDone && r.Outcome != OutcomeAlive {
		return OutcomeFailed
	}
	return r.Outcome
}
