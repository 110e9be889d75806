package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// takePools takes over on which pools' nodes pods of a workload may be. Those
// of a DaemonSet stay where they are.
func (m *importer) takePools(w *workload, d *scenario.Workload) {
	if d.Kind == scenario.DaemonSet || !selects(&w.pods[0].Spec) {
		return
	}
	pools, whole := m.matching(w.pods[0])
	for _, pod := range w.pods { // also where its label has changed since
		if pool := m.groups[pod.Spec.NodeName].Pool; !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	all := len(pools) == len(m.byPool)
	// The language has no word for the nodes that are in no pool.
	if !all && !slices.Contains(pools, "") {
		d.Pools = pools
	}
	if !whole || !all && d.Pools == nil {
		m.wider = append(m.wider, d.Name)
	}
}

// selects reports whether a pod says on which nodes it may be.
func selects(spec *corev1.PodSpec) bool {
	if len(spec.NodeSelector) > 0 {
		return true
	}
	a := spec.Affinity
	return a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// matching returns the pools with a node that a pod may be on, and whether it
// may be on every node of them.
func (m *importer) matching(pod *corev1.Pod) (pools []string, whole bool) {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	whole = true
	for pool, nodes := range m.byPool {
		count := 0
		for _, node := range nodes {
			if ok, err := required.Match(node); err == nil && ok {
				count++
			}
		}
		if count > 0 {
			pools = append(pools, pool)
			whole = whole && count == len(nodes)
		}
	}
	return pools, whole
}
