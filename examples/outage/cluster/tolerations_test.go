package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// randomTolerations are some that the API allows, in any order.
func randomTolerations(r *rand.Rand) []corev1.Toleration {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var all []corev1.Toleration
	for range r.IntN(5) {
		t := corev1.Toleration{
			Key: pick("", "gpu", corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable), Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffect(pick("", "NoExecute", "NoExecute", "NoSchedule")),
		}
		if t.Key == "gpu" && r.IntN(2) == 0 {
			t.Operator, t.Value = corev1.TolerationOperator(pick("", "Equal")), pick("", "yes")
		}
		if t.Effect == corev1.TaintEffectNoExecute && r.IntN(3) > 0 {
			t.TolerationSeconds = ptr.To([]int64{-5, 0, 60, 300}[r.IntN(4)])
		}
		all = append(all, t)
	}
	return all
}

// verdict says how long tolerations tolerate a taint: the first that matches
// counts.
func verdict(tolerations []corev1.Toleration, taint *corev1.Taint) string {
	for i := range tolerations {
		t := &tolerations[i]
		if !t.ToleratesTaint(klog.Logger{}, taint, false) {
			continue
		}
		if t.TolerationSeconds == nil {
			return "for ever"
		}
		return fmt.Sprintf("for %d s", max(*t.TolerationSeconds, 0))
	}
	return "for 0 s"
}

// Whatever a pod of a cluster tolerates, that of the simulation tolerates too,
// and for as long.
func TestPodsOfTheSimulationTolerateTheSame(t *testing.T) {
	taints := []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute},
		{Key: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: "other", Effect: corev1.TaintEffectNoSchedule},
	}
	for seed := range uint64(seeds.Sized(400, 2000)) {
		r, o := rand.New(rand.NewPCG(seed, 3)), shop()
		tolerations := randomTolerations(r)
		o.Pods[3].Spec.Tolerations = tolerations
		o.Nodes, o.Leases = o.Nodes[:2], o.Leases[:2]
		s, _ := imported(t, o, cluster.Config{})
		simulated, err := simulation.New(s)
		require.NoError(t, err)
		pods := simulated.World().Workload("default-db").Pods()
		require.Len(t, pods, 1)
		for i := range taints {
			require.Equal(t, verdict(tolerations, &taints[i]), verdict(pods[0].Spec.Tolerations, &taints[i]),
				"seed %d: %v for %v, which became %v", seed, taints[i], tolerations, pods[0].Spec.Tolerations)
		}
	}
}
