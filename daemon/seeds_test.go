//go:build !race

package daemon_test

const defaultSeeds = 2000
