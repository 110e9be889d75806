//go:build amd64 || arm64

package heap

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mapping is a range of addresses. It is advised if Linux was told to use
// huge pages for it.
type mapping struct {
	from, to uintptr
	advised  bool
}

// mappings returns those of this process, from proc(5).
func mappings(t *testing.T) []mapping {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	var all []mapping
	for line := range strings.Lines(string(smaps)) {
		var m mapping
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			all[len(all)-1].advised = slices.Contains(strings.Fields(flags), "hg")
		} else if n, _ := fmt.Sscanf(line, "%x-%x ", &m.from, &m.to); n == 2 {
			all = append(all, m)
		}
	}
	return all
}

// A pod takes about as much as this.
type object struct{ _ [1 << 10]byte }

// advisedShare is how much of so many new objects lies in mappings that are
// advised.
func advisedShare(t *testing.T, count int) float64 {
	t.Helper()
	objects := make([]*object, count)
	for i := range objects {
		objects[i] = new(object)
	}
	all, advised := mappings(t), 0
	for _, o := range objects {
		at := reflect.ValueOf(o).Pointer()
		for _, m := range all {
			if m.advised && at >= m.from && at < m.to {
				advised++
			}
		}
	}
	return float64(advised) / float64(count)
}

func TestWhatComesNextLiesOnHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("this kernel has no transparent huge pages: %v", err)
	}
	t.Setenv("GOMEMLIMIT", "")
	useHugePages(small)
	require.Greater(t, advisedShare(t, small/2>>10), 0.8)
}

func TestWhoLimitsMemoryKeepsSmallPages(t *testing.T) {
	advised := func() (size uintptr) {
		for _, m := range mappings(t) {
			if m.advised {
				size += m.to - m.from
			}
		}
		return size
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	before := advised()
	useHugePages(8 * small)
	require.Equal(t, before, advised())
}
