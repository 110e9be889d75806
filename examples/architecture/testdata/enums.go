package zone

import "time"

type Outcome string
type TaskOutcome uint8
type WaitReason string
type phase int
type Phase int
type Share float64

const (
	OutcomeDone Outcome = "Done"
	Done        Outcome = "Done" // want constant Done does not begin with its type, Outcome
	Outcomes    Outcome = ""     // want constant Outcomes
)

const (
	OutcomeFailed TaskOutcome = iota
	Suspended                 // want constant Suspended
	suspended
)

const WaitBackoff WaitReason = "Backoff"
const WaitReasonBackoff WaitReason = "Backoff"
const ReasonBackoff WaitReason = "Backoff"
const Backoff WaitReason = "Backoff" // want constant Backoff
const ActivePhase Phase = 1          // want constant ActivePhase
const Active phase = 1
const Half Share = 0.5
const Grace = 3 * time.Second
const Limit, Key = 3, "a"
