package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

func settledScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read("f.yaml", []byte(settled+`
- {at: 5m, for: 1m, silence: {zone: a, share: 0.5}}
- {at: 6m, crash: {}}
- {at: 7m, brokenWatch: {kinds: [nodes]}}
expect: {evicted: {workloads: {web: 7}}}
`))
	require.NoError(t, err)
	return s
}

func TestSetChangesWhatItSays(t *testing.T) {
	for _, c := range []struct {
		assignment string
		got        func(s *scenario.Scenario) any
		want       any
	}{
		{"node-eviction-rate=1", func(s *scenario.Scenario) any { return s.Controller.Flags["node-eviction-rate"] },
			scenario.FlagValue("1")},
		{"controller.flags.kube-api-qps=5", func(s *scenario.Scenario) any { return s.Controller.Flags["kube-api-qps"] },
			scenario.FlagValue("5")},
		{"duration=2h", func(s *scenario.Scenario) any { return s.Duration.D() }, 2 * time.Hour},
		{" seed = 18446744073709551615", func(s *scenario.Scenario) any { return s.Seed }, ^uint64(0)},
		{"name=a=b", func(s *scenario.Scenario) any { return s.Name }, "a=b"},
		{"description=", func(s *scenario.Scenario) any { return s.Description }, ""},
		{"controller.replicas=3", func(s *scenario.Scenario) any { return s.Controller.Replicas }, 3},
		{"cluster.zones[1].nodes=11", func(s *scenario.Scenario) any { return s.Cluster.Zones[1].Nodes }, 11},
		{"cluster.apiLatency.max=1s", func(s *scenario.Scenario) any { return s.Cluster.APILatency.Max.D() }, time.Second},
		{"cluster.workloads[0].tolerationSeconds=0",
			func(s *scenario.Scenario) any { return *s.Cluster.Workloads[0].TolerationSeconds }, int64(0)},
		{"cluster.workloads[0].tolerateForever=true",
			func(s *scenario.Scenario) any { return s.Cluster.Workloads[0].TolerateForever }, true},
		{"script[0].silence.share=0.25", func(s *scenario.Scenario) any { return s.Script[0].Silence.Share }, 0.25},
		{"script[0].silence.rack=0", func(s *scenario.Scenario) any { return *s.Script[0].Silence.Rack }, 0},
		{"script[1].crash.replica=1", func(s *scenario.Scenario) any { return *s.Script[1].Crash.Replica }, 1},
		{"script[2].brokenWatch.kinds[0]=pods", func(s *scenario.Scenario) any { return s.Script[2].BrokenWatch.Kinds[0] },
			"pods"},
	} {
		t.Run(c.assignment, func(t *testing.T) {
			s := settledScenario(t)
			require.NoError(t, scenario.Set(s, c.assignment))
			require.Equal(t, c.want, c.got(s))
			require.NoError(t, s.Validate())
		})
	}
}

func TestSetSaysWhatExists(t *testing.T) {
	for assignment, want := range map[string]string{
		"node-eviction-rate": `"node-eviction-rate" is no assignment; write it like ` +
			`node-eviction-rate=1 or cluster.zones[0].nodes=10`,
		"=1": `"=1" is no assignment; write it like node-eviction-rate=1 or ` +
			`cluster.zones[0].nodes=10`,
		"node-evicton-rate=1": `node-evicton-rate=1: there is no flag or field node-evicton-rate; did ` +
			`you mean node-eviction-rate?`,
		"duratoin=1h": `duratoin=1h: there is no flag or field duratoin; did you mean duration?`,
		"speed-of-light=1": `speed-of-light=1: there is no flag or field speed-of-light; fields are ` +
			scenarioFields + `; flags are ` + everyFlag,
		"controller.flags.rate=1": `controller.flags.rate=1: there is no flag rate; flags are ` + everyFlag,
		"node-eviction-rate=fast": `node-eviction-rate=fast: "fast" is no value for this flag; want a number`,
		"duration=2":              `duration=2: 2 has no unit; write 2s if it is in seconds`,
		"controller.replicas=two": `controller.replicas=two: two is not a whole number`,
		"controller.replicas=0": `controller.replicas=0: 0 is the same as leaving it out, which means 1; ` +
			`give it another value`,
		"controller.replicas=9999999999999999999": `controller.replicas=9999999999999999999: 9999999999999999999 is out of ` +
			`range; want a whole number`,
		"controller.replica=2": `controller.replica=2: there is no field replica; did you ` +
			`mean replicas?`,
		"controller=2": `controller=2: it is not a single value; its fields are replicas, ` +
			`restartAfter, flags`,
		"controller.flags=2":    `controller.flags=2: it is not a single value; give the name of a flag`,
		"controller.flags[0]=2": `controller.flags[0]=2: the values of controller.flags are given in the file`,
		"expect.evicted.workloads.web=2": `expect.evicted.workloads.web=2: the values of expect.evicted.workloads are ` +
			`given in the file`,
		"cluster.zones=2": `cluster.zones=2: it is not a single value; cluster.zones has ` +
			`cluster.zones[0] to cluster.zones[2]`,
		"cluster.zones[3].nodes=2": `cluster.zones[3].nodes=2: there is no cluster.zones[3]; cluster.zones ` +
			`has cluster.zones[0] to cluster.zones[2]`,
		"cluster.zones[-1].nodes=2": `cluster.zones[-1].nodes=2: there is no cluster.zones[-1]; ` +
			`cluster.zones has cluster.zones[0] to cluster.zones[2]`,
		"cluster.zones[0.nodes=2": `cluster.zones[0.nodes=2: there is no cluster.zones[0; cluster.zones ` +
			`has cluster.zones[0] to cluster.zones[2]`,
		"cluster.zones.nodes=2": `cluster.zones.nodes=2: there is no cluster.zones.nodes; ` +
			`cluster.zones has cluster.zones[0] to cluster.zones[2]`,
		"cluster.zones[0].nodes.x=2": `cluster.zones[0].nodes.x=2: there is no ` +
			`cluster.zones[0].nodes.x; cluster.zones[0].nodes is a single value`,
		"cluster.zones[0]..nodes=2": `cluster.zones[0]..nodes=2: there is no field ""; ` +
			`fields are name, nodes, racks, groups`,
		"script[0].pressure.zone=a": `script[0].pressure.zone=a: the scenario has no script[0].pressure`,
		"script[0].silence.names[0]=a-1": `script[0].silence.names[0]=a-1: there is no ` +
			`script[0].silence.names[0]; script[0].silence.names is empty`,
		"script[0].pressure=a": `script[0].pressure=a: the scenario has no script[0].pressure`,
		"script[0].silence=a": `script[0].silence=a: it is not a single value; its fields are all, ` +
			`names, zone, rack, pool, count, share`,
		"duration.=1h": `duration.=1h: the name ends with a dot`,
		"[0]=a":        `[0]=a: there is no [0]; its fields are ` + scenarioFields,
		".name=a":      `.name=a: there is no field ""; fields are ` + scenarioFields,
	} {
		t.Run(assignment, func(t *testing.T) {
			s := settledScenario(t)
			require.EqualError(t, scenario.Set(s, assignment), want)
			require.Equal(t, settledScenario(t), s, "an error changes nothing")
		})
	}
}

// --compare sets different values in shallow copies of one scenario.
func TestSetDoesNotReachIntoCopies(t *testing.T) {
	s := settledScenario(t)
	require.NoError(t, scenario.Set(s, "node-eviction-rate=1"))
	other := *s
	for _, assignment := range []string{"node-eviction-rate=2", "cluster.zones[0].nodes=7", "script[0].silence.share=1"} {
		require.NoError(t, scenario.Set(&other, assignment))
	}
	require.Equal(t, scenario.FlagValue("1"), s.Controller.Flags["node-eviction-rate"])
	require.Equal(t, 20, s.Cluster.Zones[0].Nodes)
	require.Equal(t, 0.5, s.Script[0].Silence.Share)
}
