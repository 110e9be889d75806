package main

import (
	"os"
	"runtime"
)

// heapReserve is how much memory a run may always take before garbage is
// collected. A collection looks at every pod, and pods hardly change. By Go's
// default a run of 5,000 nodes spends a quarter of its CPU time on collections.
const heapReserve = 512 << 20

// collectLater lets so many bytes more of garbage wait than by Go's default,
// until the result is called. It does nothing if GOGC or GOMEMLIMIT says when
// to collect.
//
// Go has no setting for that. A higher percentage would multiply the memory of
// a large cluster, too. So this is memory that nothing touches: it counts for
// the collector, and the operating system never provides it.
func collectLater(reserve int) (end func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	untouched := make([]byte, reserve)
	return func() { runtime.KeepAlive(untouched) }
}
