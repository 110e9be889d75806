//go:build !race

package scenarios_test

const fewSeeds = 5
