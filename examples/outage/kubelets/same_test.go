package kubelets_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/explore"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// tolerance is how many seconds a time may be outside of that. A deletion ends
// at a kubelet's next turn, and an owner replaces a pod up to half a second
// later.
const tolerance = 1.0

// leftOut are the cases that are not played here, with the reason. A comparison
// takes minutes of CPU for each: 25 runs, and one with these kubelets takes up
// to a minute. Package doc names them too.
var leftOut = map[string]string{
	"flapping-nodes": "600 nodes, 25 of which change twice in 2 s",
	"flapping-zone":  "600 nodes, 300 of which change twice in 12 s",
	"silent-cluster": "3,000 nodes",
	"silent-zone":    "3,000 nodes",
	"stale-leases":   "4,500 nodes",
}

// shipped returns the scenarios that ship, and the cases that are not left out.
func shipped(t *testing.T) []*scenario.Scenario {
	t.Helper()
	var all []*scenario.Scenario
	for _, name := range scenarios.Names() {
		s, err := scenarios.Read(name)
		require.NoError(t, err)
		all = append(all, s)
	}
	files, err := filepath.Glob("../cases/*.yaml")
	require.NoError(t, err)
	left := maps.Clone(leftOut)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if left[name] != "" {
			delete(left, name)
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := scenario.Read(file, text)
		require.NoError(t, err)
		all = append(all, s)
	}
	require.Empty(t, left, "there is no such case")
	return all
}

// What users see is the same with either kind of kubelets. With those of
// hollownode what each scenario expects comes out, and every invariant holds.
// Every figure is as with the model's own kubelets and some seed.
func TestTheSameComesOutWithTheKubeletsOfHollownode(t *testing.T) {
	all := shipped(t)
	require.Greater(t, len(all), 15)
	few := []string{"rack-loss", "late-watch"}
	for _, s := range all {
		if !seeds.Full() && !slices.Contains(few, s.Name) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			spans := map[string]*span{}
			// What comes out of many seeds spans what may come out. Few do not suffice:
			// a first pod leaves ten or a hundred seconds later if the first node has
			// none of its kind.
			for seed := range uint64(seeds.Sized(8, 24)) {
				for name, value := range withRules(t, s, seed+1) {
					if spans[name] == nil {
						spans[name] = &span{value, value, 0}
					}
					spans[name].add(value)
				}
			}
			for name, value := range withHollownode(t, s, 1) {
				within := spans[name]
				if assert.NotNil(t, within, "%s is %v, and not there with the model's own kubelets", name, value) {
					assert.True(t, within.has(name, value), "%s is %v, and %v to %v with the model's own kubelets", name, value,
						within.least, within.most)
				}
			}
		})
	}
}

// span is what has come out of several seeds.
type span struct {
	least, most float64
	seen        int
}

func (s *span) add(value float64) {
	s.least, s.most, s.seen = min(s.least, value), max(s.most, value), s.seen+1
}

// has reports whether a value may come out of another seed. A few of them do
// not reach the ends, so it may lie outside by as much as they are apart. What
// is always the same must be so.
func (s *span) has(name string, value float64) bool {
	slack := s.most - s.least
	if name[0] == timed {
		slack += tolerance
	}
	return value >= s.least-slack && value <= s.most+slack
}

// timed begins the names of figures in seconds, counted those of others.
const (
	timed   = 't'
	counted = 'n'
)

// newRun returns a run of a scenario, which has that seed then.
func newRun(t *testing.T, s *scenario.Scenario, seed uint64) *simulation.Simulation {
	t.Helper()
	s.Seed = seed
	run, err := simulation.New(s)
	require.NoError(t, err)
	return run
}

// withRules plays a scenario with the model's own kubelets. Whether invariants
// hold with them is for other tests.
func withRules(t *testing.T, given *scenario.Scenario, seed uint64) map[string]float64 {
	t.Helper()
	s := given.Clone()
	return play(t, s, newRun(t, s, seed))
}

// withHollownode plays a scenario with the kubelets of hollownode. Every
// invariant must hold.
func withHollownode(t *testing.T, given *scenario.Scenario, seed uint64) map[string]float64 {
	t.Helper()
	s := given.Clone()
	s.Cluster.Kubelets = true
	run := newRun(t, s, seed)
	judge := run.Judge()
	seen := play(t, s, run)
	judge.End()
	for _, v := range judge.Violations() {
		t.Errorf("seed %d: %v %s: %s", seed, v.At, v.Invariant, v.Text)
	}
	return seen
}

// play plays a run of a scenario and returns what users see of it. What the
// scenario expects must come out.
func play(t *testing.T, s *scenario.Scenario, run *simulation.Simulation) map[string]float64 {
	t.Helper()
	recorder := report.Watch(run, nil)
	run.Run()
	document := recorder.Document()
	document.Expectations = report.Expectations(s.Expect, &document.Summary)
	for _, e := range document.Unmet() {
		t.Errorf("seed %d, kubelets %v: %s: expected %s, came out %s", s.Seed, s.Cluster.Kubelets, e.Path, e.Want, e.Got)
	}
	return figures(&document.Summary)
}

// figures are what users see: nodes declared and tainted, pods evicted, and
// when.
func figures(s *report.Summary) map[string]float64 {
	f := map[string]float64{}
	count := func(value int, format string, args ...any) {
		f[string(counted)+" "+fmt.Sprintf(format, args...)] = float64(value)
	}
	seconds := func(value report.Seconds, format string, args ...any) {
		f[string(timed)+" "+fmt.Sprintf(format, args...)] = value.D().Seconds()
	}
	for _, z := range append(slices.Clone(s.Zones), s.Cluster) {
		count(z.DeclaredLiving.Times, "living nodes declared in %q", z.Name)
		count(z.DeclaredDead.Nodes, "dead nodes declared in %q", z.Name)
		count(z.Tainted.Nodes, "nodes tainted in %q", z.Name)
		count(z.Tainted.Times, "taints in %q", z.Name)
		count(z.Pods.Evicted, "pods evicted in %q", z.Name)
		if z.Drain != nil {
			seconds(z.Drain.First, "first pod evicted in %q", z.Name)
			seconds(z.Drain.Last, "last pod evicted in %q", z.Name)
		}
	}
	for _, w := range s.Workloads {
		count(w.Evicted, "pods evicted of %s", w.Name)
	}
	for _, d := range s.Departures {
		count(d.Pods, "pods that left by step %d of %s", d.Step, d.Workload)
		seconds(d.Earliest, "first pod that left by step %d of %s", d.Step, d.Workload)
		seconds(d.Latest, "last pod that left by step %d of %s", d.Step, d.Workload)
	}
	return f
}

// The same seed gives the same history, to the version of each object.
func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	for seed := range uint64(seeds.Sized(1, 20)) {
		once, again := history(t, seed), history(t, seed)
		require.Equal(t, once, again, "seed %d", seed)
	}
	require.NotEqual(t, history(t, 1), history(t, 2))
}

// history returns a hash of all that came of a random world, and of what is
// left of it.
func history(t *testing.T, seed uint64) string {
	t.Helper()
	s := explore.Generate(seed)
	s.Cluster.Kubelets = true
	run, err := simulation.New(s)
	require.NoError(t, err)
	recorder := report.Watch(run, nil)
	run.Run()
	text, err := json.Marshal([]any{recorder.Document(), run.World().Nodes(), run.World().Pods()})
	require.NoError(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
