//go:build race

package scenarios_test

// The race detector makes a run many times slower and finds little here: a run
// is one goroutine.
const fewSeeds = 1
