package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// grouped has two pools in two zones, and a workload for each way to say where
// pods may be.
func grouped(t *testing.T) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read("", []byte(`name: grouped
duration: 40m
cluster:
  zones:
  - name: a
    nodes: 6
    groups:
    - {name: a-main-r1, nodes: 2, pool: main, rack: r1}
    - {name: a-main-r2, nodes: 2, pool: main, rack: r2}
    - name: a-gpu
      nodes: 2
      pool: gpu
      rack: r2
      taints: [{key: gpu, effect: NoSchedule}, {key: night, effect: NoExecute}]
  - name: b
    nodes: 4
    groups:
    - {name: b-main, nodes: 2, pool: main}
    - name: b-gpu
      nodes: 1
      pool: gpu
      taints: [{key: gpu, effect: NoSchedule}, {key: night, effect: NoExecute}]
    - {name: b-old, nodes: 1, cordoned: true}
  workloads:
  - {name: web, replicas: 7, placed: {a-main-r1: 4, b-main: 3}}
  - name: train
    replicas: 4
    tolerationSeconds: 30
    tolerations:
    - {key: gpu, operator: Exists, effect: NoSchedule}
    - {key: night, operator: Exists}
    placed: {a-gpu: 4}
    pools: [gpu]
  - {name: lamp, kind: DaemonSet, tolerations: [{operator: Exists}], placed: {a-gpu: 2, b-gpu: 1}}
  - name: alone
    kind: Bare
    replicas: 1
    tolerationSeconds: 0
    tolerations: [{key: gpu, effect: NoSchedule}, {key: night, effect: NoExecute}]
    placed: {a-gpu: 1}
script:
- {at: 3m, silence: {zone: a, rack: 1, pool: gpu}}
`))
	require.NoError(t, err)
	return s
}

// podsByMachine counts the pods of a workload that are not on their way out.
func podsByMachine(s *Simulation, workload string) map[string]int {
	count := make(map[string]int)
	for _, pod := range s.World().Workload(workload).Pods() {
		if pod.DeletionTimestamp == nil {
			count[pod.Spec.NodeName]++
		}
	}
	return count
}

func TestGroupsSayWhereThingsAre(t *testing.T) {
	s, err := New(grouped(t))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a-0": 2, "a-1": 2, "b-0": 1, "b-1": 2}, podsByMachine(s, "web"))
	require.Equal(t, map[string]int{"a-4": 2, "a-5": 2}, podsByMachine(s, "train"))
	require.Equal(t, map[string]int{"a-4": 1, "a-5": 1, "b-2": 1}, podsByMachine(s, "lamp"))
	var racks []string
	for _, m := range s.World().Machines()[:6] {
		racks = append(racks, m.Pool+" "+m.Rack)
	}
	require.Equal(t, []string{"main a/0", "main a/0", "main a/1", "main a/1", "gpu a/1", "gpu a/1"}, racks)
	require.Len(t, s.World().Node("a-4").Spec.Taints, 2)
	require.True(t, s.World().Node("b-3").Spec.Unschedulable)
}

// Two nodes of six are silent, which the zone's state takes for Normal. Pods of
// train leave and fit on the one gpu node of zone b alone. Nothing replaces the
// pod of alone.
func TestReplacementsGoWhereTheyFit(t *testing.T) {
	s, err := New(grouped(t))
	require.NoError(t, err)
	judge := s.Judge()
	s.Run()
	judge.End()
	require.Empty(t, judge.Violations())
	require.Equal(t, map[string]int{"b-2": 4}, podsByMachine(s, "train"))
	require.Equal(t, map[string]int{"a-4": 1, "a-5": 1, "b-2": 1}, podsByMachine(s, "lamp"), "they tolerate it for ever")
	require.Empty(t, podsByMachine(s, "alone"))
	require.Equal(t, map[string]int{"a-0": 2, "a-1": 2, "b-0": 1, "b-1": 2}, podsByMachine(s, "web"))
}

func TestAPoolFallsSilent(t *testing.T) {
	description := grouped(t)
	description.Script = []scenario.Step{{At: duration(time.Minute), Silence: &scenario.Nodes{Pool: "gpu"}}}
	s, err := New(description)
	require.NoError(t, err)
	s.Run()
	var silent []string
	for _, m := range s.World().Machines() {
		if !m.Reaches() {
			silent = append(silent, m.Name)
		}
	}
	require.Equal(t, []string{"a-4", "a-5", "b-2"}, silent)
}

// A step that cordons or taints leaves a node as its group says when it ends.
func TestAStepEndsWithWhatTheGroupHas(t *testing.T) {
	description := grouped(t)
	nodes := scenario.Nodes{Names: []string{"a-4", "b-3"}}
	description.Script = []scenario.Step{
		{At: duration(time.Minute), For: duration(time.Minute), Cordon: &nodes},
		{At: duration(time.Minute), For: duration(time.Minute),
			Taint: &scenario.Taint{Nodes: nodes, Key: "gpu", Value: "other", Effect: "NoSchedule"}},
	}
	s, err := New(description)
	require.NoError(t, err)
	s.Run()
	gpu, old := s.World().Node("a-4"), s.World().Node("b-3")
	require.False(t, gpu.Spec.Unschedulable)
	require.True(t, old.Spec.Unschedulable)
	require.Equal(t, []string{"night", "gpu"}, keysOf(gpu.Spec.Taints))
	require.Empty(t, gpu.Spec.Taints[1].Value)
	require.Equal(t, []string{corev1.TaintNodeUnschedulable}, keysOf(old.Spec.Taints))
}

func keysOf(taints []corev1.Taint) []string {
	var keys []string
	for _, t := range taints {
		keys = append(keys, t.Key)
	}
	return keys
}

// As the API server's admission does, the two tolerations of illness are added
// unless the template has one for the key.
func TestTolerationsAreThoseThatAdmissionLeaves(t *testing.T) {
	sixty := ptr.To(int64(60))
	for name, test := range map[string]struct {
		workload scenario.Workload
		want     string
	}{
		"none given": {scenario.Workload{TolerationSeconds: sixty}, "not-ready 60, unreachable 60"},
		"another key": {scenario.Workload{TolerationSeconds: sixty, Tolerations: []scenario.Toleration{
			{Key: "gpu", Operator: "Exists"}}}, "gpu ever, not-ready 60, unreachable 60"},
		"one of them": {scenario.Workload{TolerationSeconds: sixty, Tolerations: []scenario.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: "Exists", Effect: "NoExecute", Seconds: ptr.To(int64(5))}}},
			"not-ready 5, unreachable 60"},
		"of another effect": {scenario.Workload{TolerationSeconds: sixty, Tolerations: []scenario.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: "Exists", Effect: "NoSchedule"}}},
			"not-ready ever, not-ready 60, unreachable 60"},
		"all": {scenario.Workload{TolerationSeconds: sixty, Tolerations: []scenario.Toleration{{Operator: "Exists"}}},
			" ever"},
		"a DaemonSet": {scenario.Workload{Kind: scenario.DaemonSet, Tolerations: []scenario.Toleration{
			{Key: "gpu", Operator: "Exists"}}}, "gpu ever, not-ready ever, unreachable ever"},
	} {
		var got []string
		for _, toleration := range tolerations(&test.workload) {
			seconds := "ever"
			if toleration.TolerationSeconds != nil {
				seconds = (time.Duration(*toleration.TolerationSeconds) * time.Second).String()
				seconds = strings.NewReplacer("1m0s", "60", "5s", "5").Replace(seconds)
			}
			got = append(got, strings.TrimPrefix(toleration.Key, "node.kubernetes.io/")+" "+seconds)
		}
		require.Equal(t, test.want, strings.Join(got, ", "), name)
	}
}

// A pod without an owner has no owner reference, as in a cluster.
func TestABarePodHasNoOwner(t *testing.T) {
	s, err := New(grouped(t))
	require.NoError(t, err)
	pods := s.World().Workload("alone").Pods()
	require.Len(t, pods, 1)
	require.Empty(t, pods[0].OwnerReferences)
	require.Equal(t, model.Never, s.World().Workload("alone").Replacement)
}
