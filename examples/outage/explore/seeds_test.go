//go:build !race

package explore

const defaultSeeds = 2000

// fewSieveCalls is how many calls of each scenario the patterns of Sieve are
// tried at.
const fewSieveCalls = 5
