package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// pod is the record of a pod that is bound to a node, as it was observed last.
type pod struct {
	object *corev1.Pod
	slot   int // in Controller.podsOn
	// bound is the episode of its node in which it was first observed there. In
	// wanted it was last to be marked not ready, and in marked it was.
	bound, wanted, marked int
}

// needsMark reports whether a pod has to be marked not ready. A kubelet that
// reports that its node is not ready is alive and reports on its pods itself.
// So of those only pods that come later are marked, and pods whose mark has
// failed since the node was ready last, as in kube-controller-manager. Once in
// an episode is enough: a kubelet that disagrees would write the opposite for
// ever.
func needsMark(n *node, p *pod) bool {
	switch {
	case !n.notReady(), p.marked == n.episode:
		return false
	case n.ready == corev1.ConditionFalse && p.bound != n.episode && !p.owedMark(n):
		return false
	}
	for i := range p.object.Status.Conditions {
		if condition := &p.object.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.Status != corev1.ConditionFalse
		}
	}
	return false
}

// owedMark reports whether a pod was to be marked since its node was ready
// last, and was not.
func (p *pod) owedMark(n *node) bool { return p.wanted >= n.fell && p.marked < p.wanted }

// PodID returns what a pod is known by; see eviction.Key.ID.
func PodID(object *corev1.Pod) types.UID { return eviction.KeyOf(object).ID() }
