package model

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evict is the Eviction API, as in kube-apiserver v1.37.1: a pod that is
// pending or terminating goes without a look at its budget. For others that is
// asked first, and the preconditions come after it: an eviction with the wrong
// UID uses up a disruption.
func (w *World) evict(call *Call) {
	before := w.Pod(call.Name)
	if before == nil {
		call.Err = notFound(call)
		return
	}
	if budget := w.Budget(before); budget != nil && begun(before) && before.DeletionTimestamp == nil &&
		!budget.allows(before) {
		call.Err = exhausted(budget)
		return
	}
	if call.Err = precondition(call, before); call.Err != nil {
		return
	}
	if !targeted(before) {
		w.putPod(call, withCondition(before, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: ReasonEvicted,
			Message: "evicted through the API", LastTransitionTime: metav1.NewTime(w.Wall()),
		}))
	}
	w.removePod(call, w.Pod(call.Name))
	call.Pod = before
}

// ReasonEvicted is the reason of the condition DisruptionTarget of pods that
// leave through the Eviction API.
const ReasonEvicted = "EvictionByEvictionAPI"

func targeted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == ReasonEvicted
	})
}

// exhausted is the answer when a budget allows no disruption.
func exhausted(b *DisruptionBudget) error {
	err := apierrors.NewTooManyRequests("the pod is kept by its disruption budget", 0)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("budget %s: %d pods have to be available, %d are", b.owner.Name, b.MinAvailable, b.Healthy),
	})
	return err
}

// Refused reports whether a budget has refused the eviction that a call asked
// for.
func Refused(call *Call) bool {
	return call.Verb == Evict && apierrors.HasStatusCause(call.Err, policyv1.DisruptionBudgetCause)
}

// precondition checks those of a delete or an eviction.
func precondition(call *Call, pod *corev1.Pod) error {
	p := call.Preconditions
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != pod.UID:
		return conflict(call, fmt.Sprintf("UID in precondition: %s, UID in object meta: %s", *p.UID, pod.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != pod.ResourceVersion:
		return conflict(call, "resourceVersion in precondition is not the object's")
	}
	return nil
}
