package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// available reports whether a pod is available. If it will be, the node is
// evaluated then.
func (a *assessment) available(s *podState) bool {
	from, isReady := a.planner.spec.availableFrom(s)
	if isReady && a.planner.now.Before(from) {
		a.await(WaitMinReady, s, from)
		return false
	}
	return isReady
}

// serves reports whether a node has an available pod that stays.
func (p *Planner) serves(n *nodeState) bool {
	for s := n.pods; s != nil; s = s.next {
		from, isReady := p.spec.availableFrom(s)
		if isReady && !p.now.Before(from) && !s.leaving() {
			return true
		}
	}
	return false
}

// before is the order in which kube-controller-manager counts the pods of a
// node: scheduled ones, then older ones.
func before(a, b *podState) bool {
	if scheduled := a.pod.Spec.NodeName != ""; scheduled != (b.pod.Spec.NodeName != "") {
		return scheduled
	}
	if !a.pod.CreationTimestamp.Equal(&b.pod.CreationTimestamp) {
		return a.pod.CreationTimestamp.Before(&b.pod.CreationTimestamp)
	}
	return a.pod.Name < b.pod.Name
}

// value ranks the pods of a node: the one with the highest value stays, or the
// first of several. kube-controller-manager only checks whether a pod is
// scheduled, and deletes a working one if it is the younger one.
func (a *assessment) value(s *podState) int {
	value := 0
	if s.pod.Spec.NodeName != "" {
		value += 4
	}
	from, isReady := a.planner.spec.availableFrom(s)
	switch {
	case !isReady:
	case a.planner.now.Before(from):
		value++
		a.wake(from)
	default:
		value += 2
	}
	return value
}

// availableFrom returns from when on a pod counts as available, if it is ready.
// With MinReady, a pod without the time of its transition counts as not ready.
func (s *Spec) availableFrom(pod *podState) (time.Time, bool) {
	since, isReady := pod.readySince()
	switch {
	case !isReady:
		return time.Time{}, false
	case s.MinReady == 0:
		return time.Time{}, true
	case since.IsZero():
		return time.Time{}, false
	}
	return since.Add(s.MinReady), true
}

// updated reports whether a pod is of the current revision.
func (s *Spec) updated(pod *corev1.Pod) bool {
	if s.Revision != "" && pod.Labels[revisionLabel] == s.Revision {
		return true
	}
	return s.TemplateGeneration != "" && pod.Labels[generationLabel] == s.TemplateGeneration
}
