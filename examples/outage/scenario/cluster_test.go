package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// A file is read as it is; f.yaml is left out of what is wanted.
type badFile struct {
	name string
	file string
	want []string
}

func (c badFile) run(t *testing.T) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		want := make([]string, len(c.want))
		for i, line := range c.want {
			want[i] = "f.yaml:" + line
		}
		require.Equal(t, want, complaints(t, strings.TrimPrefix(c.file, "\n")))
	})
}

const scenarioFields = "name, description, duration, seed, cluster, controller, script, expect"

func TestAFileIsOneScenario(t *testing.T) {
	const empty = `1:1: the file is empty; a scenario has at least name, duration and cluster`
	for _, c := range []badFile{
		{"empty", "", []string{empty}},
		{"only a comment", "# nothing\n", []string{empty}},
		{"only a document's beginning", "---\n", []string{empty}},
		{"null", "null", []string{empty}},
		{"a list", "- 1", []string{
			`1:1: want fields (` + scenarioFields + `), not a list`}},
		{"a word", "storm", []string{
			`1:1: want fields (` + scenarioFields + `), not storm`}},
		{"too little", "name: x", []string{
			`1:1: duration: is missing`,
			`1:1: cluster: is missing`}},
		{"two documents", "name: x\n---\nname: y\n", []string{
			`2:1: there is a second document; a file holds one scenario`}},
		{"a second document that is no YAML", "name: x\n---\nname: [\n", []string{
			`3:1: this is no YAML: did not find expected node content`}},
		{"tabs", "name: x\nzones:\n\t- a\n", []string{
			`3:1: this is no YAML: found character that cannot start any token; indent with spaces, not with tabs`}},
		{"a colon too many", `
duration: 1h
cluster: {zones: [{name: a, nodes: 3}]}
script:
- at: 1m
  silence: {zone: a}
  for: 5m: 6m`, []string{
			`6:10: this is no YAML: mapping values are not allowed in this context`}},
		{"a line that is not indented enough", `
duration: 1h
cluster:
  zones: []
 workloads: []`, []string{
			`4:2: this is no YAML: did not find expected key`}},
		{"a bracket too few", "name: x\ncluster: {zones: [\n", []string{
			`2:1: this is no YAML: did not find expected node content`}},
		{"bytes that are no text", "name: x\ndescription: gr\xfc\xdf\n", []string{
			`2:16: this is no text in UTF-8`}},
	} {
		c.run(t)
	}
}

func TestAnErrorWithoutAFileNameSaysScenario(t *testing.T) {
	_, err := scenario.Read("", []byte("name: ["))
	require.EqualError(t, err, "scenario:1:1: this is no YAML: did not find expected node content")
}

func TestWhatFollowsFromAFaultIsNotReportedToo(t *testing.T) {
	for _, c := range []badFile{
		{"of zones", `
name: x
duration: 30m
cluster:
  zoens: [{name: a, nodes: 3}]
script:
- {at: 1m, silence: {zone: a}}`, []string{
			`4:3: cluster.zoens: there is no field zoens; did you mean zones?`}},
		{"of a zone's name", `
name: x
duration: 30m
cluster:
  zones: [{name: 1, nodes: 3}]
script:
- {at: 1m, silence: {zone: "1"}}`, []string{
			`4:18: cluster.zones[0].name: want a string; write "1", in quotes`}},
		{"of the duration", `
name: x
duration: long
cluster:
  zones: [{name: a, nodes: 3}]
script:
- {at: 1m, silence: {zone: a}}`, []string{
			`2:11: duration: "long" is no duration; write it like 90s, 5m or 1h30m`}},
		{"of the replicas", `
name: x
duration: 30m
cluster:
  zones: [{name: a, nodes: 3}]
controller: {replicas: two}
script:
- {at: 1m, splitBrain: {}}
- {at: 1m, crash: {replica: 1}}`, []string{
			`5:24: controller.replicas: want a whole number, not two`}},
		{"of workloads", `
name: x
duration: 30m
cluster:
  zones: [{name: a, nodes: 3}]
  workloads: [{name: [web], replicas: 3}]
script:
- {at: 1m, deletePods: {workload: web}}`, []string{
			`5:22: cluster.workloads[0].name: want a single value, not a list`}},
		{"but nothing else is hidden that only begins alike", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
script:
- at: 1m
  delete: a
  deletePods: {workload: web}`, []string{
			`6:3: script[0]: has 2 faults, delete and deletePods; make a step of each`,
			`7:11: script[0].delete: want fields (all, names, zone, rack, pool, count, share), not a`,
			`8:26: script[0].deletePods.workload: there is no workload web; there are none`}},
		{"but nothing else is hidden", `
name: x
duration: long
cluster:
  zones: [{name: a, nodes: 3}]
script:
- {at: 1m, silence: {zone: b}, for: -1s}
- {at: soon}`, []string{
			`2:11: duration: "long" is no duration; write it like 90s, 5m or 1h30m`,
			`6:28: script[0].silence.zone: there is no zone b; zones are a`,
			`6:37: script[0].for: is -1s; time does not run backwards`,
			`7:3: script[1]: nothing happens; give it one of ` + everyFault,
			`7:8: script[1].at: "soon" is no duration; write it like 90s, 5m or 1h30m`}},
	} {
		c.run(t)
	}
}

func TestTheWholeIsPossible(t *testing.T) {
	const cluster = "\ncluster: {zones: [{name: a, nodes: 3}]}"
	for _, c := range []badFile{
		{"names", "name: ' '\nduration: 1h" + cluster, []string{
			`1:7: name: is empty; give it a name`}},
		{"names of two lines", "name: \"a\\nb\"\nduration: 1h" + cluster, []string{
			`1:7: name: "a\nb" holds what cannot be shown in one line`}},
		{"no time", "name: x\nduration: 0s" + cluster, []string{
			`2:11: duration: is 0s; say how much time passes, as in 30m`}},
		{"negative time", "name: x\nduration: -5m" + cluster, []string{
			`2:11: duration: is -5m; say how much time passes, as in 30m`}},
		{"too much time", "name: x\nduration: 720h1s" + cluster, []string{
			`2:11: duration: is 720h0m1s; at most 720h`}},
		{"a negative seed", "name: x\nduration: 1h\nseed: -1" + cluster, []string{
			`3:7: seed: -1 is not a whole number from 0`}},
		{"a seed that is too large", "name: x\nduration: 1h\nseed: 18446744073709551616" + cluster, []string{
			`3:7: seed: want a whole number from 0, not 18446744073709551616`}},
		{"a field of another name", "name: x\nduration: 1h\nseeds: 1" + cluster, []string{
			`3:1: seeds: there is no field seeds; did you mean seed?`}},
		{"a field in capitals", "name: x\nDuration: 1h" + cluster, []string{
			`2:1: Duration: there is no field Duration; did you mean duration?`}},
	} {
		c.run(t)
	}
}

func TestTheClusterIsPossible(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, c := range []badFile{
		{"no zones", `
name: x
duration: 1h
cluster: {zones: []}`, []string{
			`3:11: cluster.zones: there is none; a cluster has at least one zone with a node`}},
		{"zones", `
name: x
duration: 1h
cluster:
  zones:
  - {name: a, nodes: 0}
  - {name: a, nodes: -1}
  - {name: A, nodes: 1}
  - {name: "", nodes: 1}
  - {name: ` + long + `, nodes: 1}
  - {name: b, nodes: 3, racks: 4}
  - {name: c, nodes: 3, racks: 0}
  - {name: d, nodes: 3, racks: -1}
  - {}`, []string{
			`5:22: cluster.zones[0].nodes: is 0; a zone has at least one node`,
			`6:12: cluster.zones[1].name: cluster.zones[0] has this name already`,
			`6:22: cluster.zones[1].nodes: is -1; a zone has at least one node`,
			`7:12: cluster.zones[2].name: A is no DNS label: at most 63 lower-case letters, digits and dashes, no dash first ` +
				`or last`,
			`8:12: cluster.zones[3].name: is empty; give it a name`,
			`9:12: cluster.zones[4].name: ` + long +
				` is no DNS label: at most 63 lower-case letters, digits and dashes, no dash first or last`,
			`10:32: cluster.zones[5].racks: is 4, but the zone has 3 nodes; some racks would be empty`,
			`11:32: cluster.zones[6].racks: 0 is the same as leaving it out, which means 1; leave it out or give it another ` +
				`value`,
			`12:32: cluster.zones[7].racks: is -1; want at least 1`,
			`13:5: cluster.zones[8].name: is missing`,
			`13:5: cluster.zones[8].nodes: is missing`}},
		{"too many nodes", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 60000}, {name: b, nodes: 40001}]`, []string{
			`4:3: cluster.zones: have more than 100000 nodes together`}},
		{"workloads", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
  workloads:
  - {name: web}
  - {name: web, replicas: 3}
  - {name: a b, replicas: -3}
  - {name: c, kind: daemonset}
  - {name: d, kind: Job, replicas: 1}
  - {name: e, kind: DaemonSet, replicas: 3, tolerationSeconds: 5}
  - {name: f, replicas: 3, tolerationSeconds: 0, tolerateForever: true}
  - {name: g, replicas: 3, tolerationSeconds: -1}
  - {name: h, kind: StatefulSet}
  - {name: i, kind: DaemonSet, everyTaint: true}
  - {name: j, replicas: 1, tolerateForever: true, everyTaint: true}
  - {name: k, replicas: 1, minAvailable: -1, priority: 2000001001}
  - {name: l, replicas: 1, minAvailable: 0}`, []string{
			`6:5: cluster.workloads[0].replicas: is 0; say how many pods the workload has`,
			`7:12: cluster.workloads[1].name: cluster.workloads[0] has this name already`,
			`8:12: cluster.workloads[2].name: "a b" is no DNS label: at most 63 lower-case letters, digits and dashes, no ` +
				`dash first or last`,
			`8:27: cluster.workloads[2].replicas: is -3; say how many pods the workload has`,
			`9:21: cluster.workloads[3].kind: there is no kind daemonset; did you mean DaemonSet?`,
			`10:21: cluster.workloads[4].kind: there is no kind Job; kinds are Deployment, StatefulSet, DaemonSet, Bare`,
			`11:42: cluster.workloads[5].replicas: a DaemonSet has a pod on each node; leave out replicas`,
			`11:64: cluster.workloads[5].tolerationSeconds: the pods of a DaemonSet tolerate for ever; leave it out`,
			`12:47: cluster.workloads[6].tolerationSeconds: contradicts tolerateForever; leave out one of them`,
			`13:47: cluster.workloads[7].tolerationSeconds: is -1; 0 is at once`,
			`14:5: cluster.workloads[8].replicas: is 0; say how many pods the workload has`,
			`15:44: cluster.workloads[9].everyTaint: the pods of a DaemonSet tolerate that their node is ill, and no more; ` +
				`leave it out`,
			`16:63: cluster.workloads[10].everyTaint: contradicts tolerateForever; leave out one of them`,
			`17:42: cluster.workloads[11].minAvailable: is -1; say how many pods have to be left`,
			`17:56: cluster.workloads[11].priority: is 2000001001; at most 2000001000, above zero or below`,
			`18:42: cluster.workloads[12].minAvailable: 0 is the same as leaving it out, which means no PodDisruptionBudget; ` +
				`leave it out or give it another value`}},
		{"too many pods, those of DaemonSets among them", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 1001}]
  workloads:
  - {name: web, replicas: 1999000}
  - {name: agent, kind: DaemonSet}`, []string{
			`5:3: cluster.workloads: have more than 2000000 pods together`}},
		{"times", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
  beatInterval: 99ms
  statusInterval: 721h
  apiLatency: {min: 2s, max: 1s}
  watchDelay: {min: -1s, max: 721h}
controller: {replicas: -1, restartAfter: -5s}`, []string{
			`5:17: cluster.beatInterval: is 99ms; want at least 100ms`,
			`6:19: cluster.statusInterval: is 721h; at most 720h`,
			`7:3: cluster.apiLatency: min is 2s and max is 1s; the lesser comes first`,
			`8:21: cluster.watchDelay.min: is -1s; time does not run backwards`,
			`8:31: cluster.watchDelay.max: is 721h; at most 720h`,
			`9:24: controller.replicas: is -1; want at least 1`,
			`9:42: controller.restartAfter: is -5s; time does not run backwards`}},
		{"zeros that are defaults", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
  beatInterval: 0s
  statusInterval: 0s
  apiLatency: {min: 0s, max: 0s}
  watchDelay: {min: 0s, max: 0s}
controller: {replicas: 0, restartAfter: 0s}`, []string{
			`5:17: cluster.beatInterval: 0s is the same as leaving it out, which means 10s; leave it out or give it another ` +
				`value`,
			`6:19: cluster.statusInterval: 0s is the same as leaving it out, which means 5m; leave it out or give it another ` +
				`value`,
			`7:15: cluster.apiLatency: no time at all is the same as leaving it out, which means 2ms to 20ms; leave it out or ` +
				`give it another value`,
			`8:15: cluster.watchDelay: no time at all is the same as leaving it out, which means 1ms to 50ms; leave it out or ` +
				`give it another value`,
			`9:24: controller.replicas: 0 is the same as leaving it out, which means 1; leave it out or give it another value`,
			`9:41: controller.restartAfter: 0s is the same as leaving it out, which means 5s; leave it out or give it another ` +
				`value`}},
		{"nothing where fields belong", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
controller:
script:
- {at: 1m, splitBrain: {}}
- {at: 1m, crash: {replica: 1}}`, []string{
			`5:12: controller: has no value; for the default write controller: {}`}},
		{"too many replicas", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
controller: {replicas: 101}`, []string{
			`5:24: controller.replicas: is 101; at most 100`}},
		{"one replica where two are needed", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
script:
- {at: 1m, splitBrain: {}}
- {at: 1m, pause: {replica: 1}}`, []string{
			`6:12: script[0].splitBrain: there is one replica; set controller.replicas to 2 or more`,
			`7:29: script[1].pause.replica: there is no replica 1; controller.replicas is 1, counted from 0`}},
	} {
		c.run(t)
	}
}

// Values of any size must not overflow into something that looks possible.
func TestSumsDoNotOverflow(t *testing.T) {
	const most = int(^uint(0) >> 1)
	s := small()
	s.Cluster.Zones = []scenario.Zone{{Name: "a", Nodes: most}, {Name: "b", Nodes: most}, {Name: "c", Nodes: 2}}
	s.Cluster.Workloads = []scenario.Workload{
		{Name: "a", Replicas: most}, {Name: "b", Replicas: most}, {Name: "c", Replicas: 2},
	}
	require.EqualError(t, s.Validate(), "cluster.zones: have more than 100000 nodes together\n"+
		"cluster.workloads: have more than 2000000 pods together")
}

func TestValidateSaysWhereInTheScenario(t *testing.T) {
	s := small()
	s.Duration = -1
	s.Script = []scenario.Step{{Silence: &scenario.Nodes{Zone: "nowhere"}}}
	err := s.Validate()
	require.EqualError(t, err, "duration: is -1ns; say how much time passes, as in 30m\n"+
		"script[0].silence.zone: there is no zone nowhere; zones are a")
	var p scenario.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, scenario.Problem{Path: "duration", Message: "is -1ns; say how much time passes, as in 30m"}, p)
}

func TestTextThatCannotBeWrittenIsInvalid(t *testing.T) {
	s := small()
	s.Name, s.Description = "a\xff", "b\xff"
	require.EqualError(t, s.Validate(), `name: "a\xff" holds what cannot be shown in one line`+
		"\ndescription: is no text in UTF-8")
	_, err := scenario.Write(s)
	require.ErrorContains(t, err, "the scenario cannot be written: name: ")
}

func TestLongListsAreCutShort(t *testing.T) {
	s := small()
	for i := range 40 {
		s.Cluster.Zones = append(s.Cluster.Zones, scenario.Zone{Name: fmt.Sprintf("zone-%02d", i), Nodes: 1})
	}
	s.Script = []scenario.Step{{Silence: &scenario.Nodes{Zone: "elsewhere"}}}
	require.ErrorContains(t, s.Validate(), "zone-37, zone-38 and 1 more")
}

// small is a valid scenario.
func small() *scenario.Scenario {
	return &scenario.Scenario{
		Name: "small", Duration: scenario.Duration(3600e9),
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3}}},
	}
}
