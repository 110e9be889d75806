package eviction

import "errors"

// ErrInvalidConfig is wrapped by the errors of this package's constructors.
var ErrInvalidConfig = errors.New("invalid eviction config")

// ErrNoTask is the error of a [Task] that no [Tracker] has handed out.
var ErrNoTask = errors.New("task was not handed out by Tracker.Start")

// ErrNoUID is the error of a [Task] for a pod without a UID. No API server
// stores such a pod, and no write could be guarded against another pod of its
// name.
var ErrNoUID = errors.New("pod has no UID")
