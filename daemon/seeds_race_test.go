//go:build race

package daemon_test

// The race detector makes a run many times slower and finds nothing here: a
// history is one goroutine. It checks that histories have nothing in common.
const defaultSeeds = 100
