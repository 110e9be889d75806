//go:build !race

package explore

const defaultSeeds = 2000
