package scenario_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// grouped is a zone of two pools and two racks, and a workload on them.
const grouped = `name: x
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 5
    groups:
    - {name: a-main-r1, nodes: 2, pool: main, rack: r1}
    - {name: a-main-r2, nodes: 2, pool: main, rack: r2}
    - name: a-gpu-r1
      nodes: 1
      pool: gpu
      rack: r1
      cordoned: true
      taints: [{key: example.com/gpu, value: "yes", effect: NoSchedule}]
  workloads:
  - name: train
    replicas: 3
    tolerations: [{key: example.com/gpu, operator: Exists}]
    placed: {a-gpu-r1: 1, a-main-r2: 2}
    pools: [gpu, main]
  - {name: node-agent, kind: DaemonSet, placed: {a-gpu-r1: 1}, priority: 2000001000}
script:
- {at: 1m, silence: {zone: a, rack: 0, count: 3}}
- {at: 2m, silence: {pool: gpu}}
- {at: 3m, silence: {names: [a-4], pool: gpu, rack: 0}}
`

func TestGroupsAreRead(t *testing.T) {
	s, err := scenario.Read("f.yaml", []byte(grouped))
	require.NoError(t, err)
	zone := s.Cluster.Zones[0]
	require.Equal(t, []string{"r1", "r2"}, zone.RackNames())
	var racks []int
	var pools []string
	for i := range zone.Nodes {
		name := []string{fmt.Sprintf("a-%d", i)}
		for rack := range zone.RackNames() {
			if s.Cluster.Matching(&scenario.Nodes{Names: name, Rack: &rack}) == 1 {
				racks = append(racks, rack)
			}
		}
		for _, pool := range []string{"main", "gpu"} {
			if s.Cluster.Matching(&scenario.Nodes{Names: name, Pool: pool}) == 1 {
				pools = append(pools, pool)
			}
		}
	}
	require.Equal(t, []int{0, 0, 1, 1, 0}, racks)
	require.Equal(t, []string{"main", "main", "main", "main", "gpu"}, pools)
	text, err := scenario.Write(s)
	require.NoError(t, err)
	require.Contains(t, string(text), "- {name: a-main-r1, nodes: 2, pool: main, rack: r1}\n")
}

func TestWhatIsWrongWithGroups(t *testing.T) {
	for _, c := range []badFile{
		{"the groups themselves", `
name: x
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 2
    groups:
    - {name: g, nodes: 1, pool: a b}
    - {name: g, nodes: 0, rack: "-"}
    - {name: G, nodes: 1, cordned: true}
  - name: b
    nodes: 1
    groups:
    - name: g
      nodes: 1
      taints:
      - {key: node.kubernetes.io/not-ready, effect: NoExecute}
      - {key: a b, value: "?", effect: NoSchedul}`, []string{
			`8:33: cluster.zones[0].groups[0].pool: "a b" is no value of a label: at most 63 letters, digits, dashes, ` +
				`underscores and dots`,
			`9:14: cluster.zones[0].groups[1].name: cluster.zones[0].groups[0] has this name already`,
			`9:24: cluster.zones[0].groups[1].nodes: is 0; a group has at least one node`,
			`9:33: cluster.zones[0].groups[1].rack: - is no value of a label: at most 63 letters, digits, dashes, ` +
				`underscores and dots`,
			`10:14: cluster.zones[0].groups[2].name: G is no DNS label: at most 63 lower-case letters, digits and dashes, ` +
				`no dash first or last`,
			`10:27: cluster.zones[0].groups[2].cordned: there is no field cordned; did you mean cordoned?`,
			`14:13: cluster.zones[1].groups[0].name: cluster.zones[0].groups[0] has this name already`,
			`17:15: cluster.zones[1].groups[0].taints[0].key: "node.kubernetes.io/not-ready" follows from what happens to ` +
				`the node; leave it out`,
			`18:15: cluster.zones[1].groups[0].taints[1].key: "a b" is no key of a taint; write it like maintenance or ` +
				`example.com/maintenance`,
			`18:27: cluster.zones[1].groups[0].taints[1].value: "?" is no value of a taint: at most 63 letters, digits, ` +
				`dashes, underscores and dots`,
			`18:40: cluster.zones[1].groups[0].taints[1].effect: there is no effect NoSchedul; did you mean NoSchedule?`}},
		{"how many there are", `
name: x
duration: 1h
cluster:
  zones:
  - {name: a, nodes: 5, racks: 2, groups: [{name: g, nodes: 2}]}`, []string{
			`5:22: cluster.zones[0].nodes: is 5, but the groups of the zone have 2 nodes together`,
			`5:32: cluster.zones[0].racks: contradicts groups, which name their racks; leave out one of them`}},
		{"where pods are", `
name: x
duration: 1h
cluster:
  zones:
  - {name: a, nodes: 3, groups: [{name: main, nodes: 2, pool: m}, {name: gpu, nodes: 1, pool: g}]}
  workloads:
  - {name: k, replicas: 3, placed: {main: 1, gpu: 1}}
  - {name: l, replicas: 3, placed: {mian: 3}}
  - {name: m, replicas: 1, placed: {gpu: 1}, pools: [m, n, m]}
  - {name: n, kind: DaemonSet, placed: {main: 2, gpu: 2}}
  - {name: o, kind: Bare, replicas: 1, placed: {main: 1, gpu: 0}}`, []string{
			`7:28: cluster.workloads[0].placed: has 2 pods together, but the workload has 3 replicas`,
			`8:43: cluster.workloads[1].placed.mian: there is no group mian; did you mean main?`,
			`9:42: cluster.workloads[2].placed.gpu: is not in one of the pools of the workload`,
			`9:57: cluster.workloads[2].pools[1]: there is no pool n; pools are m, g`,
			`9:60: cluster.workloads[2].pools[2]: m is in the list already, as cluster.workloads[2].pools[0]`,
			`10:55: cluster.workloads[3].placed.gpu: is 2, but the group has 1 nodes, and each has at most one pod ` +
				`of a DaemonSet`,
			`11:63: cluster.workloads[4].placed.gpu: is 0; say how many of the pods are on it`}},
		{"tolerations", `
name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 3}]
  workloads:
  - name: k
    replicas: 3
    tolerations:
    - {effect: NoExecute}
    - {key: a, operator: Exist}
    - {key: a, operator: Exists, value: b}
    - {key: a, effect: NoSchedule, seconds: 3}
    - {key: a, effect: NoExecute, seconds: -3}
    - {key: a b}`, []string{
			`9:7: cluster.workloads[0].tolerations[0]: has no key; give it one, or operator: Exists for all taints`,
			`10:26: cluster.workloads[0].tolerations[1].operator: there is no operator Exist; did you mean Exists?`,
			`11:41: cluster.workloads[0].tolerations[2].value: contradicts operator: Exists, which is for every value; ` +
				`leave out one of them`,
			`12:45: cluster.workloads[0].tolerations[3].seconds: is only for effect: NoExecute`,
			`13:44: cluster.workloads[0].tolerations[4].seconds: is -3; 0 is at once`,
			`14:13: cluster.workloads[0].tolerations[5].key: "a b" is no key of a taint; write it like maintenance or ` +
				`example.com/maintenance`}},
		{"nodes of a step", `
name: x
duration: 1h
cluster:
  zones:
  - {name: a, nodes: 3, groups: [{name: main, nodes: 2, pool: m}, {name: gpu, nodes: 1, pool: g}]}
script:
- {at: 1m, silence: {pool: x}}
- {at: 1m, silence: {all: true, pool: g}}
- {at: 1m, silence: {pool: g, count: 2}}
- {at: 1m, silence: {pool: g, names: [a-0]}}`, []string{
			`7:28: script[0].silence.pool: there is no pool x; pools are m, g`,
			`8:12: script[1].silence: has all and what restricts it; leave out all, or else names, zone, rack and pool`,
			`9:38: script[2].silence.count: is 2, but only 1 nodes are described`,
			`10:12: script[3].silence: no node is all of that`}},
	} {
		c.run(t)
	}
}
