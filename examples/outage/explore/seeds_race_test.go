//go:build race

package explore

// The race detector makes a run many times slower and finds little here: a
// world is one goroutine. It is to see that worlds share nothing.
const defaultSeeds = 100

// fewSieveCalls is how many calls of each scenario the patterns of Sieve are
// tried at.
const fewSieveCalls = 1
