package cases_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// Cases of more than manyNodes take seconds each, and run if
// LIFECYCLE_TESTS=all. The others run manySeeds then.
const (
	manyNodes = 500
	manySeeds = 20
)

// In each case what it expects comes out, and every invariant holds.
func TestWhatEachCaseExpectsComesOut(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := scenario.Read(file, text)
			require.NoError(t, err)
			require.Equal(t, file, s.Name+".yaml", "the file is named after its case")
			require.NotNil(t, s.Expect)
			runs := seeds.Sized(1, manySeeds)
			if nodes(s) > manyNodes {
				if !seeds.Full() {
					t.Skipf("%d nodes: LIFECYCLE_TESTS=all runs it", nodes(s))
				}
				runs = 1
			}
			for s.Seed = 1; s.Seed <= uint64(runs); s.Seed++ {
				play(t, s)
			}
		})
	}
}

func nodes(s *scenario.Scenario) (sum int) {
	for _, zone := range s.Cluster.Zones {
		sum += zone.Nodes
	}
	return sum
}

func play(t *testing.T, s *scenario.Scenario) {
	t.Helper()
	run, err := simulation.New(s)
	require.NoError(t, err)
	judge := run.Judge()
	recorder := report.Watch(run, nil)
	run.Run()
	judge.End()
	document := recorder.Document()
	document.Expectations = report.Expectations(s.Expect, &document.Summary)
	for _, e := range document.Unmet() {
		t.Errorf("seed %d: %s: expected %s, came out %s", s.Seed, e.Path, e.Want, e.Got)
	}
	for _, v := range judge.Violations() {
		t.Errorf("seed %d: %v %s: %s", s.Seed, v.At, v.Invariant, v.Text)
	}
}
