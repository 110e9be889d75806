package timedqueue

import "errors"

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid timedqueue config")

// errZeroJob is what is wrong with a source that a caller has written.
var errZeroJob = errors.New("a source handed out the zero value of Job, want a job of Jobs")
