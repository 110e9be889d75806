package bench

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
	nodeutil "k8s.io/kubernetes/pkg/controller/util/node"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

func zoneComparisons() []comparison {
	return []comparison{
		{name: "states after one node has changed", of: "nodes", sizes: []int{10_000}, ours: changeOurs,
			upstream: changeUpstream},
		{name: "states from nothing", of: "nodes", sizes: []int{10_000}, ours: scratchOurs, upstream: scratchUpstream},
	}
}

func observed(node *corev1.Node) zone.Node {
	return zone.Node{
		Zone:     zone.ByTopology(node),
		Ready:    nodehealth.ReadyStatus(node) == corev1.ConditionTrue,
		Excluded: zone.Excluded(node),
	}
}

func newZones(tb testing.TB) *zone.Tracker[string] {
	tb.Helper()
	tracker, err := zone.NewTracker[string](zone.Config{}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	return tracker
}

// someDown makes a few nodes of every zone not ready, so that nothing is
// special about one more. It returns how many.
func someDown(nodes []*corev1.Node) int {
	down := min(50, len(nodes)/4)
	for _, node := range nodes[:down] {
		for i := range node.Status.Conditions {
			if node.Status.Conditions[i].Type == corev1.NodeReady {
				node.Status.Conditions[i].Status = corev1.ConditionUnknown
			}
		}
	}
	return down
}

// One node goes down or comes back. What became of its zone?
func changeOurs(tb testing.TB, size int) work {
	tracker := newZones(tb)
	nodes := newCluster(size).nodes
	down := someDown(nodes)
	now := epoch.Add(time.Minute) // the tracker has settled
	for _, node := range nodes {
		tracker.Observe(now, node.Name, observed(node))
	}
	tracker.Evaluate(now)
	states := make([]zone.Node, size)
	for i, node := range nodes {
		states[i] = observed(node)
	}
	i := 0
	return work{op: func() {
		at := down + i/2%(size-down)
		states[at].Ready = i%2 == 1
		i++
		tracker.Observe(now, nodes[at].Name, states[at])
		if tracker.Evaluate(now).Changed() {
			tb.Fatal("one node makes no disruption")
		}
	}}
}

// Upstream: Controller.ComputeZoneState of pkg/controller/nodelifecycle for
// each zone, which is what its pass does whatever has changed. The lists of
// conditions by zone, which the pass makes again each time, are given to it for
// nothing.
func changeUpstream(tb testing.TB, size int) work {
	controller := newLifecycle(tb).controller
	byZone := make([][]*corev1.NodeCondition, zones)
	conditions := make([]*corev1.NodeCondition, size)
	nodes := newCluster(size).nodes
	down := someDown(nodes)
	for i, node := range nodes {
		_, conditions[i] = nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady)
		byZone[i%zones] = append(byZone[i%zones], conditions[i])
	}
	status := map[bool]corev1.ConditionStatus{false: corev1.ConditionUnknown, true: corev1.ConditionTrue}
	i := 0
	return work{op: func() {
		conditions[down+i/2%(size-down)].Status = status[i%2 == 1]
		i++
		for _, ready := range byZone {
			if _, state := controller.ComputeZoneState(ready); string(state) != string(zone.Normal) {
				tb.Fatal("one node makes no disruption")
			}
		}
	}}
}

// From node objects to the states of their zones, knowing nothing before. We do
// that once, at the start.
func scratchOurs(tb testing.TB, size int) work {
	nodes := newCluster(size).nodes
	return work{op: func() {
		tracker := newZones(tb)
		for _, node := range nodes {
			tracker.Observe(epoch, node.Name, observed(node))
		}
		judgement := tracker.Evaluate(epoch)
		if len(judgement.Changes) != zones {
			tb.Fatal("not every zone was judged")
		}
		for _, change := range judgement.Changes {
			if change.To != zone.Normal {
				tb.Fatal("every node is ready")
			}
		}
	}}
}

// Upstream: GetZoneKey of component-helpers/node/topology and GetNodeCondition
// of pkg/controller/util/node for each node, then ComputeZoneState. The lists
// by zone in between are made as its pass makes them, which is not exported. It
// does that at each pass.
func scratchUpstream(tb testing.TB, size int) work {
	controller := newLifecycle(tb).controller
	nodes := newCluster(size).nodes
	return work{op: func() {
		byZone := map[string][]*corev1.NodeCondition{}
		for _, node := range nodes {
			_, ready := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady)
			if !zone.Excluded(node) {
				key := topology.GetZoneKey(node)
				byZone[key] = append(byZone[key], ready)
			}
		}
		if len(byZone) != zones {
			tb.Fatal("not every zone was judged")
		}
		for _, ready := range byZone {
			if _, state := controller.ComputeZoneState(ready); string(state) != string(zone.Normal) {
				tb.Fatal("every node is ready")
			}
		}
	}}
}
