package rollout_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

var (
	seeds  = flag.Uint64("seeds", uint64(sized(100, 2000)), "how many random histories to run")
	first  = flag.Uint64("first", 1, "the seed of the first one")
	wanted = flag.String(
		"until",
		"",
		"stop at the first seed that violates this invariant, and say only which it is",
	)
)

// history is a small cluster with a controller, and what happens to it.
type history struct {
	*world
	judge     *judge
	process   *process
	config    rollout.Config
	faults    faults
	manner    manner
	revisions []rollout.Spec // of which template and revision count
	processes int
	calls     int
	happened  map[string]int
}

// play runs the history of a seed until it is over, or an invariant is
// violated.
func play(seed uint64, trace func(format string, args ...any)) *history {
	var w *world
	stamped := func(string, ...any) {}
	if trace != nil {
		stamped = func(format string, args ...any) {
			trace("%12s  %s", w.now.Sub(epoch),
				fmt.Sprintf(format, args...))
		}
	}
	w = &world{
		dice:    dice{rand.New(rand.NewPCG(seed, 5))},
		now:     epoch,
		targets: map[types.UID]string{},
		trace:   stamped,
	}
	h := &history{world: w, judge: &judge{world: w}, happened: map[string]int{}}
	w.watcher = func(event) {}
	h.setUp()
	h.start(0)
	w.watcher = func(e event) { h.process.hear(e) }
	for range 100 + h.IntN(200) {
		h.happen()
		w.run(w.now.Add(h.pause()), h.judge.going)
		if !h.judge.going() {
			return h
		}
	}
	h.end()
	return h
}

// pause is the time between two things that happen.
func (h *history) pause() time.Duration {
	switch n := h.IntN(100); {
	case n < 40:
		return h.between(0, 100*time.Millisecond)
	case n < 80:
		return h.between(0, 5*time.Second)
	case n < 98:
		return h.between(0, time.Minute)
	}
	return h.between(0, 40*time.Minute)
}

// end stops all that goes wrong, waits, and wants all to be well.
func (h *history) end() {
	h.trace("-------- all faults end")
	relist := h.faults.loseAny > 0
	h.endFaults()
	if relist {
		h.process.relist()
	}
	h.run(h.now.Add(2*time.Hour), h.judge.going)
	if !h.judge.going() {
		return
	}
	if since := h.now.Sub(h.judge.acted); since < 30*time.Minute {
		h.judge.violate(Converges, "after two hours of quiet something was done %s ago", since)
	}
	if h.calls > 4000 {
		h.judge.violate(Thrifty, "%d calls", h.calls)
	}
	h.judge.converged(h.process)
	h.judge.sameAsFull(h.process, true)
	h.judge.idle(h.process)
}

func (h *history) setUp() {
	for i := range 2 + h.IntN(7) {
		h.machines = append(h.machines, &machine{name: fmt.Sprintf("node-%d", i), mood: runs})
	}
	for _, m := range h.machines {
		if h.chance(70) {
			h.join(m, h.labels())
		}
	}
	for i := range 3 {
		template := &corev1.PodTemplateSpec{}
		template.Labels = map[string]string{"app": "agent"}
		template.Spec.Containers = []corev1.Container{{Name: "agent", Image: fmt.Sprintf("agent:%d", i)}}
		if h.chance(20) {
			template.Spec.NodeSelector = map[string]string{"role": "worker"}
		}
		if h.chance(20) {
			template.Spec.Tolerations = []corev1.Toleration{
				{Key: dedicated, Operator: corev1.TolerationOpExists},
			}
		}
		h.revisions = append(
			h.revisions,
			rollout.Spec{Template: template, Revision: fmt.Sprintf("rev%d", i)},
		)
	}
	h.config = rollout.Config{
		Spec: h.revisions[0], Burst: pick(h.dice, 1, 2, 4, 250),
		ExpectationTimeout: pick(h.dice, 5*time.Second, 30*time.Second),
	}
	h.config.Spec.Strategy = h.rollout()
	policy := drawn{canaries: h.chance(25), ignores: h.chance(30)}
	if h.chance(50) {
		policy.order = falling
	}
	h.config.Spec.Policy = policy
	switch h.IntN(4) {
	case 0:
		h.faults = faults{loseAny: 3, calls: pick(h.dice, 0, 10), slow: 10}
	case 1:
		h.faults = faults{loseOurs: pick(h.dice, 10, 50), calls: pick(h.dice, 0, 10), slow: 10}
	case 2:
		h.faults = faults{calls: 15, slow: 20}
	}
	h.manner = manner{inPlace: h.chance(30), lists: h.chance(25)}
	if h.chance(30) {
		h.faults.notNow = pick(h.dice, 10, 40)
	}
	if h.manner.lists { // from a cache, which is late, and loses nothing
		h.faults.loseAny, h.faults.loseOurs = 0, 0
	}
	h.judge.trace(
		"faults in percent: %+v; %+v; burst %d, expectations %s, canaries %v, ignores %v",
		h.faults,
		h.manner,
		h.config.Burst,
		h.config.ExpectationTimeout,
		policy.canaries,
		policy.ignores,
	)
}

// start starts another process, whose lists miss the latest events.
func (h *history) start(missing int) {
	if h.process != nil {
		h.process.dead = true
	}
	h.processes++
	h.judge.forget()
	h.judge.revision = h.config.Spec.Revision
	planner, err := rollout.NewPlanner(h.config, h.world.now)
	if err != nil {
		panic(err) // the histories make no configurations that are refused
	}
	h.process = &process{
		world: h.world, judge: h.judge, number: h.processes, planner: planner, config: h.config,
		knowledge: newKnowledge(), faults: &h.faults, manner: h.manner, calls: &h.calls,
	}
	h.trace(
		"-------- process %d starts, %d events behind, with %s",
		h.processes,
		missing,
		describe(&h.config.Spec),
	)
	h.process.begin(missing)
}

func describe(s *rollout.Spec) string {
	return fmt.Sprintf(
		"%s, %+v, minReady %s, selector %v, tolerates %v",
		s.Revision,
		s.Strategy,
		s.MinReady,
		s.Template.Spec.NodeSelector,
		len(s.Template.Spec.Tolerations) > 0,
	)
}

// finding is a seed that fails.
type finding struct {
	seed     uint64
	violated invariant
	why      string
	length   int // appointments
}

// explore runs seeds on all cores, and returns those that fail. It stops when
// done says that a finding is enough.
func explore(first, seeds uint64, done func(finding) bool) []finding {
	var next atomic.Uint64
	var stop atomic.Bool
	var mutex sync.Mutex
	var findings []finding
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := first + next.Add(1) - 1; seed < first+seeds &&
				!stop.Load(); seed = first + next.Add(1) - 1 {
				found, failed := try(seed)
				if !failed {
					continue
				}
				if done(found) {
					stop.Store(true)
				}
				mutex.Lock()
				findings = append(findings, found)
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	slices.SortFunc(findings, func(a, b finding) int { return cmp.Compare(a.seed, b.seed) })
	return findings
}

// try plays one history, now and then twice.
func try(seed uint64) (finding, bool) {
	h := play(seed, nil)
	if again := seed%20 == 0; again && h.judge.going() {
		if other := play(seed, nil); other.judge.hash != h.judge.hash {
			h.judge.violate(
				Deterministic,
				"two hashes of the steps: %x and %x",
				h.judge.hash,
				other.judge.hash,
			)
		}
	}
	return finding{
		seed:     seed,
		violated: h.judge.violated,
		why:      h.judge.why,
		length:   h.judge.made,
	}, h.judge.violated != ""
}

// TestRandomHistories runs histories in which everything goes wrong that can,
// and wants every invariant to hold at each step.
func TestRandomHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // much is made, and little kept
	if *wanted != "" {
		untilViolated(t, invariant(*wanted))
		return
	}
	findings := explore(*first, *seeds, func(finding) bool { return false })
	if len(findings) == 0 {
		return
	}
	counts := map[invariant]int{}
	for _, found := range findings {
		if counts[found.violated]++; counts[found.violated] <= 5 {
			t.Errorf("seed %d: %s: %s", found.seed, found.violated, found.why)
		}
	}
	shortest := slices.MinFunc(
		findings,
		func(a, b finding) int { return cmp.Compare(a.length, b.length) },
	)
	t.Errorf(
		"%d of %d histories violate %v. The shortest is seed %d:\n%s\n"+
			"Run it again with: go test ./daemon/rollout -run TestRandomHistories -args -first %d -seeds 1",
		len(findings),
		*seeds,
		counts,
		shortest.seed,
		retell(shortest.seed),
		shortest.seed,
	)
}

// retell returns the end of a history.
func retell(seed uint64) string {
	const most = 40
	var lines []string
	play(
		seed,
		func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
	)
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// untilViolated searches a seed that violates an invariant.
func untilViolated(t *testing.T, what invariant) {
	others := map[invariant]int{}
	for _, found := range explore(*first, *seeds, func(f finding) bool { return f.violated == what }) {
		if found.violated == what {
			fmt.Printf("FOUND %d\n", found.seed)
			t.Log("\n" + retell(found.seed))
			return
		}
		others[found.violated]++
	}
	t.Fatalf("%s holds in %d histories; violated are %v", what, *seeds, others)
}

func TestHistoriesReachEverything(t *testing.T) {
	happened := map[string]int{}
	for seed := range uint64(100) {
		h := play(seed+1, nil)
		for what, times := range h.happened {
			happened[what] += times
		}
	}
	for _, o := range occurrences {
		require.Greater(t, happened[o.name], 20, o.name)
	}
}
