package invariant

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// situation is what a life knows of a set when it decides.
type situation struct {
	*judge

	decision *Decision
	set      *appsv1.DaemonSet
	nodes    map[string]*corev1.Node
	pods     []*candidate
}

// situations returns what a life may know of a set, one for each state that the
// set may have.
func (j *judge) situations(d *Decision, sets []*appsv1.DaemonSet) []*situation {
	var all []*situation
	for _, set := range sets {
		all = append(all, &situation{j, d, set, j.nodesKnown(d), j.podsKnown(d, set.UID)})
	}
	return all
}

// on returns the pods of a node that pass, except one.
func (s *situation) on(node, except string, passes func(*candidate) bool) []*candidate {
	var found []*candidate
	for _, c := range s.pods {
		if c.name != except && c.maybe(func(pod *corev1.Pod) bool { return nodeOf(pod) == node }) && passes(c) {
			found = append(found, c)
		}
	}
	return found
}

// desired returns how many nodes should have a pod.
func (s *situation) desired() int {
	count := 0
	for _, node := range s.nodes {
		if placeOf(s.set, node).run {
			count++
		}
	}
	return count
}

// creation checks the creation of a pod. It is right if it is right in one of
// the situations.
func (j *judge) creation(change *Change, pod *corev1.Pod) {
	uid := controllerOf(pod)
	all := j.situations(change.By.Decision, j.setsKnown(change.By.Decision, uid))
	if len(all) == 0 {
		j.violate(RightPlace, change.At, "pod %s is created for a set that is gone", pod.Name)
		return
	}
	for _, rule := range []struct {
		what  Invariant
		holds func(*situation, *corev1.Pod) bool
	}{
		{RightPlace, (*situation).mayCreateThere},
		{OnePerNode, (*situation).mayCreateOne},
		{WithinSurge, (*situation).maySurge},
	} {
		if !slices.ContainsFunc(all, func(s *situation) bool { return rule.holds(s, pod) }) {
			j.violate(rule.what, change.At, "pod %s is created on node %s, hash %s", pod.Name, nodeOf(pod), hashOf(pod))
		}
	}
}

func (s *situation) mayCreateThere(pod *corev1.Pod) bool {
	return placeOf(s.set, s.nodes[nodeOf(pod)]).run && selects(s.set, pod)
}

// mayCreateOne reports whether a node has no pod of the set. Next to a new pod
// of a surge there may be one old one, and pods that leave. A creation whose
// answer was lost counts as a pod, and may be repeated under its name.
func (s *situation) mayCreateOne(pod *corev1.Pod) bool {
	if !surges(s.set) {
		there := s.on(nodeOf(pod), pod.Name, func(c *candidate) bool {
			return c.counts(func(pod *corev1.Pod) bool { return !terminal(pod) || !leaving(pod) })
		})
		return len(there) == 0
	}
	there := s.on(nodeOf(pod), pod.Name, func(c *candidate) bool { return c.counts(stays) })
	return len(there) == 0 || len(there) == 1 && there[0].maybe(func(old *corev1.Pod) bool {
		return stays(old) && hashOf(old) != hashOf(pod)
	})
}

// maySurge reports whether a pod may be created next to an available one.
func (s *situation) maySurge(pod *corev1.Pod) bool {
	available := availableAt(s.set, s.decision.At)
	replaces := s.on(nodeOf(pod), pod.Name, func(c *candidate) bool { return c.surely(available) })
	if len(replaces) == 0 || !surges(s.set) {
		return true // of another rule
	}
	surging := 0
	for name, node := range s.nodes {
		if name != nodeOf(pod) && s.surging(node, hashOf(pod)) {
			surging++
		}
	}
	_, most := limits(s.set, s.desired())
	return surging < most
}

// surging reports whether a node has an old pod and a new one, as far as is
// known. One that cannot be scheduled because of a later taint does not count.
func (s *situation) surging(node *corev1.Node, hash string) bool {
	place := placeOf(s.set, node)
	if !place.stay {
		return false
	}
	count := func(is func(*corev1.Pod) bool) int {
		return len(s.on(node.Name, "", func(c *candidate) bool { return c.counts(is) }))
	}
	return count(func(pod *corev1.Pod) bool { return stays(pod) && hashOf(pod) != hash }) > 0 &&
		count(func(pod *corev1.Pod) bool {
			return stays(pod) && hashOf(pod) == hash && (place.run || pod.Spec.NodeName != "")
		}) > 0
}
