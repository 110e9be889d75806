package simulation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// build makes the machines and the workloads, with their pods spread over the
// machines.
func (s *Simulation) build(cluster *scenario.Cluster) {
	for _, zone := range cluster.Zones {
		for i := range zone.Nodes {
			s.world.AddMachine(fmt.Sprintf("%s-%d", zone.Name, i), zone.Name, fmt.Sprintf("%s/%d", zone.Name, i%zone.Racks))
		}
	}
	machines := s.world.Machines()
	next := s.world.Random("placement").Perm(len(machines))
	placed := 0
	for _, workload := range cluster.Workloads {
		owner := s.world.AddWorkload(workload.Name, replacements[workload.Kind], tolerations(&workload))
		protect(owner, &workload)
		replicas := workload.Replicas
		if workload.Kind == scenario.DaemonSet {
			replicas = len(machines)
			placed = 0
		}
		for range replicas {
			owner.Place(machines[next[placed%len(next)]].Name)
			placed++
		}
	}
}

// protect gives a workload's pods their priority and their PodDisruptionBudget.
func protect(owner *model.Workload, workload *scenario.Workload) {
	if workload.Priority != 0 {
		owner.Priority = new(int32(workload.Priority)) // Validate has seen that it fits
	}
	if workload.MinAvailable > 0 {
		owner.Protect(workload.MinAvailable)
	}
}

var replacements = map[string]model.Replacement{
	scenario.Deployment:  model.AtOnce,
	scenario.StatefulSet: model.OnceGone,
	scenario.DaemonSet:   model.InPlace,
}

// tolerations returns those of a workload's pods.
func tolerations(workload *scenario.Workload) []corev1.Toleration {
	switch {
	case workload.TolerateForever:
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	case workload.Kind == scenario.DaemonSet:
		return tolerateIllness(nil)
	case workload.EveryTaint:
		return []corev1.Toleration{{
			Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: workload.TolerationSeconds,
		}}
	}
	return tolerateIllness(workload.TolerationSeconds)
}

// tolerateIllness returns the tolerations that the API server's admission gives
// every pod, and the DaemonSet controller its pods for ever.
func tolerateIllness(seconds *int64) []corev1.Toleration {
	var all []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
		})
	}
	return all
}
