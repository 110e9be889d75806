//go:build !race

package eviction_test

const raceDetector = false
