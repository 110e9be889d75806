package timedqueue

import "errors"

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid timedqueue config")
