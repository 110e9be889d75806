package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A comparison is one piece of work, done by both sides.
type comparison struct {
	name string
	// of says what there are sizes of. The work is compared at each size.
	of    string
	sizes []int
	// ours and upstream set the work up for a size. Nil means that a side has no
	// such work.
	ours, upstream func(tb testing.TB, size int) work
}

// work is one side's half of a comparison, ready to run. It fails when the
// result is not the one that both sides must come to.
type work struct {
	op func()
	// prepare, if not nil, is called before each op, off the clock.
	prepare func()
	// report, if not nil, adds metrics of its own.
	report func(b *testing.B)
}

// run measures comparisons. The sides take turns, so that they see the same
// load.
func run(b *testing.B, comparisons []comparison) {
	for _, c := range comparisons {
		for _, size := range c.sizes {
			for _, side := range c.sides() {
				b.Run(fmt.Sprintf("%s/%s/%s=%d", c.name, side.name, c.of, size), func(b *testing.B) {
					measure(b, side.setUp(b, size))
				})
			}
		}
	}
}

type side struct {
	name  string
	setUp func(testing.TB, int) work
}

// sides returns the sides that have the work.
func (c comparison) sides() []side {
	all := []side{{"ours", c.ours}, {"upstream", c.upstream}}
	if c.upstream == nil {
		return all[:1]
	}
	return all
}

// measure runs work, and adds to time and allocations the CPU time of the whole
// process. On a machine with other work it says more than the time that has
// passed, and it counts all threads and the garbage collector.
func measure(b *testing.B, w work) {
	b.ReportAllocs()
	runtime.GC() // what the setting up has left behind
	var used time.Duration
	if w.prepare == nil {
		started := cpuTime()
		for b.Loop() {
			w.op()
		}
		used = cpuTime() - started
	} else {
		for b.Loop() {
			b.StopTimer()
			w.prepare()
			b.StartTimer()
			used += w.timed(1)
		}
	}
	if w.report != nil {
		w.report(b)
		return
	}
	// On a busy machine b.Loop ends after little CPU time. So little is measured
	// badly, because the kernel counts running threads only now and then.
	ops := b.N
	for enough := benchtime(); used < enough; {
		n := 1
		if w.prepare == nil {
			n += b.N / 10
		} else {
			w.prepare()
		}
		used += w.timed(n)
		ops += n
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(ops), "cpu-ns/op")
}

// timed returns the CPU time of n ops.
func (w work) timed(n int) time.Duration {
	started := cpuTime()
	for range n {
		w.op()
	}
	return cpuTime() - started
}

// benchtime returns -benchtime, or 0 if that is a number of runs.
func benchtime() time.Duration {
	d, err := time.ParseDuration(flag.Lookup("test.benchtime").Value.String())
	if err != nil {
		return 0
	}
	return d
}

// groups is all that is measured, by the benchmark that measures it.
var groups = map[string]func() []comparison{
	"Queue":    queueComparisons,
	"Taints":   taintComparisons,
	"Zone":     zoneComparisons,
	"Health":   healthComparisons,
	"Eviction": evictionComparisons,
	"Daemon":   daemonComparisons,
	"ManySets": manySetsComparisons,
}

func BenchmarkQueue(b *testing.B)    { run(b, queueComparisons()) }
func BenchmarkTaints(b *testing.B)   { run(b, taintComparisons()) }
func BenchmarkZone(b *testing.B)     { run(b, zoneComparisons()) }
func BenchmarkHealth(b *testing.B)   { run(b, healthComparisons()) }
func BenchmarkEviction(b *testing.B) { run(b, evictionComparisons()) }
func BenchmarkDaemon(b *testing.B)   { run(b, daemonComparisons()) }
func BenchmarkManySets(b *testing.B) { run(b, manySetsComparisons()) }

// smallest is enough of everything for each side to do its work. Taints have no
// size that matters.
const smallest = 70

// TestBothSidesDoTheWork runs each benchmark a few times at a small size. The
// work checks its own results.
func TestBothSidesDoTheWork(t *testing.T) {
	for group, comparisons := range groups {
		for _, c := range comparisons() {
			for _, side := range c.sides() {
				t.Run(group+"/"+c.name+"/"+side.name, func(t *testing.T) {
					w := side.setUp(t, smallest)
					for range 3 {
						if w.prepare != nil {
							w.prepare()
						}
						w.op()
					}
				})
			}
		}
	}
}

// TestMain prints, with the benchmarks, what they were compared with and how
// busy the machine was, in the form that Go's benchmark tools read.
func TestMain(m *testing.M) {
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
		os.Exit(m.Run())
	}
	fmt.Printf("upstream: %s\n", upstreamVersion())
	fmt.Printf("load-before: %s\n", sidebyside.LoadAverage())
	code := m.Run()
	fmt.Printf("load-after: %s\n", sidebyside.LoadAverage())
	os.Exit(code)
}

// upstreamVersion reads go.mod, because a test binary does not know its
// modules.
func upstreamVersion() string {
	requirements, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(requirements)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "k8s.io/kubernetes" {
			return words[1]
		}
	}
	return "unknown"
}

// locked returns what locks one of our cores: a Dispatcher that does not run.
// Its Update does all that it does in a program, except the switch to the
// goroutine that it wakes.
func locked[T, R any](tb testing.TB, core timedqueue.Core[T, R]) *timedqueue.Dispatcher {
	tb.Helper()
	act := func(context.Context, T) (result R) { return result }
	return lockedJobs(tb, timedqueue.Jobs(core, act))
}

// lockedJobs is locked for several cores.
func lockedJobs(tb testing.TB, jobs timedqueue.Source[timedqueue.Job]) *timedqueue.Dispatcher {
	tb.Helper()
	dispatcher, err := timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	return dispatcher
}

// unexpected is an action that is not to be performed.
func unexpected[T, R any](_ context.Context, task T) R {
	panic(fmt.Sprintf("%T is to be performed", task))
}

// names returns n names of the same length.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%07d", prefix, i)
	}
	return all
}

// epoch is the same for every object that is made, so that both sides see equal
// ones.
var epoch = time.Now().Truncate(time.Second)
