package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheEnvironmentDecidesWhenGarbageIsCollected(t *testing.T) {
	const before = 77
	t.Setenv("GOGC", "off")
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	collectGarbage()
	assert.Equal(t, before, debug.SetGCPercent(before))
	t.Setenv("GOGC", "")
	collectGarbage()
	assert.Equal(t, garbagePercent, debug.SetGCPercent(before))
}
