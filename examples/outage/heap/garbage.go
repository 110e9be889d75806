package heap

import (
	"os"
	"runtime"
)

// collectLater lets so many bytes more of garbage wait than by Go's default,
// until end is called. A collection looks at every pod, and pods hardly change.
// It does nothing if GOGC or GOMEMLIMIT says when to collect.
//
// Go has no setting for that. A higher percentage would multiply the memory of
// a large cluster, too. So this is memory that nothing touches: it counts for
// the collector, and the operating system never provides it.
func collectLater(reserve uint64) (end func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	reserved := untouched(reserve)
	return func() { runtime.KeepAlive(reserved) }
}
