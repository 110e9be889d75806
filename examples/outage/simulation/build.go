package simulation

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// build makes the machines and the workloads, with their pods on the machines.
func (s *Simulation) build(cluster *scenario.Cluster) error {
	for i := range cluster.Zones {
		s.buildZone(&cluster.Zones[i])
	}
	machines := s.world.Machines()
	next := s.world.Random("placement").Perm(len(machines))
	groups := make(map[string][]*model.Machine)
	for _, i := range next {
		groups[machines[i].Group] = append(groups[machines[i].Group], machines[i])
	}
	placed := 0
	for _, workload := range cluster.Workloads {
		owner, err := s.addWorkload(&workload)
		if err != nil {
			return err
		}
		protect(owner, &workload)
		if len(workload.Pools) > 0 {
			owner.Fits = func(m *model.Machine) bool { return slices.Contains(workload.Pools, m.Pool) }
		}
		if len(workload.Placed) > 0 {
			placeOn(owner, workload.Placed, groups)
			if owner.Replacement == model.ByProcess {
				s.daemons.keepTo(owner)
			}
			continue
		}
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
	return nil
}

// addWorkload adds what owns a workload's pods.
func (s *Simulation) addWorkload(workload *scenario.Workload) (*model.Workload, error) {
	if workload.Kind == scenario.DaemonSet && s.daemons != nil {
		return s.daemons.add(workload)
	}
	return s.world.AddWorkload(workload.Name, replacements[workload.Kind], tolerations(workload)), nil
}

// buildZone makes the machines of a zone.
func (s *Simulation) buildZone(zone *scenario.Zone) {
	if len(zone.Groups) == 0 {
		for i := range zone.Nodes {
			s.world.AddMachine(machineName(zone, i), zone.Name, rackName(zone, i%zone.Racks))
		}
		return
	}
	next, racks := 0, zone.RackNames()
	for i := range zone.Groups {
		group := &zone.Groups[i]
		for range group.Nodes {
			m := s.world.AddMachine(machineName(zone, next), zone.Name, rackName(zone, slices.Index(racks, group.Rack)))
			m.Pool, m.Group = group.Pool, group.Name
			s.prepare(m, group)
			next++
		}
	}
}

func machineName(zone *scenario.Zone, i int) string { return fmt.Sprintf("%s-%d", zone.Name, i) }

func rackName(zone *scenario.Zone, rack int) string { return fmt.Sprintf("%s/%d", zone.Name, rack) }

// prepare cordons and taints a machine as its group says. These are edits
// without an end, so that the end of a step leaves them.
func (s *Simulation) prepare(m *model.Machine, group *scenario.Group) {
	for _, t := range group.Taints {
		s.edits.taint(m, &corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	if !group.Cordoned {
		return
	}
	s.edits.cordon(m)
	m.Edit(func(node *corev1.Node) { // a controller has seen it long ago
		node.Spec.Taints = append(slices.Clone(node.Spec.Taints),
			corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	})
}

// placeOn puts so many pods on the machines of each group, one after the other.
// It begins at a machine that depends on the workload's name: else the first
// machine of a group has a pod of each.
func placeOn(owner *model.Workload, on map[string]int, groups map[string][]*model.Machine) {
	turn := fnv.New32a()
	turn.Write([]byte(owner.Name))
	first := int(turn.Sum32() >> 1)
	for _, name := range slices.Sorted(maps.Keys(on)) {
		machines := groups[name]
		for i := range on[name] {
			owner.Place(machines[(first+i)%len(machines)].Name)
		}
	}
}

// protect gives a workload's pods their priority and their PodDisruptionBudget.
func protect(owner *model.Workload, workload *scenario.Workload) {
	if workload.Priority != 0 {
		owner.Priority = ptr.To(int32(workload.Priority)) // Validate has seen that it fits
	}
	if workload.MinAvailable > 0 {
		owner.Protect(workload.MinAvailable)
	}
}

var replacements = map[string]model.Replacement{
	scenario.Deployment:  model.AtOnce,
	scenario.StatefulSet: model.OnceGone,
	scenario.DaemonSet:   model.InPlace,
	scenario.Bare:        model.Never,
}

// tolerations returns those of a workload's pods.
func tolerations(workload *scenario.Workload) []corev1.Toleration {
	var all []corev1.Toleration
	for _, t := range workload.Tolerations {
		all = append(all, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.Seconds,
		})
	}
	switch {
	case workload.TolerateForever:
		return append(all, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	case workload.Kind == scenario.DaemonSet:
		return append(all, tolerateIllness(nil)...)
	case workload.EveryTaint:
		return append(all, corev1.Toleration{
			Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: workload.TolerationSeconds,
		})
	}
	for _, t := range tolerateIllness(workload.TolerationSeconds) {
		if !scenario.AdmissionTolerates(all, t.Key) {
			all = append(all, t)
		}
	}
	return all
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
