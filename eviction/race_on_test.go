//go:build race

package eviction_test

const raceDetector = true
