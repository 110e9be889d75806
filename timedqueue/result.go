package timedqueue

import "time"

// Outcome is how an action ended. The zero value is none of them and counts as
// OutcomeFailed, as does any other string.
type Outcome string

const (
	// OutcomeDone: the action did its work. The item leaves the queue.
	OutcomeDone Outcome = "Done"
	// OutcomeSkipped: there was nothing to do and nothing was done. The item
	// leaves the queue, and its tokens are returned.
	OutcomeSkipped Outcome = "Skipped"
	// OutcomeFailed: the action must be retried. The item stays and backs off. Its
	// tokens are spent: a failure costs the API server as much as a success.
	OutcomeFailed Outcome = "Failed"
	// OutcomeContinued: the action did its work, and there is more to do at
	// Result.At. The item stays, with no failed attempts, and its tokens are spent.
	OutcomeContinued Outcome = "Continued"
	// OutcomePostponed: nothing was done now; it may be at Result.At. The item
	// stays, with the attempts that it has, and its tokens are returned.
	OutcomePostponed Outcome = "Postponed"
)

// Result is what an action reports. The zero value is a failure.
type Result struct {
	Outcome Outcome
	// Err is what went wrong. With an error nothing is a success: Done, Skipped
	// and Continued count as Failed.
	Err error
	// RetryAfter is how long an item that failed waits for its next attempt. Zero
	// means the queue's backoff, which grows with each failure. An action sets it
	// when the server says when to retry, for example by a Retry-After header.
	RetryAfter time.Duration
	// At is when an item that is continued or postponed is due. Without At and
	// without Idle either counts as Failed: a time that was forgotten must not
	// lose the item.
	At time.Time
	// Idle says that an item that is continued or postponed has no due time until
	// it is scheduled. At must be zero then.
	Idle bool
}

// outcome returns what a result counts as.
func (r *Result) outcome() Outcome {
	switch r.Outcome {
	case OutcomeDone, OutcomeSkipped:
		if r.Err == nil {
			return r.Outcome
		}
	case OutcomeContinued, OutcomePostponed:
		saysWhen := r.At.IsZero() == r.Idle
		if saysWhen && (r.Err == nil || r.Outcome == OutcomePostponed) {
			return r.Outcome
		}
	}
	return OutcomeFailed
}

// returnsTokens reports whether the action did nothing that costs a token.
func (o Outcome) returnsTokens() bool { return o == OutcomeSkipped || o == OutcomePostponed }
