package model

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// pending is the scheduler: the pods that wait for a node.
type pending struct {
	random *rand.Rand
	pods   []waiting
	awake  bool

	// openings are those of the machines, in their order. Clean, tainted and both
	// are the machines that have one, unless stale. Nodes seldom change in what
	// counts for that, and pods may wait in each second of a run.
	openings             []opening
	clean, tainted, both []*Machine
	stale                bool
}

// opening is which pods a node is open for.
type opening uint8

const (
	// closed: for none that does not tolerate NoSchedule.
	closed opening = iota
	// openToTolerant: for those that tolerate every NoExecute taint.
	openToTolerant
	// open: for all.
	open
)

type waiting struct {
	name string
	uid  types.UID
}

// scheduleEvery is how often the scheduler looks at the pods that wait, unless
// the world's Config says otherwise.
const scheduleEvery = time.Second

// schedule makes a pod wait for a node.
func (w *World) schedule(pod *corev1.Pod) {
	w.pending.pods = append(w.pending.pods, waiting{pod.Name, pod.UID})
	w.wakeScheduler()
}

func (w *World) wakeScheduler() {
	if !w.pending.awake && len(w.pending.pods) > 0 {
		w.pending.awake = true
		w.After(w.config.Scheduling.Pick(w.pending.random), w.scheduleAll)
	}
}

// scheduleAll gives each pod that waits one of two nodes at random, the one
// with fewer pods. That spreads them nearly as well as the best of all would.
func (w *World) scheduleAll() {
	w.pending.awake = false
	w.pending.refresh(w.machines)
	fitting := make(map[*Workload][]*Machine)
	w.pending.pods = slices.DeleteFunc(w.pending.pods, func(one waiting) bool {
		pod := w.Pod(one.name)
		if pod == nil || pod.UID != one.uid || pod.Spec.NodeName != "" {
			return true
		}
		on := w.pending.clean
		switch owner := w.server.pods[pod.Name].owner; {
		case owner == nil, owner.Replacement == ByProcess:
			on = w.named(pod)
		case owner.selective():
			if fitting[owner] == nil {
				fitting[owner] = w.fitting(owner)
			}
			on = fitting[owner]
		case toleratesAny(pod):
			on = w.pending.both
		}
		if len(on) == 0 {
			return false
		}
		a, b := on[w.pending.random.IntN(len(on))], on[w.pending.random.IntN(len(on))]
		if len(b.pods) < len(a.pods) {
			a = b
		}
		after := *pod
		w.bind(&after, a.Name)
		w.putPod(&after)
		return true
	})
	w.wakeScheduler()
}

// nodeChanged records for which pods a machine is open now.
func (p *pending) nodeChanged(m *Machine) {
	for len(p.openings) <= m.number {
		p.openings = append(p.openings, closed)
	}
	if now := openingOf(m.node); p.openings[m.number] != now {
		p.openings[m.number], p.stale = now, true
	}
}

func openingOf(node *corev1.Node) opening {
	if !acceptsPods(node) {
		return closed
	}
	switch worst(node.Spec.Taints) {
	case "", corev1.TaintEffectPreferNoSchedule:
		return open
	case corev1.TaintEffectNoExecute:
		return openToTolerant
	case corev1.TaintEffectNoSchedule:
	}
	return closed
}

// acceptsPods reports whether a node is there, ready and not cordoned.
func acceptsPods(node *corev1.Node) bool {
	return node != nil && !node.Spec.Unschedulable && NodeReady(node)
}

// refresh brings the lists of open machines up to date.
func (p *pending) refresh(machines []*Machine) {
	if !p.stale {
		return
	}
	p.stale, p.clean, p.tainted = false, p.clean[:0], p.tainted[:0]
	for i, opening := range p.openings {
		switch opening {
		case open:
			p.clean = append(p.clean, machines[i])
		case openToTolerant:
			p.tainted = append(p.tainted, machines[i])
		case closed:
		}
	}
	p.both = append(append(p.both[:0], p.clean...), p.tainted...)
}

// selective reports whether nodes are to be matched with the workload one by
// one.
func (o *Workload) selective() bool {
	return o.Fits != nil || slices.ContainsFunc(o.Tolerations, func(t corev1.Toleration) bool {
		return t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule
	})
}

// fitting returns the machines that are ready and on which pods of the workload
// fit. It tolerates every taint there. Not nil, so that it is looked up once.
func (w *World) fitting(o *Workload) []*Machine {
	on := []*Machine{}
	for _, m := range w.machines {
		if acceptsPods(m.node) && (o.Fits == nil || o.Fits(m)) && toleratesAll(o.Tolerations, m.node.Spec.Taints) {
			on = append(on, m)
		}
	}
	return on
}

// named returns the machine whose node a pod names by its affinity, as those of
// a DaemonSet's controller do, if the pod tolerates its taints. That a node is
// not ready is one of them.
func (w *World) named(pod *corev1.Pod) []*Machine {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return nil
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key != metav1.ObjectNameField || len(field.Values) != 1 {
				continue
			}
			m := w.machine[field.Values[0]]
			if m != nil && m.node != nil && toleratesAll(pod.Spec.Tolerations, m.node.Spec.Taints) {
				return []*Machine{m}
			}
		}
	}
	return nil
}

// toleratesAll reports whether tolerations are enough for all of the taints that
// keep pods away.
func toleratesAll(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
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
