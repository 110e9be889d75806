//go:build unix

package scale

import (
	"syscall"
	"time"
)

// cpuTime is what all threads of this process have used.
func cpuTime() (used time.Duration, known bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
