//go:build race

package daemon_test

// The race detector makes a run many times slower and finds nothing here: a
// history is one goroutine. It is to see that histories share nothing.
const defaultSeeds = 100
