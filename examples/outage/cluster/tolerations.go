package cluster

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// takeTolerations takes over the tolerations of most pods of a workload.
func (m *importer) takeTolerations(w *workload, d *scenario.Workload) {
	rest := commonTolerations(w.pods)
	if d.Kind == scenario.DaemonSet {
		rest = without(rest, addedToDaemons)
	} else {
		d.TolerationSeconds, rest = illness(rest)
	}
	for _, t := range rest {
		operator := string(t.Operator)
		if t.Operator == corev1.TolerationOpEqual {
			operator = "" // the default
		}
		if operator != "" && t.Operator != corev1.TolerationOpExists {
			m.note("left out: a toleration of %s with operator %s", d.Name, operator)
			continue
		}
		toleration := scenario.Toleration{
			Key: m.names.key(t.Key), Operator: operator, Value: m.names.value("value", t.Value), Effect: string(t.Effect),
		}
		if t.TolerationSeconds != nil {
			toleration.Seconds = ptr.To(max(*t.TolerationSeconds, 0)) // the API takes less for zero
		}
		d.Tolerations = append(d.Tolerations, toleration)
	}
}

// illness takes the tolerations of not-ready and unreachable nodes out of the
// others, if that is where the API server's admission would add them. Their
// seconds are nil if they are the default. Otherwise all stay where they are.
// The seconds are then for what they leave open: it is tolerated for no time,
// because nothing was added.
func illness(all []corev1.Toleration) (seconds *int64, rest []corev1.Toleration) {
	added := map[string]int64{}
	rest = without(all, func(t *corev1.Toleration) bool {
		usual := isIllness(t) && t.Operator == corev1.TolerationOpExists && t.Effect == corev1.TaintEffectNoExecute &&
			t.TolerationSeconds != nil
		if _, known := added[t.Key]; usual && !known { // the first that matches counts
			added[t.Key] = max(*t.TolerationSeconds, 0)
		}
		return usual
	})
	notReady, ok := added[corev1.TaintNodeNotReady]
	unreachable, also := added[corev1.TaintNodeUnreachable]
	switch {
	case ok && also && notReady == unreachable && !toleratesIllness(rest, false):
		if notReady != 300 {
			seconds = ptr.To(notReady)
		}
		return seconds, rest
	case toleratesIllness(all, true):
		return nil, all
	}
	return ptr.To(int64(0)), all
}

// toleratesIllness reports whether admission would add nothing for both keys,
// or for one of them.
func toleratesIllness(tolerations []corev1.Toleration, both bool) bool {
	notReady := scenario.AdmissionTolerates(tolerations, corev1.TaintNodeNotReady)
	unreachable := scenario.AdmissionTolerates(tolerations, corev1.TaintNodeUnreachable)
	if both {
		return notReady && unreachable
	}
	return notReady || unreachable
}

func isIllness(t *corev1.Toleration) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
}

// addedToDaemons reports whether a toleration is one that the DaemonSet
// controller adds to each pod. Source: AddOrUpdateDaemonPodTolerations of
// Kubernetes v1.37, pkg/controller/daemon/util.
func addedToDaemons(t *corev1.Toleration) bool {
	if t.Operator != corev1.TolerationOpExists || t.TolerationSeconds != nil {
		return false
	}
	if isIllness(t) {
		return t.Effect == corev1.TaintEffectNoExecute
	}
	return t.Effect == corev1.TaintEffectNoSchedule && scenario.OwnedTaint(t.Key)
}

func without(all []corev1.Toleration, drop func(*corev1.Toleration) bool) []corev1.Toleration {
	var rest []corev1.Toleration
	for i := range all {
		if !drop(&all[i]) {
			rest = append(rest, all[i])
		}
	}
	return rest
}

// commonTolerations returns those of most pods.
func commonTolerations(pods []*corev1.Pod) []corev1.Toleration {
	counts, by := map[string]int{}, map[string][]corev1.Toleration{}
	for _, pod := range pods {
		key, err := json.Marshal(pod.Spec.Tolerations)
		if err != nil {
			panic(err) // they came as JSON
		}
		counts[string(key)]++
		by[string(key)] = pod.Spec.Tolerations
	}
	common, _ := commonest(counts)
	return by[common]
}

// alike reports whether pods differ in nothing that a workload says once.
func alike(pods []*corev1.Pod) bool {
	first := &pods[0].Spec
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		spec := &pod.Spec
		return !equality.Semantic.DeepEqual(spec.Tolerations, first.Tolerations) ||
			!equality.Semantic.DeepEqual(spec.Priority, first.Priority) ||
			!equality.Semantic.DeepEqual(spec.NodeSelector, first.NodeSelector)
	})
}
