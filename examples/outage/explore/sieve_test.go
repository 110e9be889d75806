package explore

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// The patterns of Sieve (Sun et al., "Automatic Reliability Testing for Cluster
// Management Controllers", OSDI '22). Each perturbs what a controller sees or
// finishes, at one of its own writes, and what comes out must be the same.
//
//	go -C examples test ./outage/explore -run Sieve -v
//	LIFECYCLE_TESTS=all go -C examples test ./outage/explore -run Sieve -v
//	go -C examples test ./outage/explore -run Sieve -timeout 90m -args -calls 0
//
// The first tries a call of each scenario. The second tries 40, over eight
// seeds, and the third all calls of two seeds.

// pattern is what happens at a call.
type pattern string

const (
	// crashBefore: the process dies when the call would take effect, and it does
	// not.
	crashBefore pattern = "intermediate state, before"
	// crashAfter: it has taken effect, and the process dies before the answer.
	crashAfter pattern = "intermediate state, after"
	// staleView: all processes die. The next ones are shown the cluster as it was
	// up to half a minute before the call. For a minute they are shown all that
	// happens as late.
	staleView pattern = "stale view"
	// unobserved: while the watches of the process are broken the object of the
	// call changes and changes back.
	unobserved pattern = "unobserved change"
)

var patterns = []pattern{crashBefore, crashAfter, staleView, unobserved}

const (
	// sieveSeeds is over how many seeds of a scenario its calls are spread: one
	// run of rack-loss has 34.
	sieveSeeds = 8
	// completeSeeds is of how many seeds all calls are.
	completeSeeds = 2
)

var callsEach = flag.Int("calls", seeds.Sized(1, 40),
	"how many calls of each scenario to perturb; 0 perturbs all calls of two seeds")

// sievedEach is a flag, so that a run that is not the whole one can have all.
var sievedEach = flag.Int("sieved-each", seeds.Sized(4, 1), "sieve each which scenario; 1 is all of them")

// trial is one call of one run that is to be perturbed.
type trial struct {
	seed    uint64
	call    int // of the run's writes
	pattern pattern
	random  uint64
}

func (c trial) String() string { return fmt.Sprintf("seed %d, call %d, %s", c.seed, c.call, c.pattern) }

// At any write of the controller its process dies, starts from an old view or
// misses a change. The invariants hold, the outcome is that of the undisturbed
// run, and after a stated time there is quiet.
//
// No times are compared, because a perturbation delays. How fast nodes are
// tainted is left to the invariants, also in zone-share, which is about a rate.
// Two numbers are not compared when a silent kubelet was heard once:
// replacements that leave too, and pods that terminate. New pods are bound to
// its node meanwhile.
func TestSieveFindsNothing(t *testing.T) {
	each := *callsEach
	require.GreaterOrEqual(t, each, 0)
	for i, name := range scenarios.Names() {
		if i%*sievedEach != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			plain := make(map[uint64]*ran)
			for seed := uint64(1); seed <= sieveSeeds; seed++ {
				if share(each, seed) == 0 {
					continue
				}
				plain[seed] = sieve(name, seed, nil)
				require.NoError(t, plain[seed].err)
				require.Empty(t, plain[seed].violations, "seed %d without a perturbation", seed)
				require.NotEmpty(t, plain[seed].calls)
				t.Logf("seed %d: %d calls, the last %v after the last fault; %d nodes declared, %d tainted, %d pods evicted", seed,
					len(plain[seed].calls), plain[seed].lastCall,
					len(plain[seed].outcome["nodes declared"]), len(plain[seed].outcome["nodes tainted"]),
					len(plain[seed].outcome["pods evicted"]))
			}
			tried, reached := make(map[pattern]int), make(map[pattern]int)
			var latest time.Duration
			for _, done := range tryAll(name, plain, choose(plain, each)) {
				tried[done.trial.pattern]++
				latest = max(latest, done.lastCall)
				if done.reached {
					reached[done.trial.pattern]++
				}
				if text := done.unlike(plain[done.trial.seed]); text != "" {
					t.Errorf("%s, %v (%v): %s", name, done.trial, done.what, text)
				}
			}
			t.Logf("the last call %v after the last fault", latest)
			for _, p := range patterns {
				t.Logf("%-28s %4d calls tried, %4d reached", p, tried[p], reached[p])
				if p == staleView { // nothing may have changed since
					require.Greater(t, 2*reached[p], tried[p], p)
					continue
				}
				require.Equal(t, tried[p], reached[p], p)
			}
		})
	}
}

// A test that cannot fail proves nothing. A controller that does not come back
// taints nothing, and one that comes back late acts when there should be quiet.
func TestSieveSeesWhatComesOutOtherwise(t *testing.T) {
	plain := sieve("rack-loss", 1, nil)
	require.NoError(t, plain.err)
	first := &perturbation{trial: trial{seed: 1, pattern: crashAfter}, call: plain.calls[0]}
	after := func(d time.Duration) func(*scenario.Scenario) {
		return func(s *scenario.Scenario) { s.Controller.RestartAfter = scenario.Duration(d) }
	}
	never := sieve("rack-loss", 1, first, after(10*time.Hour))
	require.True(t, never.reached)
	text := never.unlike(plain)
	require.Contains(t, text, "at the end: nodes tainted: besides those of the undisturbed run [], missing [a-")
	require.Contains(t, text, "pods evicted: besides those of the undisturbed run [], missing [")

	again := *first
	again.reached, again.struck, again.target = false, false, nil
	late := sieve("rack-loss", 1, &again, after(25*time.Minute))
	require.Contains(t, late.unlike(plain), string(judge.Quiet))
}

// What a policy of a scenario prevents is seen in the outcome of what was made
// of it.
func TestSievedPoliciesDecide(t *testing.T) {
	for name, off := range map[string][]string{
		"storm-recovery":  {"min-healthy-share=0", "resume-healthy-share=0"},
		"zone-down-pause": {"pause-while-zone-down=false"},
	} {
		with := sieve(name, 1, nil)
		without := sieve(name, 1, nil, func(s *scenario.Scenario) {
			for _, setting := range off {
				require.NoError(t, scenario.Set(s, setting))
			}
		})
		for _, run := range []*ran{with, without} {
			require.NoError(t, run.err)
			require.Empty(t, run.violations)
		}
		require.Len(t, with.outcome["nodes tainted"], 2, name)
		require.Greater(t, len(without.outcome["nodes tainted"]), 2, name)
	}
}

// share returns how many calls of a seed to perturb, of so many of all seeds.
func share(each int, seed uint64) int {
	if each > 0 {
		return (each + int(seed) - 1) / sieveSeeds
	}
	if seed > completeSeeds {
		return 0
	}
	return math.MaxInt
}

// choose returns so many calls, all if it is zero, with each pattern. What
// writes nothing but the leader's lease is perturbed there.
func choose(plain map[uint64]*ran, each int) []trial {
	var all []trial
	for _, seed := range slices.Sorted(maps.Keys(plain)) {
		random := rand.New(rand.NewPCG(seed, 13))
		calls := random.Perm(len(plain[seed].calls))
		calls = calls[:min(len(calls), share(each, seed))]
		for _, call := range calls {
			for _, p := range patterns {
				all = append(all, trial{seed, call, p, random.Uint64()})
			}
		}
	}
	return all
}

// tryAll makes all trials on all cores.
func tryAll(name string, plain map[uint64]*ran, trials []trial) []*ran {
	runs := make([]*ran, len(trials))
	work := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range work {
				at := trials[i]
				runs[i] = sieve(name, at.seed, &perturbation{trial: at, call: plain[at.seed].calls[at.call]})
			}
		})
	}
	for i := range trials {
		work <- i
	}
	close(work)
	workers.Wait()
	return runs
}

// written is a write that a controller has sent.
type written struct {
	verb network.Verb
	kind network.Kind
	name string
	at   time.Duration
}

func (w written) String() string {
	return fmt.Sprintf("%s of %s %s at %v", w.verb, w.kind, w.name, w.at)
}
