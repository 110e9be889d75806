package heap

import (
	"os"
	"runtime"
)

// useHugePages makes the next so many bytes of the heap be of pages of 2 MiB.
// Linux has them, and in most distributions leaves them to programs that ask
// for them (madvise). Events of a simulation visit nodes and pods in no order
// that a processor could foresee. With pages of 4 KiB an hour of 5,000 nodes
// spends a quarter of its CPU time on page faults and page tables.
//
// It needs address space and no memory. It does nothing if GOMEMLIMIT says that
// memory is short, on other systems, and on 32-bit ones, which lack address
// space.
//
// Go has no setting for that. So this takes memory from the heap, advises Linux
// of it, and gives it back. The runtime never unmaps its heap and fills it from
// the lowest free address, so what comes next lies there. It does not promise
// that. A test holds it, and without it a run is only slower.
func useHugePages(size uint64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	advise(size)
	runtime.GC() // gives it back
}
