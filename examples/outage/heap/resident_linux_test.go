//go:build !race

// The race detector touches memory of its own for what is taken.

package heap

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resident is how many bytes the operating system provides to this process.
func resident(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	_, err = fmt.Sscan(line, &kib)
	require.NoError(t, err)
	return kib * 1024
}

// use writes to so much memory, of which nothing is left.
func use(size int) {
	used := make([]byte, size)
	for i := range used {
		used[i] = 1
	}
}

func TestWhatIsTakenCostsNoMemory(t *testing.T) {
	use(small)
	before := resident(t)
	runtime.GC() // so that what is taken begins in what was used
	taken := untouched(8 * small)
	require.Less(t, resident(t)-before, float64(small))
	runtime.KeepAlive(taken)
}
