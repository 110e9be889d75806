package blast

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// tally counts the pods of a workload that are ready before the loss, those of
// them that are left, and those that the loss hits. A pod that is hit has left,
// or is no longer ready. The last counts the pods that are ready in the end.
type tally struct{ had, left, hit, ready int }

// tallies counts the pods of all workloads. A pod that a taint of an
// administrator evicts counts as left, because the loss does not hit it.
func (o *observer) tallies(before []*corev1.Pod) map[string]*tally {
	all := map[string]*tally{}
	of := func(pod *corev1.Pod) *tally {
		name := model.WorkloadOf(pod)
		if all[name] == nil {
			all[name] = &tally{}
		}
		return all[name]
	}
	for _, pod := range before {
		if !model.PodReady(pod) {
			continue
		}
		t, now := of(pod), o.world.Pod(pod.Name)
		t.had++
		moved, stays := o.moved[pod.UID], now != nil && now.UID == pod.UID && o.serves(now)
		if moved || stays {
			t.left++
		}
		if !moved && !(stays && model.PodReady(now)) {
			t.hit++
		}
	}
	for _, pod := range o.world.Pods() {
		if o.serves(pod) && model.PodReady(pod) {
			of(pod).ready++
		}
	}
	return all
}

// serves reports whether a pod is there and not on a lost node.
func (o *observer) serves(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !o.lost(pod.Spec.NodeName)
}

// count counts the workloads and pods that are lost and down.
func (o *observer) count(outcome *Outcome, s *scenario.Scenario, before []*corev1.Pod) {
	all := o.tallies(before)
	outcome.Lost, outcome.LostForGood = []string{}, []string{}
	for i := range s.Cluster.Workloads {
		w := &s.Cluster.Workloads[i]
		t := all[w.Name]
		if w.Kind == scenario.DaemonSet || t == nil {
			continue
		}
		outcome.Down += min(max(t.had-t.ready, 0), t.hit)
		if t.had > 0 && t.left == 0 {
			outcome.Lost = append(outcome.Lost, w.Name)
			if t.ready == 0 {
				outcome.LostForGood = append(outcome.LostForGood, w.Name)
			}
		}
	}
}
