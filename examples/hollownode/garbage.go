package main

import (
	"os"
	"runtime/debug"
)

// garbagePercent is how much memory may be added to what is in use until
// garbage is collected. A fleet keeps most of what it allocates for long, so
// Go's default of 100 would nearly double its memory. Half of that costs some
// percent of the CPU time while pods come and go.
const garbagePercent = 50

// collectGarbage sets garbagePercent, unless GOGC says otherwise.
func collectGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
