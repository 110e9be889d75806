//go:build !unix

package scale

import "time"

// cpuTime is not known here.
func cpuTime() (used time.Duration, known bool) { return 0, false }
