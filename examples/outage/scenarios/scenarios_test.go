package scenarios_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
)

func TestAllAreThere(t *testing.T) {
	require.Equal(t, []string{
		"control-plane-pause", "flapping-pool", "mass-silence", "rack-loss",
		"restart-in-mid-storm", "slow-recovery", "stale-watch", "storm-recovery",
		"whole-cluster-silence", "zone-down-pause", "zone-drain", "zone-loss", "zone-share",
	}, scenarios.Names())
}

func TestEachIsWorthWatching(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			s, err := scenarios.Read(name)
			require.NoError(t, err)
			require.Equal(t, name, s.Name, "the file is named after its scenario")
			require.Contains(t, s.Description, "What to watch for: ")
			require.Contains(t, s.Description, "kube-controller-manager v1.37")
			require.NotContains(t, s.Description, "\t")
			for line := range strings.Lines(s.Description) {
				require.LessOrEqual(t, len(line), 81, "too long for a terminal: %s", line)
			}

			require.GreaterOrEqual(t, s.Duration.D(), 20*time.Minute)
			require.LessOrEqual(t, s.Duration.D(), time.Hour)
			require.Len(t, s.Cluster.Zones, 3)
			nodes := 0
			for _, z := range s.Cluster.Zones {
				nodes += z.Nodes
			}
			require.GreaterOrEqual(t, nodes, 100)
			require.LessOrEqual(t, nodes, 300)
			kinds := map[string]bool{}
			for _, w := range s.Cluster.Workloads {
				kinds[w.Kind] = true
			}
			require.Equal(t, map[string]bool{scenario.Deployment: true, scenario.StatefulSet: true, scenario.DaemonSet: true},
				kinds)

			require.NotEmpty(t, s.Script)
			for _, step := range s.Script {
				last := max(step.At, step.At+step.For+step.RecoverOver)
				require.LessOrEqual(t, last.D()+5*time.Minute, s.Duration.D(), "too little time to see what %v leads to", &step)
			}
		})
	}
}

func TestEachCanBeWritten(t *testing.T) {
	for _, name := range scenarios.Names() {
		s, err := scenarios.Read(name)
		require.NoError(t, err)
		text, err := scenario.Write(s)
		require.NoError(t, err)
		back, err := scenario.Read(name, text)
		require.NoError(t, err)
		require.Equal(t, s, back)
		require.Contains(t, string(text), "\ndescription: |\n", "a description stays legible")
	}
}

func TestAnUnknownOneIsAnErrorThatNamesThose(t *testing.T) {
	for _, name := range []string{"storm", "", "..", "../scenario/doc", "zone-loss.yaml"} {
		_, err := scenarios.Read(name)
		require.ErrorContains(t, err, "scenarios are control-plane-pause, flapping-pool, mass-silence, rack-loss, ")
	}
}
