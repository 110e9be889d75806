package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubelife/lifecycle/examples/process/apipatch"
)

var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// ReasonEvicted is the reason of the condition DisruptionTarget of pods that
// leave through the Eviction API.
const ReasonEvicted = "EvictionByEvictionAPI"

// Facts of kube-apiserver v1.37.1, pkg/registry/core/pod/storage.
const (
	// longestDisruptedPods is how many evicted pods the disruption controller may
	// have yet to see.
	longestDisruptedPods = 2000
	// staleBudgetSeconds is when to ask again after a refusal for a budget whose
	// status is older than its spec.
	staleBudgetSeconds = 10
)

// Evict evicts a pod, as the Eviction API does. A pod that is pending, has
// ended or is terminating goes without a look at its budgets. For others the
// budget is asked and counted down first, and the preconditions come after it.
// So an eviction with the wrong UID uses up a disruption. The pod is given the
// condition DisruptionTarget and then deleted.
func (s *Server) Evict(now time.Time, namespace string, object runtime.Object, options WriteOptions) error {
	eviction, ok := object.(*policyv1.Eviction)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("not a Eviction object: %T", object))
	}
	request, err := deleteOptions(eviction, options)
	if err != nil {
		return err
	}
	k := Key{namespace, eviction.Name}
	for {
		pod, err := s.pod(k)
		if err != nil {
			return err
		}
		if !passesBudgets(pod) {
			return s.evictWithinBudget(now, pod, request)
		}
		if err := checkPreconditions(pods.Group, pod, request.Preconditions); err != nil {
			return err
		}
		guarded := request
		if isPending(pod) { // it may become ready in between
			guarded = guardedBy(request, pod)
		}
		if err = s.markAndDelete(now, k, guarded); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// evictWithinBudget evicts a pod that a budget may protect.
func (s *Server) evictWithinBudget(now time.Time, pod *corev1.Pod, request metav1.DeleteOptions) error {
	spared, err := s.disrupt(now, pod, len(request.DryRun) > 0)
	if err != nil {
		return err
	}
	if spared == "" {
		return s.markAndDelete(now, KeyOf(pod), request)
	}
	guarded := guardedBy(request, pod)
	err = s.markAndDelete(now, KeyOf(pod), guarded)
	if apierrors.IsConflict(err) && guarded.Preconditions != request.Preconditions {
		return stillProcessed(spared) // the guard is not the client's, which may ask again
	}
	return err
}

func (s *Server) pod(k Key) (*corev1.Pod, error) {
	object, ok := s.store.Get(pods, k)
	if !ok {
		return nil, apierrors.NewNotFound(pods.GroupResource(), k.Name)
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewInternalError(apipatch.ErrNotObject)
	}
	return pod, nil
}

// deleteOptions are those of the eviction with the dry run of the request.
func deleteOptions(eviction *policyv1.Eviction, options WriteOptions) (metav1.DeleteOptions, error) {
	var request metav1.DeleteOptions
	if eviction.DeleteOptions != nil {
		request = *eviction.DeleteOptions
	}
	switch {
	case len(request.DryRun) == 0:
		request.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !slices.Equal(request.DryRun, options.DryRun):
		return request, failure(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v",
			options.DryRun, request.DryRun))
	}
	_, err := dryRun(request.DryRun)
	return request, err
}

// guardedBy adds the version of a pod to the preconditions, unless the client
// has named one.
func guardedBy(request metav1.DeleteOptions, pod *corev1.Pod) metav1.DeleteOptions {
	var guard metav1.Preconditions
	if request.Preconditions != nil {
		guard = *request.Preconditions
	}
	if guard.ResourceVersion == nil {
		guard.ResourceVersion = &pod.ResourceVersion
		request.Preconditions = &guard
	}
	return request
}

func isPending(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil
}

// passesBudgets reports whether a pod does not serve, so that no budget
// protects it.
func passesBudgets(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// markAndDelete gives a pod the condition DisruptionTarget and deletes it.
func (s *Server) markAndDelete(now time.Time, k Key, request metav1.DeleteOptions) error {
	if len(request.DryRun) == 0 {
		marked, err := s.mark(now, k, request.Preconditions)
		if err != nil {
			return err
		}
		if p := request.Preconditions; p != nil && p.ResourceVersion != nil {
			request.Preconditions = &metav1.Preconditions{UID: p.UID, ResourceVersion: &marked.ResourceVersion}
		}
	}
	_, err := s.Delete(now, pods, k, request)
	return err
}

func (s *Server) mark(now time.Time, k Key, guard *metav1.Preconditions) (*corev1.Pod, error) {
	for {
		current, err := s.pod(k)
		if err != nil {
			return nil, err
		}
		if err := checkPreconditions(pods.Group, current, guard); err != nil {
			return nil, err
		}
		next, changed := targeted(current, stored(now))
		if !changed {
			return current, nil
		}
		if s.store.Commit(Change{Resource: pods, Key: k, At: now, Old: current, Next: next}) {
			return next, nil
		}
	}
}

// targeted returns the pod with the condition DisruptionTarget, and whether
// that changes it. A condition that holds already keeps its transition.
func targeted(current *corev1.Pod, at metav1.Time) (*corev1.Pod, bool) {
	target := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: ReasonEvicted, Message: "Eviction API: evicting", LastTransitionTime: at,
	}
	i := slices.IndexFunc(current.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == target.Type })
	if i < 0 {
		next := current.DeepCopy()
		next.Status.Conditions = append(next.Status.Conditions, target)
		return next, true
	}
	old := &current.Status.Conditions[i]
	if old.Status == target.Status {
		target.LastTransitionTime = old.LastTransitionTime
	}
	if *old == target {
		return current, false
	}
	next := current.DeepCopy()
	next.Status.Conditions[i] = target
	return next, true
}

// disrupt asks the budget of a pod, if it has one, and counts it down. spared
// is the name of a budget that lets the pod go without being counted, as long
// as it is not ready.
func (s *Server) disrupt(now time.Time, pod *corev1.Pod, dry bool) (spared string, err error) {
	for {
		budget, err := s.budgetOf(pod)
		if budget == nil || err != nil {
			return "", err
		}
		if !isReady(pod) && sparesUnready(budget) {
			return budget.Name, nil
		}
		next, err := countedDown(budget, pod.Name, stored(now))
		if dry || err != nil {
			return "", err
		}
		step := Change{Resource: budgets, Key: KeyOf(budget), At: now, Old: budget, Next: next}
		if s.store.Commit(step) {
			return "", nil
		}
	}
}

// budgetOf returns the budget that selects a pod, nil if there is none.
func (s *Server) budgetOf(pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	entries, _ := s.store.Snapshot(budgets, pod.Namespace)
	var found *policyv1.PodDisruptionBudget
	for i := range entries {
		budget, ok := entries[i].Object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, failure("This pod has more than one PodDisruptionBudget, " +
				"which the eviction subresource does not support.")
		}
		found = budget
	}
	return found, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// sparesUnready reports whether a budget lets pods go that are not ready,
// without counting them.
func sparesUnready(budget *policyv1.PodDisruptionBudget) bool {
	policy := budget.Spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == policyv1.AlwaysAllow ||
		budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
}

// countedDown returns the budget after one more disruption, or the refusal.
func countedDown(
	budget *policyv1.PodDisruptionBudget, pod string, at metav1.Time,
) (*policyv1.PodDisruptionBudget, error) {
	switch status := &budget.Status; {
	case status.ObservedGeneration < budget.Generation:
		return nil, stillProcessed(budget.Name)
	case status.DisruptionsAllowed < 0:
		return nil, notAllowed(budget, "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > longestDisruptedPods:
		return nil, notAllowed(budget, "too many pending evictions that the disruption controller has not confirmed")
	case status.DisruptionsAllowed == 0:
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		return nil, becauseOf(err, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, status.DesiredHealthy, status.CurrentHealthy))
	}
	next := budget.DeepCopy()
	next.Status.DisruptionsAllowed--
	if next.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: next.Status.ObservedGeneration,
			LastTransitionTime: at,
		})
	}
	next.Status.DisruptedPods = maps.Clone(next.Status.DisruptedPods)
	if next.Status.DisruptedPods == nil {
		next.Status.DisruptedPods = map[string]metav1.Time{}
	}
	next.Status.DisruptedPods[pod] = at
	return next, nil
}

// stillProcessed is the answer when it is not known yet what a budget allows.
func stillProcessed(budget string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.",
		staleBudgetSeconds)
	return becauseOf(err, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget))
}

func notAllowed(budget *policyv1.PodDisruptionBudget, why string) error {
	resource := budgets.GroupResource()
	resource.Resource = "poddisruptionbudget" // real servers use the singular here
	err := apierrors.NewForbidden(resource, budget.Name, fmt.Errorf("%s", why))
	return becauseOf(err, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently: %s",
		budget.Name, why))
}

func becauseOf(err *apierrors.StatusError, why string) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}
