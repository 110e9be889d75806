package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// withDaemons reads a scenario of 12 nodes in two zones whose agent is made by
// the DaemonSet controller.
func withDaemons(t *testing.T, script string) (*Simulation, *creations) {
	t.Helper()
	read, err := scenario.Read("", []byte(`name: daemons
duration: 1h
cluster:
  daemonSets: controller
  zones:
  - {name: a, nodes: 6}
  - {name: b, nodes: 6, groups: [{name: big, nodes: 2}, {name: small, nodes: 4}]}
  workloads:
  - {name: agent, kind: DaemonSet}
  - {name: driver, kind: DaemonSet, placed: {big: 2}}
`+script))
	require.NoError(t, err)
	s, err := New(read)
	require.NoError(t, err)
	made := &creations{world: s.World(), unavailable: make(map[string]bool)}
	s.World().Watch(made)
	return s, made
}

// creations counts the pods of agent that are made, and on how many nodes of
// zone b, which nothing befalls, none is ready at a time.
type creations struct {
	model.Unimpressed

	world       *model.World
	made        int
	unavailable map[string]bool
	most        int
}

func (c *creations) WrotePod(w model.PodWrite) {
	pod := w.After
	if pod == nil {
		pod = w.Before
	}
	if model.WorkloadOf(pod) != "agent" {
		return
	}
	if w.Before == nil {
		c.made++
	}
	node := c.world.Machine(pod.Spec.NodeName)
	if node == nil || node.Zone != "b" {
		return
	}
	if delete(c.unavailable, node.Name); w.After == nil || !model.PodReady(w.After) {
		c.unavailable[node.Name] = true
	}
	c.most = max(c.most, len(c.unavailable))
}

// revisions returns how many ready pods a workload has of each revision.
func revisions(s *Simulation, workload string) map[string]int {
	found := make(map[string]int)
	for _, pod := range s.World().Workload(workload).Pods() {
		if model.PodReady(pod) {
			found[pod.Labels[revision.HashLabel]]++
		}
	}
	return found
}

func TestDaemonSetsThatNothingHappensToAreLeftAlone(t *testing.T) {
	s, made := withDaemons(t, "")
	s.Run()
	require.Zero(t, made.made, "the controller takes the pods that are there for its own")
	require.Len(t, s.World().Workload("agent").Pods(), 12)
}

func TestTheControllerReplacesTheDaemonsThatGo(t *testing.T) {
	s, made := withDaemons(t,
		"script:\n- {at: 5m, deletePods: {workload: agent}}\n- {at: 5m, deletePods: {workload: driver}}\n")
	s.Run()
	require.Equal(t, 12, made.made)
	on := make(map[string]int)
	for _, pod := range s.World().Workload("agent").Pods() {
		require.True(t, model.PodReady(pod))
		on[pod.Spec.NodeName]++
	}
	require.Len(t, on, 12, "one on each node")
	placed := make(map[string]bool)
	for _, pod := range s.World().Workload("driver").Pods() {
		placed[pod.Spec.NodeName] = true
	}
	require.Equal(t, map[string]bool{"b-0": true, "b-1": true}, placed, "where it began")
}

// What a rollout may make unavailable is used up by nodes that are dead: it goes
// on when they are back.
func TestARolloutWaitsForTheNodesThatAreDead(t *testing.T) {
	s, made := withDaemons(t,
		"script:\n- {at: 5m, for: 20m, silence: {zone: a}}\n- {at: 10m, rollOut: {workload: agent, maxUnavailable: 2}}\n")
	former := revisions(s, "agent")
	require.Len(t, former, 1)
	s.Advance(20 * time.Minute)
	for hash := range former {
		require.Equal(t, 12, countReadyOrSilent(s, hash), "six are cut off and use the limit up")
	}
	s.Run()
	require.Equal(t, 2, made.most)
	now := revisions(s, "agent")
	require.Len(t, now, 1)
	for hash, nodes := range now {
		require.NotContains(t, former, hash)
		require.Equal(t, 12, nodes)
	}
	require.Equal(t, 12, made.made)
}

// countReadyOrSilent counts the pods of agent of a revision that are ready or on a
// node that is cut off.
func countReadyOrSilent(s *Simulation, of string) (count int) {
	for _, pod := range s.World().Workload("agent").Pods() {
		if pod.Labels[revision.HashLabel] == of && (model.PodReady(pod) || !s.World().Machine(pod.Spec.NodeName).Reaches()) {
			count++
		}
	}
	return count
}

// What the DaemonSet controller writes is not the subject's.
func TestWatchTellsOfTheControllersOwnCalls(t *testing.T) {
	s, _ := withDaemons(t, "script:\n- {at: 5m, rollOut: {workload: agent, maxUnavailable: 3}}\n")
	others := &deleters{}
	own := &deleters{}
	s.World().Watch(others)
	s.Watch(own)
	s.Run()
	require.Equal(t, 12, others.deleted)
	require.Zero(t, own.deleted)
}

type deleters struct {
	model.Unimpressed

	deleted int
}

func (d *deleters) WrotePod(w model.PodWrite) {
	if w.Call != nil && w.Before != nil && goes(w.After) && !goes(w.Before) {
		d.deleted++
	}
}

func goes(pod *corev1.Pod) bool { return pod == nil || pod.DeletionTimestamp != nil }
