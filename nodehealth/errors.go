package nodehealth

import "errors"

// ErrInvalidConfig is wrapped by the errors of constructors and of Validate.
var ErrInvalidConfig = errors.New("invalid nodehealth config")
