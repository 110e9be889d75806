//go:build race

package explore

// The race detector makes a run many times slower and finds little here: a world
// is one goroutine. It is to see that worlds share nothing.
const defaultSeeds = 100
