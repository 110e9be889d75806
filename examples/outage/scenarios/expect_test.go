package scenarios_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var (
	many  = flag.Uint64("seeds", uint64(seeds.Sized(1, 50)), "how many seeds to run each scenario with")
	first = flag.Uint64("first", 1, "the first of them")
)

// What each scenario says must come out of it does, for every seed, and every
// invariant holds. The numbers follow from its flags and its script: the
// arithmetic is in its comments.
func TestWhatEachScenarioExpectsComesOut(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			require.NotNil(t, read(t, name).Expect, "every scenario says what must come out of it")
			for _, text := range unmet(t, name, *first, *many) {
				t.Error(text)
			}
		})
	}
}

// A test that cannot fail proves nothing: with a controller that taints one
// node a second, rack-loss is not what it expects.
func TestAnotherControllerIsNotWhatIsExpected(t *testing.T) {
	s := read(t, "rack-loss")
	require.NoError(t, scenario.Set(s, "node-eviction-rate=1"))
	texts, err := failures(s)
	require.NoError(t, err)
	require.Len(t, texts, 1)
	assert.Contains(t, texts[0], "rack-loss, seed 1: expect.departures[0].latest: expected 7m20s to 7m33s, came out 6m")
}

func read(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	s, err := scenarios.Read(name)
	require.NoError(t, err)
	return s
}

// unmet runs a scenario with many seeds on all cores and returns what came out
// otherwise.
func unmet(t *testing.T, name string, first, seeds uint64) []string {
	t.Helper()
	texts := make([][]string, seeds)
	work := make(chan uint64)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range work {
				s, err := scenarios.Read(name)
				if err == nil {
					s.Seed = first + i
					texts[i], err = failures(s)
				}
				if err != nil {
					texts[i] = []string{err.Error()}
				}
			}
		})
	}
	for i := range seeds {
		work <- i
	}
	close(work)
	workers.Wait()
	var all []string
	for _, some := range texts {
		all = append(all, some...)
	}
	return all
}

// failures plays a scenario and returns the expectations and the invariants
// that do not hold.
func failures(description *scenario.Scenario) ([]string, error) {
	s, err := simulation.New(description)
	if err != nil {
		return nil, err
	}
	judge := s.Judge()
	recorder := report.Watch(s, nil)
	s.Run()
	judge.End()
	document := recorder.Document()
	document.Expectations = report.Expectations(description.Expect, &document.Summary)
	var texts []string
	for _, e := range document.Unmet() {
		texts = append(texts,
			fmt.Sprintf("%s, seed %d: %s: expected %s, came out %s", description.Name, description.Seed, e.Path, e.Want, e.Got))
	}
	for _, v := range judge.Violations() {
		texts = append(texts,
			fmt.Sprintf("%s, seed %d: %v %s: %s", description.Name, description.Seed, v.At, v.Invariant, v.Text))
	}
	return texts, nil
}
