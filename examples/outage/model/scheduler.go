package model

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// pending is the scheduler: the pods that wait for a node.
type pending struct {
	random *rand.Rand
	pods   []waiting
	awake  bool
}

type waiting struct {
	name string
	uid  types.UID
}

// scheduleEvery is how often the scheduler looks at the pods that wait.
const scheduleEvery = time.Second

// schedule makes a pod wait for a node.
func (w *World) schedule(pod *corev1.Pod) {
	w.pending.pods = append(w.pending.pods, waiting{pod.Name, pod.UID})
	w.wakeScheduler()
}

func (w *World) wakeScheduler() {
	if !w.pending.awake && len(w.pending.pods) > 0 {
		w.pending.awake = true
		w.After(scheduleEvery, w.scheduleAll)
	}
}

// scheduleAll gives each pod that waits one of two nodes at random, the one
// with fewer pods. That spreads them nearly as well as the best of all would.
func (w *World) scheduleAll() {
	w.pending.awake = false
	clean, tainted := w.eligible()
	fitting := make(map[*Workload][]string)
	w.pending.pods = slices.DeleteFunc(w.pending.pods, func(one waiting) bool {
		pod := w.Pod(one.name)
		if pod == nil || pod.UID != one.uid || pod.Spec.NodeName != "" {
			return true
		}
		on := clean
		switch owner := w.server.pods[pod.Name].owner; {
		case owner.selective():
			if fitting[owner] == nil {
				fitting[owner] = w.fitting(owner)
			}
			on = fitting[owner]
		case toleratesAny(pod):
			on = slices.Concat(clean, tainted)
		}
		if len(on) == 0 {
			return false
		}
		a, b := on[w.pending.random.IntN(len(on))], on[w.pending.random.IntN(len(on))]
		if len(w.server.podsOn[b]) < len(w.server.podsOn[a]) {
			a = b
		}
		after := *pod
		w.server.pods[pod.Name].owner.bind(&after, a)
		w.putPod(&after)
		return true
	})
	w.wakeScheduler()
}

// eligible returns the nodes that are ready and have no taint, and those whose
// taints keep no pod away that tolerates every NoExecute taint.
func (w *World) eligible() (clean, tainted []string) {
	for _, m := range w.machines {
		node := m.node
		if node == nil || node.Spec.Unschedulable {
			continue
		}
		if ready := condition(node, corev1.NodeReady); ready == nil || ready.Status != corev1.ConditionTrue {
			continue
		}
		switch worst(node.Spec.Taints) {
		case "", corev1.TaintEffectPreferNoSchedule:
			clean = append(clean, m.Name)
		case corev1.TaintEffectNoExecute:
			tainted = append(tainted, m.Name)
		case corev1.TaintEffectNoSchedule:
		}
	}
	return clean, tainted
}

// selective reports whether nodes are to be matched with the workload one by
// one.
func (o *Workload) selective() bool {
	return o.Fits != nil || slices.ContainsFunc(o.Tolerations, func(t corev1.Toleration) bool {
		return t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule
	})
}

// fitting returns the nodes that are ready and on which pods of the workload
// fit. It tolerates every taint there. Not nil, so that it is looked up once.
func (w *World) fitting(o *Workload) []string {
	names := []string{}
	for _, m := range w.machines {
		node := m.node
		if node == nil || node.Spec.Unschedulable || o.Fits != nil && !o.Fits(m) {
			continue
		}
		ready := condition(node, corev1.NodeReady)
		if ready != nil && ready.Status == corev1.ConditionTrue && o.toleratesAll(node.Spec.Taints) {
			names = append(names, m.Name)
		}
	}
	return names
}

// toleratesAll reports whether the workload's pods tolerate all of the taints
// that keep pods away.
func (o *Workload) toleratesAll(taints []corev1.Taint) bool {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(o.Tolerations, func(t corev1.Toleration) bool {
				return t.ToleratesTaint(klog.Logger{}, taint, false)
			}) {
			return false
		}
	}
	return true
}

// worst returns the effect that keeps most pods away.
func worst(taints []corev1.Taint) corev1.TaintEffect {
	effect := corev1.TaintEffect("")
	for i := range taints {
		switch taints[i].Effect {
		case corev1.TaintEffectNoSchedule:
			return corev1.TaintEffectNoSchedule
		case corev1.TaintEffectNoExecute:
			effect = corev1.TaintEffectNoExecute
		case corev1.TaintEffectPreferNoSchedule:
		}
	}
	return effect
}

// toleratesAny reports whether a pod tolerates every NoExecute taint for a
// while.
func toleratesAny(pod *corev1.Pod) bool {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if t.Key == "" && t.Operator == corev1.TolerationOpExists {
			return true
		}
	}
	return false
}
