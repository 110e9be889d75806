package simulation

import (
	"os"
	"runtime"
)

// GarbageReserve is how many bytes more of garbage a program lets wait that
// plays a scenario. A collection looks at every pod, and pods hardly change. By
// Go's default an hour of 5,000 nodes spends a quarter of its CPU time on
// collections.
const GarbageReserve = 512 << 20

// CollectLater lets so many bytes more of garbage wait than by Go's default,
// until end is called. It is for a whole program: its main calls it once. It
// does nothing if GOGC or GOMEMLIMIT says when to collect.
//
// Go has no setting for that. A higher percentage would multiply the memory of
// a large cluster, too. So this is memory that nothing touches: it counts for
// the collector, and the operating system never provides it.
func CollectLater(reserve int) (end func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	untouched := make([]byte, reserve)
	return func() { runtime.KeepAlive(untouched) }
}
