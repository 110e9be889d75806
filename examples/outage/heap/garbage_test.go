package heap

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

// heapGoal returns how large the heap may be before the next collection.
func heapGoal() uint64 {
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	return goal[0].Value.Uint64()
}

// small is how much the tests take. The race detector touches all of it.
const small = 64 << 20

func TestGarbageWaitsDuringARun(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := heapGoal()
	end := collectLater(small)
	require.InDelta(t, 2*small, float64(heapGoal())-float64(before), small/4)
	end()
	require.InDelta(t, float64(before), heapGoal(), small/4)
}

func TestTheEnvironmentDecidesWhenGarbageIsCollected(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv("GOGC", "")
		t.Setenv("GOMEMLIMIT", "")
		t.Setenv(name, "900")
		before := heapGoal()
		end := collectLater(small)
		require.InDelta(t, float64(before), heapGoal(), small/4)
		end()
	}
}
