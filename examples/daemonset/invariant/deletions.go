package invariant

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deletion checks the deletion of a pod. It is right if it is right in one of
// the situations.
func (j *judge) deletion(change *Change, pod *corev1.Pod) {
	d := change.By.Decision
	for _, halt := range d.Life.Halts {
		if d.Order > halt.From && (d.Order < halt.To || halt.To == 0) {
			j.violate(Halted, change.At, "pod %s is deleted", pod.Name)
		}
	}
	known := typed[*corev1.Pod](j.byName[identity{Pods, pod.Name}].known(d))
	var verdicts []Invariant
	for _, state := range known {
		owner := controllerOf(state)
		if state.UID != pod.UID || owner == "" {
			continue
		}
		for _, s := range j.situations(d, j.setsKnown(d, owner)) {
			verdicts = append(verdicts, s.verdict(state))
		}
	}
	switch {
	case len(verdicts) == 0:
		j.violate(OthersUntouched, change.At, "pod %s of %q is deleted", pod.Name, controllerOf(pod))
	case !slices.Contains(verdicts, ""):
		j.violate(verdicts[0], change.At, "pod %s, hash %s, is deleted from node %s", pod.Name, hashOf(pod), nodeOf(pod))
	}
}

// verdict returns what the deletion of a pod breaks, and nothing if it may be
// deleted.
func (s *situation) verdict(pod *corev1.Pod) Invariant {
	node := s.nodes[nodeOf(pod)]
	switch {
	case node == nil && pod.Spec.NodeName == "", node != nil && !placeOf(s.set, node).stay, terminal(pod):
		return ""
	case node == nil:
		return Reasoned // the garbage collector deletes it
	}
	others := s.on(node.Name, pod.Name, func(c *candidate) bool { return c.maybe(stays) })
	if surges(s.set) {
		return s.surgeVerdict(pod, others)
	}
	if len(others) > 0 {
		verdict := s.duplicateVerdict(pod, others)
		if verdict == "" || slices.ContainsFunc(others, func(c *candidate) bool { return !c.unanswered && c.surely(stays) }) {
			return verdict
		}
	}
	if !s.outdated(pod) {
		return Reasoned
	}
	if availableAt(s.set, s.decision.At)(pod) && !s.restarting(pod) && !s.hasRoom() {
		return WithinUnavailable
	}
	return ""
}

// duplicateVerdict is about one of several pods on a node.
func (s *situation) duplicateVerdict(pod *corev1.Pod, others []*candidate) Invariant {
	available := availableAt(s.set, s.decision.At)
	if available(pod) && !slices.ContainsFunc(others, func(c *candidate) bool { return c.maybe(available) }) {
		return BetterStays
	}
	return ""
}

// outdated reports whether a pod is of another template than the set's, and may
// be replaced.
func (s *situation) outdated(pod *corev1.Pod) bool {
	if onDelete(s.set) {
		return false
	}
	surely, _ := s.revisionsKnown(s.decision, s.set.UID)
	return !slices.ContainsFunc(surely, func(r *appsv1.ControllerRevision) bool {
		return hashOf(r) == hashOf(pod) && keeps(r, &s.set.Spec.Template)
	})
}

// hasRoom reports whether one more node may be without an available pod. One that
// was updated in place is not available before it has restarted.
func (s *situation) hasRoom() bool {
	available := availableAt(s.set, s.decision.At)
	without := 0
	for name, node := range s.nodes {
		serve := s.on(name, "", func(c *candidate) bool {
			return c.maybe(func(pod *corev1.Pod) bool { return available(pod) && !s.restarting(pod) })
		})
		if placeOf(s.set, node).run && len(serve) == 0 {
			without++
		}
	}
	most, _ := limits(s.set, s.desired())
	return without < most
}

// surgeVerdict is about a set whose new pods come before the old ones go.
func (s *situation) surgeVerdict(pod *corev1.Pod, others []*candidate) Invariant {
	isNew := func(pod *corev1.Pod) bool { return !s.outdated(pod) }
	alike := func(other *corev1.Pod) bool { return isNew(other) == isNew(pod) && stays(other) }
	if same := slices.DeleteFunc(slices.Clone(others), func(c *candidate) bool { return !c.maybe(alike) }); len(same) > 0 {
		verdict := s.duplicateVerdict(pod, same)
		if verdict == "" || slices.ContainsFunc(same, func(c *candidate) bool { return !c.unanswered && c.surely(alike) }) {
			return verdict
		}
	}
	if isNew(pod) {
		if pod.Spec.NodeName == "" && !placeOf(s.set, s.nodes[nodeOf(pod)]).run && len(others) > 0 {
			return "" // a later taint keeps it from its node
		}
		return Reasoned
	}
	return s.oldVerdict(pod, others, isNew)
}

// oldVerdict is about an old pod that a surge replaces.
func (s *situation) oldVerdict(pod *corev1.Pod, others []*candidate, isNew func(*corev1.Pod) bool) Invariant {
	available := availableAt(s.set, s.decision.At)
	replaced := slices.ContainsFunc(others, func(c *candidate) bool {
		return c.maybe(func(other *corev1.Pod) bool { return isNew(other) && available(other) })
	})
	_, isReady := ready(pod)
	switch {
	case onDelete(s.set):
		return Reasoned
	case replaced, !isReady, !available(pod) && len(others) == 0:
		return ""
	case !placeOf(s.set, s.nodes[nodeOf(pod)]).run && s.serving() > s.desired():
		return ""
	}
	return WithinUnavailable
}

// serving returns how many nodes may have an available pod.
func (s *situation) serving() int {
	available, count := availableAt(s.set, s.decision.At), 0
	for name := range s.nodes {
		if len(s.on(name, "", func(c *candidate) bool { return c.maybe(available) })) > 0 {
			count++
		}
	}
	return count
}

// carried returns the hashes that pods of a set surely carry.
func (j *judge) carried(d *Decision, uid types.UID) map[string]bool {
	hashes := map[string]bool{}
	for _, c := range j.podsKnown(d, uid) {
		if !c.doubt {
			hashes[hashOf(c.states[0])] = true
		}
	}
	return hashes
}
