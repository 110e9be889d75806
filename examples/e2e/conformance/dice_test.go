package conformance

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed; the others follow it")
	scale     = flag.Uint64("scale", 1, "how many times as many seeds as in an ordinary run")
)

// TestMain keeps upstream from logging every bad term and every pod.
func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(klog.New(nil))
	os.Exit(m.Run())
}

// seeds yields as many seeds as an ordinary run has, times the scale.
func seeds(ordinary uint64) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for i := range ordinary * *scale {
			if !yield(*firstSeed + i) {
				return
			}
		}
	}
}

// dice makes objects from a few words, so that they often meet.
type dice struct{ *rand.Rand }

func throw(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// oneIn is true once in n times.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some returns up to most of what one makes, and nil or nothing when it is
// none.
func some[T any](d dice, most int, one func() T) []T {
	n := d.IntN(most + 1)
	if n == 0 && d.oneIn(2) {
		return nil
	}
	all := make([]T, n)
	for i := range all {
		all[i] = one()
	}
	return all
}

// reached counts what a test has come to.
type reached map[string]int

func (r reached) count(format string, arguments ...any) { r[fmt.Sprintf(format, arguments...)]++ }

// floors is how often a test has to come to what, in an ordinary run.
type floors map[string]int

func (r reached) require(t *testing.T, floors floors) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(r)) {
		t.Logf("%8d  %s", r[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(floors)) {
		require.GreaterOrEqual(t, r[what], floors[what], "too rarely reached: %s", what)
	}
}
