package commandline

import (
	"errors"
	"fmt"
	"time"
)

// Checks collects what is wrong with flags, so that all of it is said at once.
// The zero value has found nothing.
type Checks struct{ errs []error }

// That notes what the format says, unless ok. It is for fmt.Errorf.
func (c *Checks) That(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// Positive wants a duration above zero.
func (c *Checks) Positive(flag string, value time.Duration) {
	c.That(value > 0, "--%s is %v, want a positive duration", flag, value)
}

// Err returns what was noted, a line each, or nil. The result is one list: what
// errors.Join returns, with none nested in it.
func (c *Checks) Err() error { return errors.Join(c.errs...) }
